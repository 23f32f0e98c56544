"""What held-out facts share with training: equal facts, equal triples, unseen names."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from hyperfact.data.audit.findings import Finding
from hyperfact.data.audit.view import SHOWN, Mask, View, among
from hyperfact.graph.ragged import Array

#: Valid and test are called the same when they share more than this of the larger one.
SAME_SHARE = 0.9


def valid_is_test(view: View) -> Iterator[Finding]:
    """Whether valid and test are one set, or nearly."""
    if {"valid", "test"} <= set(view.splits):
        both = among(view.facts, view.mask(["valid"])) & view.mask(["test"])
        larger = max(len(view.splits.valid), len(view.splits.test))
        same = larger > 0 and both.sum() / larger > SAME_SHARE
        yield view.of_facts("valid-is-test", both & same, larger, "valid, test")


def facts_in_two_splits(view: View) -> Iterator[Finding]:
    """Equal facts, for each pair of splits of which one is held out."""
    for one, other in combinations(view.splits, 2):
        if one in SHOWN and other in SHOWN:
            continue
        both = among(view.facts, view.mask([one])) & view.mask([other])
        smaller = min(len(view.splits[one]), len(view.splits[other]))
        yield view.of_facts("facts-in-two-splits", both, smaller, f"{one}, {other}")


def primary_in_train(view: View) -> Iterator[Finding]:
    """Held-out facts whose primary triple training shows."""
    for split in view.held_out:
        seen = among(view.triples, view.mask(view.shown)) & view.mask([split])
        yield view.of_facts("primary-in-train", seen, len(view.splits[split]), split)


def primary_in_train_or_valid(view: View) -> Iterator[Finding]:
    """Test facts whose primary triple is one of train or valid."""
    if view.held_out == ["valid", "test"]:
        seen = among(view.triples, view.mask([*view.shown, "valid"])) & view.mask(["test"])
        yield view.of_facts("primary-in-train-or-valid", seen, len(view.splits.test), "test")


def facts_with_unseen_names(view: View) -> Iterator[Finding]:
    """Held-out facts that hold a name which training never shows."""
    checks = (
        ("facts-with-unseen-entity", unseen_entity_rows(view)),
        ("facts-with-unseen-relation", unseen_relation_rows(view)),
    )
    for kind, rows in checks:
        for split in view.held_out:
            yield view.of_facts(kind, rows & view.mask([split]), len(view.splits[split]), split)


def unseen_names(view: View) -> Iterator[Finding]:
    """Entities, and relations by role, that training never shows."""
    for split in view.held_out:
        used = _names(view, view.mask([split]))
        shown = _names(view, view.mask(view.shown))
        unseen = np.setdiff1d(used[0], shown[0])
        names = view.splits.entities
        yield view.of_names("unseen-entities", unseen, names, of=len(used[0]), where=split)
        # A relation and an attribute of the same name are two roles, learned apart.
        roles = [np.setdiff1d(now, before) for now, before in zip(used[1:], shown[1:], strict=True)]
        yield view.of_names(
            "unseen-relations",
            np.concatenate(roles),
            view.splits.relations,
            of=len(used[1]) + len(used[2]),
            where=split,
        )


def unseen_entity_rows(view: View) -> Mask:
    """The rows that hold an entity which training never shows."""
    c, mask = view.columns, view.mask(view.shown)
    seen = _seen(len(view.splits.entities), _names(view, mask)[0])
    return ~seen[c.subject] | ~seen[c.object] | view.any_of(~seen[c.values])


def unseen_relation_rows(view: View) -> Mask:
    """The rows that hold a relation or attribute which training never shows in that role."""
    c, names = view.columns, _names(view, view.mask(view.shown))
    relation, attribute = (_seen(len(view.splits.relations), ids) for ids in names[1:])
    return ~relation[c.relation] | view.any_of(~attribute[c.attributes])


def _names(view: View, rows: Mask) -> tuple[Array, Array, Array]:
    """The entities, the primary relations and the attributes of these rows."""
    c, pairs = view.columns, rows[view.owners]
    entities = np.concatenate([c.subject[rows], c.object[rows], c.values[pairs]])
    return np.unique(entities), np.unique(c.relation[rows]), np.unique(c.attributes[pairs])


def _seen(size: int, ids: Array) -> Mask:
    seen = np.zeros(size, dtype=bool)
    seen[ids] = True
    return seen
