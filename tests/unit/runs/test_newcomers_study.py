"""Entities held out of training, and what is given of them later."""

import numpy as np

from hyperfact.runs.studies.newcomers_study import given_facts, held_out, naming, without
from tests.support.models import random_facts

TRAIN = random_facts(60, entities=30)


def test_no_training_fact_names_a_newcomer() -> None:
    newcomers = held_out(TRAIN, seed=0)
    assert len(newcomers) == 3
    assert np.array_equal(newcomers, held_out(TRAIN, seed=0))
    rest = without(TRAIN, newcomers)
    names = {TRAIN.entities[i] for i in newcomers.tolist()}
    told = [{f.subject, f.object, *(v for _, v in f.qualifiers)} & names for f in TRAIN]
    assert [bool(found) for found in told] == naming(TRAIN, newcomers).tolist()
    assert {*rest} == {f for f, found in zip(TRAIN, told, strict=True) if not found}


def test_more_given_facts_hold_fewer_and_each_newcomer_has_its_share() -> None:
    newcomers = held_out(TRAIN, seed=1)
    given = {count: given_facts(TRAIN, newcomers, count) for count in (0, 1, 2, 100)}
    assert len(given[0]) == 0
    assert {*given[1]} <= {*given[2]} <= {*given[100]} == {*TRAIN.select(naming(TRAIN, newcomers))}
    for one in newcomers:
        has = int(naming(TRAIN, np.array([one])).sum())
        assert int(naming(given[2], np.array([one])).sum()) >= min(2, has)
