import pytest
import torch
from torch import Tensor

from hyperfact.errors import DataError
from hyperfact.kernels import count_rivals, reference

from .graphs import draw


def naive(scores: Tensor, targets: list[int], filtered: list[list[int]]) -> list[tuple[int, int]]:
    counts = []
    for row, target, known in zip(scores.tolist(), targets, filtered, strict=True):
        rivals = [s for c, s in enumerate(row) if c != target and c not in known]
        counts.append((sum(s > row[target] for s in rivals), rivals.count(row[target])))
    return counts


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("columns", [1, 7, 5000])
def test_counts_agree_with_a_naive_scan(dtype: torch.dtype, columns: int) -> None:
    scores = draw(9, columns).mul(3).round().to(dtype)  # with many ties
    generator = torch.Generator().manual_seed(1)
    targets = torch.randint(columns, (9,), generator=generator)
    known = [torch.randperm(columns, generator=generator)[: i % 4] for i in range(9)]
    known[3] = torch.cat([known[3][known[3] != targets[3]], targets[3:4]])  # the target as well
    offsets = torch.tensor([0, *(len(k) for k in known)]).cumsum(0)
    filtered = torch.cat(known)
    counts = count_rivals(scores, targets, offsets=offsets, filtered=filtered)
    expected = naive(scores, targets.tolist(), [k.tolist() for k in known])
    assert list(zip(counts.greater.tolist(), counts.equal.tolist(), strict=True)) == expected
    assert counts.finite.all()
    plain = reference.count_rivals(scores, targets, offsets, filtered)
    assert all(torch.equal(one, other) for one, other in zip(counts, plain, strict=True))
    assert counts.greater.dtype == counts.equal.dtype == torch.int64


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("column", [0, 2, 6000])
def test_a_score_that_is_no_number_is_flagged_in_its_row_only(bad: float, column: int) -> None:
    scores = draw(3, 6001).float()
    scores[1, column] = bad
    counts = count_rivals(
        scores,
        torch.tensor([0, 0, 0]),
        offsets=torch.tensor([0, 0, 1, 1]),
        filtered=torch.tensor([2]),
    )
    assert counts.finite.tolist() == [True, False, True]


def test_scores_next_to_each_other_are_not_ties() -> None:
    one = torch.tensor(1.0)
    scores = torch.stack([one, one.nextafter(one + 1), one, one.nextafter(one - 1)])[None]
    counts = count_rivals(
        scores,
        torch.tensor([0]),
        offsets=torch.tensor([0, 0]),
        filtered=torch.empty(0, dtype=torch.long),
    )
    assert (counts.greater.item(), counts.equal.item()) == (1, 1)


@pytest.mark.parametrize(
    ("targets", "offsets", "filtered", "message"),
    [
        ([3], [0, 0], [], r"ids must be in 0\.\.2, got 3\.\.3"),
        ([-1], [0, 0], [], "got -1"),
        ([0], [0, 1], [7], "got 7"),
        ([0], [0, 2], [1], "offsets must rise from 0 to 1"),
        ([0], [0], [], "expected 2 offsets"),
        ([0, 1], [0, 0], [], "offsets must rise"),
    ],
)
def test_columns_that_do_not_exist_are_refused(
    targets: list[int], offsets: list[int], filtered: list[int], message: str
) -> None:
    columns = [torch.tensor(ids, dtype=torch.long) for ids in (targets, offsets, filtered)]
    with pytest.raises(DataError, match=message):
        count_rivals(draw(1, 3), columns[0], offsets=columns[1], filtered=columns[2])


def test_several_targets_may_share_a_row() -> None:
    scores = draw(3, 40).mul(2).round()
    rows, targets = torch.tensor([2, 0, 2, 2]), torch.tensor([5, 7, 6, 5])
    offsets, filtered = torch.tensor([0, 2, 2, 3, 3]), torch.tensor([6, 1, 5])
    shared = count_rivals(scores, targets, offsets=offsets, filtered=filtered, rows=rows)
    apart = count_rivals(scores[rows], targets, offsets=offsets, filtered=filtered)
    assert all(torch.equal(one, other) for one, other in zip(shared, apart, strict=True))
    with pytest.raises(DataError, match=r"ids must be in 0\.\.2"):
        count_rivals(scores, targets, offsets=offsets, filtered=filtered, rows=rows + 1)
