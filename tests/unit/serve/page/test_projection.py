"""The map of a run: the same every time, near what the vectors say, never too large."""

from collections import Counter

import numpy as np
import pytest

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor
from hyperfact.serve import projection as module
from hyperfact.serve.projection import principal, projection
from tests.support.runs import league, untrained
from tests.support.serving import league_path


def test_principal_components_are_those_of_the_singular_values() -> None:
    table = np.random.default_rng(0).normal(size=(60, 7)) * np.arange(1, 8)
    flat, kept = principal(table)
    centred = table - table.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, :2] * s[:2]
    expected /= np.abs(expected).max()
    np.testing.assert_allclose(np.abs(flat), np.abs(expected), atol=1e-9)
    assert kept == pytest.approx((s[:2] ** 2).sum() / (s**2).sum())
    assert np.abs(flat).max() == pytest.approx(1.0)


def test_the_convention_of_signs_makes_mirrored_vectors_no_other_map() -> None:
    table = np.random.default_rng(1).normal(size=(30, 5))
    again, _ = principal(table[::-1])
    np.testing.assert_allclose(principal(table)[0][::-1], again, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 1)])
def test_little_gives_a_map_too(shape: tuple[int, int]) -> None:
    flat, _ = principal(np.ones(shape))
    assert flat.shape == (shape[0], 2)
    assert np.isfinite(flat).all()


def test_entities_and_mediators_stand_on_the_map_of_a_run() -> None:
    predictor = Predictor.load(league_path())
    found = projection(predictor)
    assert projection(predictor) is found
    other = projection(Predictor.load(league_path()))
    assert other == found
    kinds = Counter(point.kind for point in found.points)
    seen = {name for f in predictor.splits.train for name in (f.subject, f.object)}
    seen |= {value for f in predictor.splits.train for _, value in f.qualifiers}
    assert kinds == {"entity": len(seen), "mediator": predictor.model.graph.num_mediators}
    groups = {point.name: point.group for point in found.points if point.kind == "entity"}
    assert groups["goal"] == "plays for"
    assert groups["city 0"] == "lives in"
    facts = {str(fact): fact.relation for fact in predictor.splits.train}
    for point in found.points:
        assert max(abs(point.x), abs(point.y)) <= 1.0
        assert point.kind == "entity" or facts[point.name] == point.group
    assert found.as_dict()["shown"] == len(found.points)
    assert 0.0 < found.explained <= 1.0


def test_the_most_frequent_are_shown_where_not_all_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTITIES", 5)
    monkeypatch.setattr(module, "MEDIATORS", 20)
    predictor = Predictor.of(untrained(league()))
    found = projection(predictor)
    kinds = Counter(point.kind for point in found.points)
    assert kinds["entity"] == 5
    assert 10 <= kinds["mediator"] <= 20
    assert {"goal", "wing", "centre"} & {p.name for p in found.points if p.kind == "entity"}
    assert found.of == len(predictor.entities) + predictor.model.graph.num_mediators


@pytest.mark.parametrize("name", ["lookup", "stare"])
def test_an_encoder_without_mediators_has_a_map_of_entities(name: str) -> None:
    splits = Splits({"train": HKG.from_facts([Fact("a", "r", "b"), Fact("b", "r", "c")])})
    found = projection(Predictor.of(untrained(splits, encoder={"name": name})))
    assert [point.kind for point in found.points] == ["entity"] * 3
