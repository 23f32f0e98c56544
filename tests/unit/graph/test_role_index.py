"""Look-ups in rising tables, and who stands in which role, against plain scans."""

import random

import numpy as np
import pytest

from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import find
from hyperfact.graph.role_index import OBJECT, SUBJECT, VALUE, RoleIndex, role_number
from tests.support.graphs import random_graph


@pytest.mark.parametrize("rising", [[], [3], [0, 2, 3, 9], [1, 1, 4]])
def test_numbers_are_found_where_they_stand(rising: list[int]) -> None:
    table, wanted = np.array(rising, dtype=np.int64), np.arange(-1, 11).reshape(2, 6)
    places, there = find(table, wanted)
    assert places.shape == there.shape == wanted.shape
    assert there.tolist() == np.isin(wanted, table).tolist()
    assert (table[places[there]] == wanted[there]).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_role_has_the_entities_that_facts_show_in_it(seed: int) -> None:
    hkg = random_graph(random.Random(seed))
    index, relations = RoleIndex.of(hkg), len(hkg.relations)
    for r, relation in enumerate(hkg.relations):
        shown = {
            SUBJECT: {f.subject for f in hkg if f.relation == relation},
            OBJECT: {f.object for f in hkg if f.relation == relation},
            VALUE: {v for f in hkg for a, v in f.qualifiers if a == relation},
        }
        for kind, names in shown.items():
            found = index.entities_of(role_number(kind, r, relations)).tolist()
            assert found == sorted(found)
            assert [hkg.entities[e] for e in found] == [e for e in hkg.entities if e in names]


def test_no_facts_show_nobody() -> None:
    index = RoleIndex.of(HKG.from_facts([], entities="ab", relations="r"))
    assert index.offsets.tolist() == [0, 0, 0, 0]
    assert index.entities.tolist() == []
