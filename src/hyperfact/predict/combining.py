"""An ensemble from stored runs: calibrate each on validation facts, weigh them, store a run.

Temperatures are those of `calibration`. The weights maximise the likelihood of validation answers
under the product of the members' probabilities, which is convex, with a weak prior for equal ones.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.config import EncoderChoice, ExperimentConfig
from hyperfact.errors import DataError, UserError
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.models.ensemble import Ensemble
from hyperfact.predict.calibration import LEAST, fit
from hyperfact.predict.candidates import forbid_others, scores_of
from hyperfact.predict.fitting import entity_questions
from hyperfact.predict.predictor import Predictor
from hyperfact.runs.artifacts import CONFIG, RunWriter, read_manifest
from hyperfact.runs.catalog import look
from hyperfact.runs.ensemble_members import ENSEMBLE, choice_of
from hyperfact.runs.run import Run, evaluate_split, open_run, save

_MOST = 2000  # queries
_CELLS = 2**25  # scores of all members that exist at once: 256 MB
_STEPS = 100


@dataclass(frozen=True)
class Member:
    """What a run is in an ensemble, and how good it is alone."""

    run: str
    weight: float
    temperature: float
    valid_mrr: float | None
    test_mrr: float | None

    def as_dict(self) -> dict[str, Any]:
        """For tables and JSON."""
        return asdict(self)


def combine(
    runs: Sequence[Path],
    out: Path,
    *,
    splits: Splits | None = None,
    data_dir: Path | None = None,
) -> tuple[Run, list[Member]]:
    """Make one run of several, rank its validation and test facts, and store it.

    Args:
        runs: Directories of finished runs of the same facts.
        out: A new directory for the ensemble.
        splits: The facts, if they are loaded already.
        data_dir: Where benchmarks lie, if not where they lay then.

    Raises:
        UserError: Runs of different facts, or of models that cannot fill all slots.
        DataError: Too few validation facts that no member was trained on.
    """
    _refuse_other_facts(runs)
    members = [open_run(runs[0], splits=splits, data_dir=data_dir)]
    members += [open_run(run, splits=members[0].splits) for run in runs[1:]]
    for path, member in zip(runs, members, strict=True):
        _refuse_unfit(path, member)
    temperatures, weights = _weighed(members)
    model = Ensemble([run.model for run in members], weights, temperatures)
    result = Run(_config(members[0].config, runs, out), members[0].splits, model)
    writer = RunWriter(out)
    writer.text(CONFIG, result.config.to_toml())
    for split in ("valid", "test"):
        if len(result.splits[split]):
            result.results[split] = evaluate_split(result, split, alone=split == "valid")
    save(result, writer)
    mrrs = ([look(run).mrr(split) for split in ("valid", "test")] for run in runs)
    told = zip(
        map(str, runs),
        weights.tolist(),
        temperatures.tolist(),
        *zip(*mrrs, strict=True),
        strict=True,
    )
    return result, [Member(*member) for member in told]


def pool_weights(scores: Tensor, answers: Tensor) -> Tensor:  # (members,)
    """The weights under which the answers are most likely.

    Args:
        scores: Of each candidate at the member's temperature; minus infinity where it is filtered,
            which it is for all members or none.  # (members, queries, candidates)
        answers: The column of the true answer, never filtered.  # (queries,)
    """
    count = len(scores)
    barred = torch.where(scores[0] == -torch.inf, -torch.inf, 0.0)  # (queries, candidates)
    finite = scores.masked_fill(scores == -torch.inf, 0.0)
    logs = torch.full((count,), -math.log(count), dtype=scores.dtype).requires_grad_()
    rule = torch.optim.LBFGS([logs], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def cost() -> Tensor:
        rule.zero_grad()
        pooled = torch.einsum("m, mqc -> qc", logs.exp(), finite) + barred
        prior = (logs + math.log(count)).square().sum() / len(answers)
        found: Tensor = functional.cross_entropy(pooled, answers) + prior
        found.backward()  # type: ignore[no-untyped-call]
        return found

    rule.step(cost)  # type: ignore[no-untyped-call]
    return logs.detach().exp()


def _weighed(members: Sequence[Run]) -> tuple[Tensor, Tensor]:  # (members,), (members,)
    """Temperatures and weights, on the same validation queries for all."""
    splits, knowledge = members[0].splits, Predictor.of(members[0]).knowledge
    questions, answers = entity_questions(_sample(splits.valid))
    most = min(_MOST, max(LEAST, _CELLS // (len(members) * len(splits.entities))))
    some = np.random.default_rng(0).permutation(len(questions))[:most].tolist()
    asked, right = [questions[i] for i in some], torch.tensor([answers[i] for i in some])
    temperatures, found = [], []
    for member in members:
        scores = scores_of(Predictor.of(member).scorer, knowledge, asked)
        forbid_others(scores, knowledge.known(asked), right)
        fitted = fit(scores, right)
        assert fitted is not None, "there are enough queries"
        temperatures.append(fitted.temperature)
        found.append(scores.double() / fitted.temperature)
    weights = pool_weights(torch.stack(found), right)
    return torch.tensor(temperatures, dtype=torch.float64), weights


def _sample(valid: HKG) -> HKG:
    """Validation facts, always the same, that give enough queries."""
    return valid.select(np.sort(np.random.default_rng(0).permutation(len(valid))[:_MOST]))


def _config(first: ExperimentConfig, runs: Sequence[Path], out: Path) -> ExperimentConfig:
    """What a run is asked about: data and protocol are the first member's, the rest its members."""
    return first.model_copy(
        update={"encoder": EncoderChoice(name=ENSEMBLE), "decoder": choice_of(runs, out)}
    )


def _refuse_other_facts(runs: Sequence[Path]) -> None:
    first, *others = (read_manifest(run)["data"] for run in runs)
    for run, data in zip(runs[1:], others, strict=True):
        for split in sorted((first.keys() | data.keys()) - {"name"}):
            if first.get(split) != data.get(split):
                raise UserError(
                    f"{run}: its {split} facts are not those of {runs[0]}; the members of an "
                    "ensemble are runs of the same data"
                )


def _refuse_unfit(path: Path, run: Run) -> None:
    decoder = run.model.decoder
    if not decoder.fills_values(decoder.settings):
        raise UserError(f"{path}: fills subjects and objects only; an ensemble fills every slot")
    if run.config.data.train_on != "train" or run.splits.valid.arity.sum() < LEAST:
        raise DataError(
            f"{path}: no validation facts are left to weigh it by; an ensemble needs {LEAST} "
            "queries that no member was trained on"
        )
