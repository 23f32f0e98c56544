"""A trained model with its data: rank, store in a directory, open again."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hyperfact import __version__
from hyperfact.config import ExperimentConfig
from hyperfact.evaluation import Background, Evaluation, Policy, asked_facts, evaluating
from hyperfact.evaluation.baseline import NAME, most_frequent
from hyperfact.evaluation.evaluator import SLOTS, rank_with, scorer_of, shared_limits
from hyperfact.evaluation.number_errors import NumberErrors, number_errors
from hyperfact.evaluation.number_guesses import NumberGuesses
from hyperfact.evaluation.policy import Given
from hyperfact.evaluation.ranking import Scorer
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.joining import join, support_of, with_added
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.ensemble import Ensemble, Pool
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.runs import artifacts
from hyperfact.runs.build import (
    build,
    limits_of,
    load_data,
    number_roles_of,
    policy_of,
    training_facts,
)
from hyperfact.runs.enlarge import enlarged
from hyperfact.runs.ensemble_members import configs_of, is_ensemble, members_of, weights_of
from hyperfact.runs.extensions import note_extensions, refuse_missing
from hyperfact.runs.inductive import supported
from hyperfact.runs.provenance import versions
from hyperfact.training.events import Epoch

#: Questions that leave qualifiers out, and how their figures are called.
PARTIAL: dict[Given, str] = {"half": "half of the qualifiers given", "none": "no qualifier given"}


@dataclass(repr=False)
class Run:
    """A trained model with its data and results."""

    config: ExperimentConfig
    splits: Splits
    model: TransEQ
    epochs: list[Epoch] = field(default_factory=list)
    results: dict[str, Evaluation] = field(default_factory=dict)  # by split
    best_epoch: int = 0
    seconds: float = 0.0
    configs: tuple[ExperimentConfig, ...] = ()  # of the members of an ensemble; empty: its own

    def __repr__(self) -> str:
        """In a line: of what, which model, how good."""
        config = self.config
        words = [self.splits.name, f"{config.encoder.name} + {config.decoder.name}"]
        words += [f"{len(self.epochs)} epochs"] if self.epochs else []
        words += [f"{split} MRR {found.metrics.mrr:.4f}" for split, found in self.results.items()]
        return f"Run({', '.join(words)})"

    def as_dict(self) -> dict[str, Any]:
        """Results with all that is needed to judge them."""
        data = self.config.data
        return {
            "dataset": self.splits.name,
            "trained_on": data.train_on,
            "chosen_by": "valid MRR" if self.best_epoch else "last epoch",
            "epoch": self.best_epoch or len(self.epochs),
            "epochs": len(self.epochs),
            "seconds": self.seconds,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            **{split: result.as_dict() for split, result in self.results.items()},
        }


def evaluate_split(
    run: Run,
    split: str,
    *,
    policy: Policy | None = None,
    known: Background | None = None,
    alone: bool = False,
) -> Evaluation:
    """Rank a split of the run's data; filters use every split, but of valid not test.

    Args:
        run: Trained.
        split: The facts to ask about.
        policy: What is asked and how it is ranked; the run's own if not given.
        known: What the ranking rests on, if it exists already.
        alone: Without the figures beside it: questions that leave qualifiers out, and the baseline.
    """
    facts = asked_facts(run.splits, split)
    known = known or background_of(run)
    policy, alone_limits = policy or policy_of(run.config, split), limits_of(run.config)
    model = supported(run.model, run.configs or (run.config,), run.splits)
    limits = shared_limits(model, alone_limits)
    with evaluating(model):
        score = scorer_of(model, model.encode())
        found = rank_with(score, facts, known, policy=policy, limits=limits)
        numbers = _number_errors(run, model, score, facts, known, policy)
        found = replace(found, numbers=numbers, support=support_size(run.splits))
        if alone or known.train is None:
            return found
        beside = {}
        if policy.given == "all" and len(facts.columns.values):
            for given, label in PARTIAL.items():
                partial = replace(policy, given=given)
                ranked = rank_with(score, facts, known, policy=partial, limits=limits)
                beside[label] = ranked.metrics
        counted = most_frequent(known.training_facts)
        baseline = rank_with(counted, facts, known, policy=policy, limits=alone_limits)
        beside[f"baseline: {NAME}"] = baseline.metrics
        return replace(found, beside=beside)


def _number_errors(
    run: Run, model: TransEQ, score: Scorer, facts: HKG, known: Background, policy: Policy
) -> NumberErrors | None:
    """Of numbers that the model estimates, or guesses by how likely it finds those of training."""
    if known.train is None:
        return None
    numbers = known.numbers or NumberRoles.of(known.train, names=True)
    if not numbers:
        return None
    estimate = partial(NumberGuesses(known.training_facts, numbers).estimates, score)
    if known.numbers is not None:
        z, decoder = model.encode(), model.decoder
        estimate = partial(_estimated, decoder, z)
    rows, slots = limits_of(run.config).batch_size, SLOTS[policy.slots]
    return number_errors(estimate, facts, numbers, rows=rows, slots=slots)


def _estimated(decoder: Decoder, z: Representations, facts: FactBatch, slots: Tensor) -> Tensor:
    return decoder.estimate(facts, slots, z)


def support_size(splits: Splits) -> int:
    """How many facts beyond those of training a model is shown when it is asked."""
    found = support_of(splits)
    return 0 if found is None else len(found)


def background_of(run: Run) -> Background:
    """What the run's rankings rest on: all its facts, and those it was trained on."""
    train = training_facts(run.config, run.splits)
    numbers = None if is_ensemble(run.config) else number_roles_of(run.config, train)
    return Background.of(run.splits, train, numbers)


