"""How rankings are shown: metrics, slices, ties, and what the protocol was."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.cli.visible import in_line
from hyperfact.errors import UnknownNameError
from hyperfact.graph.labels import Labels

NAMES = ("relation", "attribute")  # slices whose parts are names

if TYPE_CHECKING:
    from hyperfact.evaluation import Comparison, Evaluation


def report(
    found: "Evaluation",
    about: Mapping[str, str],
    *,
    by: Sequence[str],
    labels: Labels,
    as_json: bool,
) -> None:
    """An evaluation, with what it is of, for machines or people."""
    from hyperfact.evaluation import SLICES

    for name in by:
        if name not in SLICES:
            raise UnknownNameError("slice", name, SLICES)
    if as_json:
        slices = {
            f"by_{name}": {
                part: {**metrics.as_dict(), **({"label": labels.show(part)} if named else {})}
                for part, metrics in found.by(name).items()
            }
            for name in by
            for named in [name in NAMES]
        }
        print_json({**about, **found.as_dict(), **slices})
        _warn(found)
    else:
        print_results({about["split"]: found}, by=by, labels=labels)


def print_results(
    results: "Mapping[str, Evaluation]", *, by: Sequence[str] = (), labels: Labels | None = None
) -> None:
    """The metrics of each split, the slices below them, what ties can change, and the protocol."""
    if not results:
        note("not evaluated: there are no valid or test facts")
        return
    names = by or ("arity", "slot")
    full = (labels or Labels()).full
    rows: list[tuple[Any, ...]] = []
    for split, found in results.items():
        slices = {"all": found.metrics}
        if found.leak_free is not None:
            slices["primary triple not in train"] = found.leak_free
        slices |= found.beside
        slices["macro over relations"] = found.macro
        for name in names:
            look = full if name in NAMES else str
            slices |= {f"{name} {look(part)}": m for part, m in found.by(name).items()}
        rows += [
            (split, label, m.mrr, *m.hits.values(), m.mean_rank, m.amri, m.ranks)
            for label, m in slices.items()
        ]
    hits = next(iter(results.values())).hits
    heads = (*(f"Hits@{k}" for k in hits), "mean rank", "AMRI", "ranks")
    print_table(("split", "slice", "MRR", *heads), rows)
    for split, found in results.items():
        _print_sureness(split, found)
        _warn(found)
    protocols: dict[str, list[str]] = {}
    for split, found in results.items():
        skipped = f", {found.skipped:,} queries skipped" if found.skipped else ""
        support = f", {found.support:,} support facts" if found.support else ""
        text = found.policy.text(found.candidates) + support + skipped
        protocols.setdefault(text, []).append(split)
    for text, splits in protocols.items():
        of = f" of {' and '.join(splits)}" if len(protocols) > 1 else ""
        print_text(f"\nprotocol{of}: {text}")


def _print_sureness(split: str, found: "Evaluation") -> None:
    if (n := found.numbers) is not None:
        print_text(
            f"\n{split}: numbers, from 0 to 1 in each role: RMSE {n.rmse:.4f} (the mean of a role "
            f"{n.baseline_rmse:.4f}), MAE {n.mae:.4f}, {n.queries:,} queries"
        )
    sure = found.intervals()["mrr"]
    ties = ", ".join(f"{name} {mrr:.4f}" for name, mrr in found.ties.items())
    print_text(f"\n{split}: MRR {sure.level:.0%} interval {sure.low:.4f} to {sure.high:.4f}")
    print_text(f"{split}: MRR by ties: {ties}")


def _warn(found: "Evaluation") -> None:
    from hyperfact.evaluation import TIE_GAP

    if found.tie_gap > TIE_GAP:
        note(
            f"warning: ties decide {found.tie_gap:.4f} of the MRR (optimistic - pessimistic); "
            "many entities have exactly equal scores"
        )


def print_comparisons(
    found: "Mapping[str, Comparison]", first: str, second: str
) -> list[list[str]]:
    """Two runs side by side, a line for each slice; returns the table."""
    columns = ("slice", "first", "second", "difference", "95 % interval", "p", "wins")
    rows = [
        (
            name,
            round(c.first, 4),
            round(c.second, 4),
            f"{c.difference:+.4f}",
            f"{c.interval.low:+.4f} to {c.interval.high:+.4f}",
            c.p,
            c.wins,
            c.ties,
            c.losses,
            c.ranks,
        )
        for name, c in found.items()
    ]
    head = (*columns, "ties", "losses", "ranks")
    print_table(head, rows)
    names = f"{in_line(first)} (first) and {in_line(second)} (second)"
    print_text(f"\nMRR of {names}; wins are the second's")
    return [list(head), *([str(cell) for cell in row] for row in rows)]
