"""The sharing embedding: [shared by the primary relation ; own]."""

from fractions import Fraction

import pytest
import torch

from hyperfact.models.encoders.mediators import MediatorInput, shared_size
from hyperfact.transforms import equivalent
from tests.support.models import random_facts


@pytest.mark.parametrize("hundredths", range(101))
def test_the_shared_size_is_the_floor_of_the_decimal_product(hundredths: int) -> None:
    for dim in (1, 7, 50, 100, 200, 256):
        expected = Fraction(hundredths, 100) * dim
        assert shared_size(hundredths / 100, dim) == expected.numerator // expected.denominator


def test_binary_floors_would_be_wrong() -> None:
    assert int(0.29 * 100) == 28
    assert shared_size(0.29, 100) == 29


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.8, 1.0])
def test_mediators_of_one_relation_share_exactly_the_first_part(alpha: float) -> None:
    graph = equivalent(random_facts(40))
    inputs = MediatorInput(
        graph, dim=10, alpha=alpha, scale=0.3, generator=torch.Generator().manual_seed(0)
    )
    vectors, shared = inputs(), inputs.shared
    assert vectors.shape == (graph.num_mediators, 10)
    assert shared == round(alpha * 10)
    relations = graph.mediator_relation
    for i in range(len(relations)):
        for j in range(i):
            same = torch.equal(vectors[i, :shared], vectors[j, :shared])
            assert same == (relations[i] == relations[j] or shared == 0)
            assert torch.equal(vectors[i, shared:], vectors[j, shared:]) == (shared == 10)


def test_sharing_saves_parameters() -> None:
    graph = equivalent(random_facts(40))
    sizes = [
        sum(
            p.numel()
            for p in MediatorInput(
                graph, dim=10, alpha=alpha, scale=0.3, generator=torch.Generator()
            ).parameters()
        )
        for alpha in (0.0, 0.4, 0.8, 1.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 10 * graph.num_mediators
    assert sizes[-1] == 10 * len(set(graph.mediator_relation.tolist()))
