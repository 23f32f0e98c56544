import numpy as np
import pytest
import torch

from hyperfact.errors import DataError
from hyperfact.kernels import EdgeIndex
from hyperfact.kernels.edges import Grouping

from .graphs import GRAPHS, graph, random_graph


@pytest.mark.parametrize("name", GRAPHS)
def test_each_order_holds_every_edge_once_in_its_group(name: str) -> None:
    edges = graph(name)
    for grouping, key, first, second in (
        (edges.by_target, edges.target, edges.source, edges.relation),
        (edges.by_source, edges.source, edges.target, edges.relation),
        (edges.by_relation, edges.relation, edges.source, edges.target),
    ):
        assert sorted(grouping.edges) == list(range(len(edges)))
        groups = np.repeat(np.arange(len(grouping.offsets) - 1), np.diff(grouping.offsets))
        np.testing.assert_array_equal(groups, key[grouping.edges])
        np.testing.assert_array_equal(grouping.first, first[grouping.edges])
        np.testing.assert_array_equal(grouping.second, second[grouping.edges])


def test_the_order_within_a_group_is_that_of_the_edges() -> None:
    grouping: Grouping = random_graph(20, 3, 200).by_target
    for low, high in zip(grouping.offsets[:-1], grouping.offsets[1:], strict=True):
        assert list(grouping.edges[low:high]) == sorted(grouping.edges[low:high])


@pytest.mark.parametrize("name", GRAPHS)
def test_pairs_are_the_distinct_relations_and_targets(name: str) -> None:
    edges = graph(name)
    pairs, found = edges.pairs, set()
    for relation in range(edges.num_relations):
        for pair in range(pairs.relation_offsets[relation], pairs.relation_offsets[relation + 1]):
            members = pairs.edges[pairs.offsets[pair] : pairs.offsets[pair + 1]]
            assert len(members) > 0
            assert set(edges.relation[members]) == {relation}
            assert set(edges.target[members]) == {pairs.target[pair]}
            found.add((relation, int(pairs.target[pair])))
    assert len(found) == len(pairs.target)
    assert found == set(zip(edges.relation.tolist(), edges.target.tolist(), strict=True))
    assert sorted(pairs.edges) == list(range(len(edges)))


def test_reversing_twice_is_the_same_graph() -> None:
    edges = random_graph(20, 3, 100)
    assert edges.reversed.reversed is edges
    np.testing.assert_array_equal(edges.reversed.by_relation.first, edges.by_relation.second)
    np.testing.assert_array_equal(edges.reversed.source, edges.target)
    assert edges.reversed.by_target is edges.by_source


def test_degrees_count_all_or_the_kept_edges() -> None:
    edges = random_graph(30, 3, 200)
    keep = torch.arange(200) % 3 != 0
    for mask, subset in ((None, slice(None)), (keep, keep.numpy())):
        received, sent = edges.degrees(mask)
        assert received.tolist() == np.bincount(edges.target[subset], minlength=30).tolist()
        assert sent.tolist() == np.bincount(edges.source[subset], minlength=30).tolist()


@pytest.mark.parametrize("keep", [torch.ones(4, dtype=torch.bool), torch.ones(3)])
def test_degrees_refuse_a_mask_that_does_not_fit(keep: torch.Tensor) -> None:
    with pytest.raises(DataError, match=r"keep must be \(3,\) bool"):
        graph("self loop").degrees(keep)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [0], [2]), r"target ids must be in 0\.\.1, got 2\.\.2"),
        (([-1], [0], [0]), "source ids"),
        (([0], [5], [0]), "relation ids"),
        (([0, 1], [0], [0]), "equal length, got 2, 1, 1"),
        (([0.5], [0], [0]), "column of integers"),
        (([2**33], [0], [0]), "source ids"),
    ],
)
def test_ids_that_a_kernel_could_not_follow_are_refused(
    columns: tuple[list[int], list[int], list[int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        EdgeIndex.build(*columns, num_nodes=2, num_relations=1)


def test_parts_depend_on_the_graph_alone() -> None:
    edges = random_graph(3000, 10, 9000)
    parts = edges.source_parts
    assert parts[0] == 0
    assert parts[-1] == 3000
    assert len(parts) == 17
    assert (np.diff(parts) >= 0).all()
    assert len(graph("dense").source_parts) == 2


def test_repr_is_short() -> None:
    assert repr(graph("dense")) == "EdgeIndex(nodes=5, relations=3, edges=25)"
