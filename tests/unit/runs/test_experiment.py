"""A whole run: what it learns, what it must not see, what it leaves behind."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError, DataError, UserError
from hyperfact.evaluation import Policy, evaluate
from hyperfact.graph.facts import Derived, Fact, Literal, Vocabulary
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.decoders import DECODERS
from hyperfact.runs import artifacts
from hyperfact.runs.contents import vocabulary_of
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run, representations
from hyperfact.training.events import Epoch
from hyperfact.transforms import transform
from tests.support.models import PACE, PAIRS, TRANSLATING, config_of, random_facts

_AT_NIGHT = pytest.mark.slow
_SLOW = {  # those that take seconds
    *("boxe", "gran", "hcnet", "hinge", "hyconve", "hynt", "hytransformer", "nalp", "neuinfer"),
    *("s2s", "stare_transformer", "transformer"),
}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def splits_of(seed: int = 0, *, count: int = 90) -> Splits:
    whole = random_facts(count, entities=12, seed=seed)
    order = np.random.default_rng(seed).permutation(count)
    cut = (order[: count - 30], order[count - 30 : count - 15], order[count - 15 :])
    names = ("train", "valid", "test")
    return Splits({n: whole.select(np.sort(c)) for n, c in zip(names, cut, strict=True)}, "toy")


def small(**sections: dict[str, Any]) -> ExperimentConfig:
    base: dict[str, dict[str, Any]] = {
        "training": {"dim": 8, "epochs": 4, "batch_size": 32, "validate_every": 2},
        "decoder": {"name": "mdistmult"},
    }
    for name, section in sections.items():
        base[name] = {**base.get(name, {}), **section}
    return ExperimentConfig.from_dict(base)


def weights_hash(run: Run) -> str:
    digest = hashlib.sha256()
    for name, tensor in run.model.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [
        pair
        if ("lookup" in pair or "mdistmult" in pair) and not _SLOW & set(pair)
        else pytest.param(*pair, marks=_AT_NIGHT)
        for pair in PAIRS
    ],
)
def test_every_pair_can_learn_fifty_facts_by_heart(encoder: str, decoder: str) -> None:
    facts = random_facts(50, entities=150)  # so many that a symmetric decoder can tell them apart
    if decoder in TRANSLATING:
        distinct = [len({a for a, _ in f.qualifiers}) == len(f.qualifiers) for f in facts]
        facts = facts.select(np.flatnonzero(distinct))
    splits, pace = Splits({"train": facts}, "fifty"), PACE.get(decoder, {})
    options = {"dropout": 0.0} if "dropout" in DECODERS[decoder].Settings.model_fields else {}
    training: dict[str, Any] = {"dim": 32, "epochs": 40, "validate_every": 0, "batch_size": 64}
    training |= {key: pace[key] for key in ("epochs", "batch_size") if key in pace}
    start = {key: pace[key] for key in ("initial_scale",) if key in pace}
    config = small(
        encoder={"name": encoder, **start},
        decoder={"name": decoder, **options, **pace.get("options", {})},
        training=training,
        optimizer={"lr": pace.get("lr", 0.02), "lr_decay": 0.98},
    )
    result = run(config, splits=splits)
    found = evaluate(result.model, facts, KnownAnswers.build(facts))
    assert found.metrics.mrr >= 0.99, found.metrics


def test_the_best_weights_are_kept_not_the_last() -> None:
    splits = splits_of()
    config = small(training={"epochs": 25, "validate_every": 1}, optimizer={"lr": 0.1})
    seen: list[Epoch] = []
    result = run(
        config, splits=splits, watch=lambda e: seen.append(e) if isinstance(e, Epoch) else None
    )
    scores = [e.valid_mrr for e in seen]
    best = max(s for s in scores if s is not None)
    assert result.best_epoch == 1 + scores.index(best)
    assert result.best_epoch < 25
    assert result.results["valid"].metrics.mrr == best
    assert [e.best for e in seen][result.best_epoch - 1]


def test_patience_stops_early() -> None:
    config = small(
        training={"epochs": 40, "validate_every": 1, "patience": 2}, optimizer={"lr": 0.1}
    )
    result = run(config, splits=splits_of())
    assert len(result.epochs) == result.best_epoch + 2 < 40


def test_valid_and_test_facts_do_not_touch_the_weights() -> None:
    one, other = splits_of(0), splits_of(0)
    parts = {**other.parts, "valid": one.test, "test": one.valid[0:7]}
    config = small(training={"validate_every": 0}, encoder={"name": "compgcn"})
    never = weights_hash(run(config, splits=one))
    swapped = weights_hash(run(config, splits=Splits(parts, "toy")))
    often = small(training={"validate_every": 1, "epochs": 4}, encoder={"name": "compgcn"})
    watched = run(often, splits=one)
    assert never == swapped
    if watched.best_epoch == 4:
        assert weights_hash(watched) == never


def test_test_facts_do_not_move_what_is_chosen() -> None:
    """Other test facts over the same names: the same validation figures, epoch and weights."""
    one = splits_of()
    parts = {**one.parts, "test": facts_around(one.valid)}
    other = Splits(parts, "toy")
    config = small(training={"epochs": 6, "validate_every": 1}, optimizer={"lr": 0.05})
    first, second = run(config, splits=one), run(config, splits=other)
    logs = [[epoch.valid_mrr for epoch in result.epochs] for result in (first, second)]
    assert logs[0] == logs[1]
    assert weights_hash(first) == weights_hash(second)
    assert first.results["valid"].policy.filter == "train+valid"
    assert first.results["valid"].metrics == second.results["valid"].metrics
    assert first.results["test"].policy.filter == "exact"
    everyone = [evaluate_split(r, "valid", policy=Policy()).metrics for r in (first, second)]
    assert everyone[0] != everyone[1]  # filtered with test facts, figures would differ


def facts_around(facts: HKG) -> HKG:
    """Facts that answer the same queries otherwise: every fact with each object."""
    names = facts.entities
    found = {Fact(f.subject, f.relation, name, f.qualifiers) for f in facts for name in names}
    return HKG.from_facts(
        sorted(found - set(facts), key=repr), entities=names, relations=facts.relations
    )


@pytest.mark.parametrize("mode", ["compact", "literal", "paper-text"])
@pytest.mark.parametrize("encoder", ["compgcn", "rgcn"])
def test_the_encoder_sees_training_facts_only(encoder: str, mode: str) -> None:
    """Base edges, mediators, and every qualifier on them are those of training facts."""
    splits = splits_of()
    config = small(encoder={"name": encoder}, graph={"mode": mode}, training={"epochs": 1})
    graph = run(config, splits=splits).model.graph
    assert len(graph.provenance.offsets) - 1 == len(splits.train)
    triples, stars = said_by(graph)
    assert triples == {(f.subject, f.relation, f.object) for f in splits.train}
    wanted = {star_of(f) for f in splits.train if f.qualifiers or mode == "literal"}
    bare = {star_of(f) for f in splits.train if not f.qualifiers}
    assert wanted <= set(stars) <= wanted | bare  # compact: twins of qualified facts have one too
    assert len(stars) == len(set(stars)) == graph.num_mediators


@pytest.mark.parametrize("name", ["valid", "test"])
def test_the_check_sees_a_qualifier_of_another_split(name: str) -> None:
    """A fact whose primary triple training has too leaves its mediator and its qualifiers."""
    splits = splits_of()
    seen = splits.train[0:1]
    fact = next(iter(seen))
    stranger = next(f for f in splits[name] if f.qualifiers)
    leaked = Fact(fact.subject, fact.relation, fact.object, stranger.qualifiers)
    facts = HKG.from_facts(
        [*splits.train, leaked], entities=splits.entities, relations=splits.relations
    )
    triples, stars = said_by(transform(facts))
    assert triples == {(f.subject, f.relation, f.object) for f in splits.train}
    assert set(stars) - {star_of(f) for f in splits.train} == {star_of(leaked)}


Star = frozenset[tuple[str, str, str]]  # kind, relation and entity of each edge of a mediator


def star_of(fact: Fact) -> Star:
    """The edges of the mediator that stands for a fact."""
    ends = {
        ("SUB", str(fact.relation), str(fact.subject)),
        ("OBJ", str(fact.relation), str(fact.object)),
    }
    return frozenset(ends | {("QUALIFIER", str(a), str(v)) for a, v in fact.qualifiers})


def said_by(graph: KG) -> tuple[set[tuple[str, str, str]], list[Star]]:
    """All that a graph says, by name: its base edges, and the edges of each mediator."""
    triples: set[tuple[str, str, str]] = set()
    stars: dict[int, set[tuple[str, str, str]]] = {}
    columns = zip(graph.source, graph.relation, graph.target, graph.kind, strict=True)
    for source, relation, target, kind in columns:
        name, entity = str(graph.relations[relation]), str(graph.entities[target])
        if kind == Kind.BASE:
            triples.add((str(graph.entities[source]), name, entity))
        else:
            assert source >= graph.num_entities
            stars.setdefault(int(source), set()).add((Kind(kind).name, name, entity))
    return triples, [frozenset(star) for star in stars.values()]


def test_training_on_valid_too_must_be_asked_for_and_is_recorded() -> None:
    splits = splits_of()
    plain = run(small(), splits=splits)
    both = run(small(data={"train_on": "train+valid"}), splits=splits)
    assert plain.as_dict()["trained_on"] == "train"
    assert both.as_dict()["trained_on"] == "train+valid"
    assert both.as_dict()["chosen_by"] == "last epoch"
    assert len(both.model.graph) > len(plain.model.graph)


def test_validation_may_use_a_sample() -> None:
    result = run(small(training={"validate_facts": 5}), splits=splits_of())
    assert result.best_epoch > 0
    assert result.results["valid"].metrics.ranks == int(splits_of().valid.arity.sum())


@pytest.mark.parametrize(
    "transformation", ["plain", "no_distinction", "clique_plain", "clique_semantic"]
)
@pytest.mark.parametrize("encoder", ["compgcn", "ingram", "kegcn", "rgcn", "vrgcn"])
def test_every_transformation_can_be_encoded(transformation: str, encoder: str) -> None:
    config = small(
        graph={"transformation": transformation},
        encoder={"name": encoder},
        training={"epochs": 1},
    )
    assert run(config, splits=splits_of()).results["test"].metrics.mrr > 0


def test_bfloat16_is_near_float32() -> None:
    losses = []
    for precision in ("float32", "bfloat16"):
        config = small(encoder={"name": "compgcn"}, training={"precision": precision})
        losses.append(run(config, splits=splits_of()).epochs[-1].loss)
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_no_data_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"no data"):
        run(small())
    empty = Splits({"train": splits_of().train[0:0]}, "void")
    with pytest.raises(DataError, match="no training facts"):
        run(small(), splits=empty)


# -- the directory --------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Run, Path]:
    path = tmp_path / "run"
    return run(small(encoder={"name": "compgcn"}), splits=splits_of(), out=path), path


def test_a_stored_run_comes_back_bit_for_bit(stored: tuple[Run, Path]) -> None:
    result, path = stored
    again = open_run(path, splits=splits_of())
    assert again.config == result.config
    assert weights_hash(again) == weights_hash(result)
    one, two = representations(result.model), representations(again.model)
    assert torch.equal(one.entities, two.entities)
    tensors = artifacts.read_run(path).tensors
    assert torch.equal(tensors["representations.entities"], one.entities)
    assert torch.equal(tensors["representations.relations"], one.relations)
    assert evaluate_split(again, "test").metrics == result.results["test"].metrics


def test_the_directory_is_readable_without_us(stored: tuple[Run, Path]) -> None:
    result, path = stored
    manifest = json.loads((path / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        assert hashlib.sha256((path / name).read_bytes()).hexdigest() == entry["sha256"]
    assert set(manifest["files"]) == {p.name for p in path.iterdir()} - {"manifest.json"}
    assert manifest["graph"]["mediator_shared_dim"] == 6  # floor(0.8 * 8)
    assert manifest["policy"]["test"]["ties"] == "realistic"
    metrics = json.loads((path / "metrics.json").read_text())
    assert metrics["test"]["mrr"] == result.results["test"].metrics.mrr
    log = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in log] == [1, 2, 3, 4]
    names = [json.loads(line) for line in (path / "entities.jsonl").read_text().splitlines()]
    assert names == list(result.splits.entities)


@pytest.mark.parametrize(
    "name", ["config.toml", "weights.safetensors", "entities.jsonl", "metrics.json"]
)
def test_damage_is_seen_and_named(stored: tuple[Run, Path], name: str) -> None:
    _, path = stored
    content = bytearray((path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: damaged"):
        open_run(path, splits=splits_of())
    (path / name).unlink()
    with pytest.raises(DataError, match=name):
        open_run(path, splits=splits_of())


def test_an_unfinished_or_foreign_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run"):
        open_run(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"no manifest.json"):
        open_run(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="format 99, expected 1"):
        open_run(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(DataError, match="expected an object"):
        open_run(tmp_path)


def test_other_data_is_refused(stored: tuple[Run, Path]) -> None:
    with pytest.raises(DataError, match="facts are not those of the run"):
        open_run(stored[1], splits=splits_of(1))


def test_a_run_never_overwrites(stored: tuple[Run, Path]) -> None:
    with pytest.raises(UserError, match="exists already"):
        run(small(), splits=splits_of(), out=stored[1])


def test_names_of_every_kind_come_back(tmp_path: Path) -> None:
    names = Vocabulary(["a", Literal("a"), Derived("r_so"), "é\n", "", "\u2028", "\ud800"])
    writer = artifacts.RunWriter(tmp_path / "r")
    writer.vocabulary("entities.jsonl", names)
    content = (tmp_path / "r" / "entities.jsonl").read_bytes()
    back = vocabulary_of(tmp_path, content)
    assert back == names
    assert [type(n) for n in back] == [type(n) for n in names]


def test_config_helper_and_facts_agree() -> None:
    assert config_of(encoder={"name": "lookup"}).encoder.options == {"initial_scale": 0.3}
    assert HKG.from_facts([Fact("a", "r", "b")]).arity.tolist() == [2]
