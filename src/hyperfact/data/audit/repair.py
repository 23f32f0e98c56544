"""A dataset without its leaks: what is taken out, from where, and for which reason."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperfact.data.audit.leaks import unseen_entity_rows, unseen_relation_rows
from hyperfact.data.audit.shapes import twin_rows
from hyperfact.data.audit.view import Mask, View, among
from hyperfact.errors import DataError
from hyperfact.graph.hkg import Splits

_SEEN_FACT = "the fact stands in {splits}"
_SEEN_TRIPLE = "the primary triple stands in {splits}"
_UNSEEN_ENTITY = "an entity is unseen in training"
_UNSEEN_RELATION = "a relation or attribute is unseen in training"
_TWIN = "the bare twin of a qualified fact"
_REPEAT = "the fact repeats an earlier one"


@dataclass(frozen=True)
class Removed:
    """How many facts left a split for one reason; a fact counts for its first reason only."""

    split: str
    reason: str
    count: int


@dataclass(frozen=True)
class Cleaned:
    """A dataset after cleaning, and what it lost."""

    splits: Splits
    removed: tuple[Removed, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sizes": {name: len(part) for name, part in self.splits.items()},
            "removed": [vars(row) for row in self.removed],
        }


def clean(splits: Splits, *, drop_twins: bool = False) -> Cleaned:
    """Take the leaks out of valid and test; train stays as it is.

    Valid loses what train holds, test what train or the cleaned valid holds: equal facts, facts
    with an equal primary triple, facts with an unseen entity or relation.

    Args:
        splits: the dataset; it is not changed.
        drop_twins: also take bare twins of qualified facts out of every split.

    Raises:
        DataError: there is no train, or nothing would be left of a split.
    """
    if "train" not in splits:
        raise DataError("only a dataset with a train split can be cleaned")
    view = View(splits, examples=0)
    keep = np.ones(len(view.columns), dtype=bool)
    removed = [
        Removed(name, _REPEAT, len(part.repeats.facts)) for name, part in view.splits.items()
    ]
    for name, reason, rows in _steps(view, keep, drop_twins=drop_twins):
        rows = rows & keep & view.mask([name])
        removed.append(Removed(name, reason, int(rows.sum())))
        keep &= ~rows
    parts = {name: part.select(keep[view.rows(name)]) for name, part in splits.items()}
    _refuse_empty(splits, parts)
    lost = tuple(row for row in removed if row.count)
    return Cleaned(replace(splits, parts=parts), lost)


def _steps(view: View, keep: Mask, *, drop_twins: bool) -> Iterator[tuple[str, str, Mask]]:
    """Split, reason and rows of each removal; `keep` shows what the steps before left."""
    before = list(view.shown)
    entity, relation = unseen_entity_rows(view), unseen_relation_rows(view)
    if drop_twins:
        for name in view.splits:
            yield name, _TWIN, twin_rows(view, name)
    for name in view.held_out:
        words, kept = " or ".join(before), view.mask(before) & keep
        yield name, _SEEN_FACT.format(splits=words), among(view.facts, kept)
        yield name, _SEEN_TRIPLE.format(splits=words), among(view.triples, kept)
        yield name, _UNSEEN_ENTITY, entity
        yield name, _UNSEEN_RELATION, relation
        before.append(name)


def _refuse_empty(before: Splits, after: Mapping[str, Any]) -> None:
    for name, part in after.items():
        if len(before[name]) and not len(part):
            raise DataError(
                f"nothing of {name} would be left: all of its {len(before[name]):,} facts leak or "
                "hold unseen names; make a new split instead"
            )
