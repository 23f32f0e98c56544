"""What is wrong or surprising in a dataset: `audit_of` finds it, `clean` takes the leaks out.

A check is a function from a `View` to findings; adding one is a line in `CHECKS` and a `Kind`.

Order: kinds, findings, view, leaks, relations, shapes, repair.
"""

from collections.abc import Callable, Iterator

from hyperfact.data.audit import leaks, relations, shapes
from hyperfact.data.audit.findings import Audit, Finding, percent
from hyperfact.data.audit.kinds import KINDS, SEVERITIES, Kind
from hyperfact.data.audit.repair import Cleaned, Removed, clean
from hyperfact.data.audit.view import View
from hyperfact.graph.hkg import Splits

#: Every check.
CHECKS: tuple[Callable[[View], Iterator[Finding]], ...] = (
    leaks.valid_is_test,
    leaks.facts_in_two_splits,
    leaks.primary_in_train,
    leaks.primary_in_train_or_valid,
    leaks.facts_with_unseen_names,
    leaks.unseen_names,
    relations.linked_relations,
    shapes.repeats,
    shapes.bare_twins,
    shapes.odd_facts,
    shapes.odd_names,
)


def audit_of(splits: Splits, *, examples: int = 3) -> Audit:
    """Check a dataset; each finding comes with at most `examples` examples."""
    view = View(splits, examples)
    order = list(KINDS)
    found = sorted(
        (finding for check in CHECKS for finding in check(view)), key=lambda f: order.index(f.id)
    )
    sizes = {name: len(part) for name, part in splits.items()}
    return Audit(splits.name, sizes, tuple(found))


__all__ = [
    "CHECKS",
    "KINDS",
    "SEVERITIES",
    "Audit",
    "Cleaned",
    "Finding",
    "Kind",
    "Removed",
    "audit_of",
    "clean",
    "percent",
]
