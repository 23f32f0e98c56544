"""Support facts: what an inductive benchmark shows only when questions are asked."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from hyperfact.cli import main
from hyperfact.data import write
from hyperfact.errors import UserError
from hyperfact.evaluation import Policy
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.joining import SUPPORT, join_graph
from hyperfact.predict import Predictor
from hyperfact.runs.experiment import run
from hyperfact.runs.inductive import supported
from hyperfact.runs.run import Run, evaluate_split
from tests.support.models import config_of, random_facts

STRANGERS = [
    Fact("n0", "r0", "e1", (("a0", "e2"),)),
    Fact("n1", "r1", "e3"),
    Fact("e4", "r0", "n1", (("a1", "n0"),)),
]
ASKED = [Fact("n0", "r1", "e5"), Fact("e1", "r0", "n1", (("a0", "e3"),))]


def splits() -> Splits:
    train = random_facts(40)
    names = [*train.entities, "n0", "n1", "n2"]

    def part(facts: list[Fact]) -> HKG:
        return HKG.from_facts(facts, entities=names, relations=train.relations)

    parts = {"train": part([*train]), "valid": part(ASKED[:1]), "test": part(ASKED)}
    return Splits({**parts, SUPPORT: part(STRANGERS)}, "strangers")


def trained(encoder: str = "anonymous", decoder: str = "hcnet", **training: Any) -> Run:
    torch.set_num_threads(1)
    config = config_of(
        encoder={"name": encoder},
        decoder={"name": decoder},
        training={"dim": 8, "epochs": 1, "precision": "float64", **training},
    )
    return run(config, splits=splits())


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [("anonymous", "hcnet"), ("compgcn", "mdistmult"), ("gmpnn", "mdistmult"), ("ingram", "hcnet")],
)
def test_support_facts_join_the_graph_and_no_weight_changes(encoder: str, decoder: str) -> None:
    result = trained(encoder, decoder)
    before = {n: t.clone() for n, t in result.model.state_dict().items()}
    model = supported(result.model, [result.config], result.splits)
    assert model is not result.model
    assert all(torch.equal(t, before[n]) for n, t in result.model.state_dict().items())
    for name, tensor in model.decoder.state_dict().items():
        assert torch.equal(tensor, before[f"decoder.{name}"])
    with torch.no_grad():
        alone, together = result.model.eval().encode(), model.encode()
    if decoder == "hcnet":
        assert len(together.facts) == len(alone.facts) + len(STRANGERS)  # type: ignore[arg-type]
    else:
        stranger = result.splits.entities.id("n0", "entity")
        assert not torch.allclose(alone.entities[stranger], together.entities[stranger])
    assert result.results["test"].support == len(STRANGERS)
    assert result.results["test"].as_dict()["support"] == len(STRANGERS)


def test_without_support_facts_the_model_is_itself() -> None:
    result = trained()
    bare = Splits({n: p for n, p in result.splits.items() if n != SUPPORT}, "bare")
    assert supported(result.model, [result.config], bare) is result.model
    result.splits = bare
    assert evaluate_split(result, "test").support == 0
    with pytest.raises(UserError, match="needs support facts"):
        evaluate_split(result, "test", policy=Policy(candidates="support"))


def test_candidates_may_be_those_of_the_support_facts() -> None:
    result = trained()
    found = evaluate_split(result, "test", policy=Policy(candidates="support", slots="so"))
    named = {n for f in STRANGERS for n in (f.subject, f.object, *(v for _, v in f.qualifiers))}
    assert found.candidates == len(named)
    assert found.ranks.candidates.max() <= len(named) + 1  # the answer always competes


def test_facts_that_the_graph_has_are_not_joined_twice() -> None:
    parts = splits()
    joined = join_graph(parts.train, parts.all)
    assert len(joined.graph) == len(parts.all)
    assert joined.known == len(parts.train)
    assert len(join_graph(parts.train, parts.train).added) == 0


def test_a_predictor_knows_the_support_facts_and_can_lose_only_what_was_added() -> None:
    predictor = Predictor.of(trained())
    question = "n0 | r1 | ?"
    scores = {a.name: a.score for a in predictor.ask(question, 40, restrict_range=False)}
    predictor.add("n2 | r0 | e1")
    assert predictor.added == {Fact("n2", "r0", "e1")}
    predictor.remove()
    again = {a.name: a.score for a in predictor.ask(question, 40, restrict_range=False)}
    assert scores == again
    assert not predictor.added


def test_support_facts_can_be_given_to_evaluate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> Any:
        with pytest.raises(SystemExit) as stop:
            main([*words, "--threads", "1", "--json"])
        assert not stop.value.code
        return json.loads(capsys.readouterr().out)

    parts, folder, path = splits(), tmp_path / "data", str(tmp_path / "run")
    write(Splits({n: p for n, p in parts.items() if n != SUPPORT}, "d"), folder)
    write(parts[SUPPORT], tmp_path / "more.jsonl")
    options = (
        "training.epochs=1",
        "training.dim=8",
        "encoder.name=anonymous",
        "decoder.name=hcnet",
    )
    sets = [word for option in options for word in ("--set", option)]
    call("train", "--dataset", str(folder), *sets, "--out", path)
    plain = call("evaluate", path)
    shown = call("evaluate", path, "--support", str(tmp_path / "more.jsonl"))
    assert (plain["support"], shown["support"]) == (0, len(STRANGERS))
    assert shown["ranks"] == plain["ranks"]
    assert shown["candidates"] >= plain["candidates"]
