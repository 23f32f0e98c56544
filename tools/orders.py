"""Whether the rows of a study come in the order that the paper has them in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

SAME = 0.002  # MRRs this near are told as equal
MOST = 5  # pairs to name
Line = Mapping[str, str]  # of a study's table


def order(lines: Sequence[Line]) -> str:
    """Both orders with their figures, and how many pairs agree; nothing without published ones.

    Only rows of one budget are compared, that of most of them.
    """
    published = [line for line in lines if line.get("mrr paper") and line.get("mrr")]
    if len(published) < 2:
        return ""
    [(usual, count)] = Counter(line.get("budget") for line in published).most_common(1)
    known = [line for line in published if line.get("budget") == usual]
    if count < 2:
        return ""
    agree: list[tuple[Line, Line]] = []
    reversed_: list[tuple[Line, Line]] = []
    near: list[tuple[Line, Line]] = []
    for pair in combinations(sorted(known, key=_paper, reverse=True), 2):
        gap = _ours(pair[0]) - _ours(pair[1])
        (near if abs(gap) <= SAME else agree if gap > 0 else reversed_).append(pair)
    verdict = "is confirmed" if not reversed_ else "is not confirmed"
    some = reversed_ if len(reversed_) <= MOST else []
    pairs = ", ".join(f"{one['row']} before {other['row']}" for one, other in some)
    return (
        f"The paper's order {verdict}. Paper: {_told(known, 'mrr paper')}. Here: "
        f"{_told(known, 'mrr')}. Of {len(agree) + len(reversed_) + len(near)} pairs {len(agree)} "
        f"have the paper's order, {len(near)} differ by at most {SAME} here, {len(reversed_)} have "
        f"the other order{f' (the paper has {pairs})' if pairs else ''}."
        f"{_left_out(len(published) - len(known))}\n"
    )


def _left_out(count: int) -> str:
    return f" {count} rows of other budgets are left out." if count else ""


def _paper(line: Line) -> float:
    return float(line["mrr paper"])


def _ours(line: Line) -> float:
    return float(line["mrr"])


def _told(lines: Sequence[Line], column: str) -> str:
    ranked = sorted(lines, key=lambda line: float(line[column]), reverse=True)
    return ", ".join(f"{line['row']} {float(line[column]):.3f}" for line in ranked)