def representations(model: TransEQ) -> Representations:
    """What the encoder makes of the whole training graph."""
    with evaluating(model):
        return model.encode()


def save(run: Run, writer: artifacts.RunWriter) -> None:
    """Write everything that a finished run leaves behind."""
    writer.vocabulary(artifacts.ENTITIES, run.splits.entities)
    writer.vocabulary(artifacts.RELATIONS, run.splits.relations)
    writer.weights(tensors_of(run.model))
    for split, found in run.results.items():
        name = artifacts.RANKS.format(split=split)
        writer.table(name, found.ranks.columns(), about_ranks(run, split, found))
    writer.text(artifacts.METRICS, json.dumps(run.as_dict(), indent=2) + "\n")
    writer.finish(manifest(run))


def tensors_of(model: TransEQ) -> dict[str, Tensor]:
    """What a run keeps of its model; members of an ensemble are runs and keep their own."""
    if isinstance(model.decoder, Pool):
        return {"weights": model.decoder.weights, "temperatures": model.decoder.temperatures}
    z = representations(model)
    vectors = {"entities": z.entities, "relations": z.relations}
    return model.state_dict() | {artifacts.VECTORS + name: t for name, t in vectors.items()}


def about_ranks(run: Run, split: str, found: Evaluation) -> dict[str, Any]:
    """What a rank table says of itself."""
    return {
        "dataset": run.splits.name,
        "split": split,
        "facts": run.splits[split].fingerprint,
        "policy": asdict(found.policy),
        "candidates": found.candidates,
        "skipped": found.skipped,
    }


def manifest(run: Run) -> dict[str, Any]:
    """Where a run comes from."""
    return {
        "hyperfact": __version__,
        "versions": versions(),
        "threads": torch.get_num_threads(),
        "precision": run.model.precision,
        "seed": run.config.training.seed,
        "data": {"name": run.splits.name, **{s: g.fingerprint for s, g in run.splits.items()}},
        "trained_on": run.config.data.train_on,
        "extensions": note_extensions(
            {"encoder": run.config.encoder.name, "decoder": run.config.decoder.name}
        ),
        "graph": about_graph(run.model),
        "policy": {split: asdict(result.policy) for split, result in run.results.items()},
    }


def about_graph(model: TransEQ) -> dict[str, Any]:
    """What the encoder was made for."""
    if isinstance(model, Ensemble):
        return {"members": [about_graph(member) for member in model.members]}
    graph, nodes = model.encoded, getattr(model.encoder, "nodes", None)
    if isinstance(graph, HKG):
        return {"reads": "facts", "facts": len(graph)}
    return {
        "transformation": graph.transformation,
        "mode": graph.mode,
        "edges": len(graph),
        "mediators": graph.num_mediators,
        "mediator_shared_dim": None if nodes is None else nodes.mediators.shared,
    }


def open_run(
    path: Path,
    *,
    splits: Splits | None = None,
    data_dir: Path | None = None,
    device: str | None = None,
) -> Run:
    """A stored run with its model ready; the data must be what it was trained on.

    Args:
        path: The run directory.
        splits: The data, if it is loaded already.
        data_dir: Where benchmarks lie, if not where they lay then.
        device: Where to compute; by default what this machine has, not what trained it.
    """
    stored = artifacts.read_run(path)
    refuse_missing(stored.manifest.get("extensions"), path)
    config = ExperimentConfig.from_toml(stored.config).with_data_dir(data_dir)
    here = config.training.model_copy(update={"device": device or "auto"})
    config = config.model_copy(update={"training": here})
    splits = splits if splits is not None else load_data(config)
    artifacts.check_facts(stored, splits)
    run = Run(config, splits.with_labels(stored.labels), model_of(stored, config, splits))
    run.configs = configs_of(path, config)
    if stored.added:
        show(run, stored.added)
    return run


def show(run: Run, facts: Iterable[Fact]) -> None:
    """Let the model of a run hear further facts, and count them as known; no weight changes."""
    joined = join(training_facts(run.config, run.splits), facts)
    run.model = enlarged(run.model, run.configs or (run.config,), joined)
    run.splits = with_added(run.splits, joined)


def model_of(stored: artifacts.Stored, config: ExperimentConfig, splits: Splits) -> TransEQ:
    """The whole model of a stored run; that of an ensemble is made of its members'.

    Raises:
        DataError: Other weights than such a model has, or a member that is not what it was.
    """
    if is_ensemble(config):
        members = members_of(stored.path, config)
        models = [open_run(member, splits=splits).model for member in members]
        return Ensemble(models, *weights_of(stored, len(models)))
    artifacts.check_vectors(stored, config.training.dim)
    train = training_facts(config, splits)
    model = build(config, train, torch.Generator().manual_seed(config.training.seed))
    weights = {n: t for n, t in stored.tensors.items() if not n.startswith(artifacts.VECTORS)}
    artifacts.check_tensors(stored.path / artifacts.WEIGHTS, weights, model)
    model.load_state_dict(weights)
    return model
