"""Relations that tell each other: inverse, symmetric and duplicate ones, and what they give away.

A rule `first -> second` has a share: of the entity pairs that `first` joins, how many `second`
joins too, backwards or in the same direction. Backwards one rule suffices; two relations are
duplicates only if each tells the other, for a narrower relation inside a wider one is natural.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hyperfact.data.audit.findings import Finding, percent
from hyperfact.data.audit.view import Mask, View
from hyperfact.graph.facts import show
from hyperfact.graph.ragged import Array, Places, find, places_of

THRESHOLD = 0.8  # share of pairs from which a rule counts
SUPPORT = 10  # pairs that a relation needs before anything is said about it
CROWD = 64  # pairs joined by more relations than this say nothing about two of them


@dataclass(frozen=True)
class Triples:
    """Distinct (pair, relation) rows, sorted by pair; self loops left out."""

    pair: Places  # (rows,) subject * entities + object
    relation: Array  # (rows,)
    entities: int

    @classmethod
    def of(cls, view: View, rows: Mask) -> "Triples":
        """The primary triples of these rows."""
        c, size = view.columns, len(view.splits.entities)
        rows = rows & (c.subject != c.object)
        _, first = np.unique(view.triples[rows], return_index=True)
        s, o = (column[rows][first].astype(np.int64) for column in (c.subject, c.object))
        pair, relation = s * size + o, c.relation[rows][first]
        order = np.lexsort((relation, pair))
        return cls(pair[order], relation[order], size)

    def backwards(self) -> Places:
        """Each pair with its ends exchanged."""
        return self.pair % self.entities * self.entities + self.pair // self.entities

    def join(self, pairs: Places) -> tuple[Places, Places]:
        """Places in `pairs` and rows of this table that hold the same pair."""
        keys, starts, counts = np.unique(self.pair, return_index=True, return_counts=True)
        at, there = find(keys, pairs)
        hit = np.flatnonzero(there)
        hit = hit[counts[at[hit]] <= CROWD]
        offsets = np.append(starts, len(self.pair))
        return np.repeat(hit, counts[at[hit]]), places_of(offsets, at[hit])


@dataclass(frozen=True)
class Rules:
    """Rules between relations in one direction, those above the threshold only."""

    first: Array  # (rules,)
    second: Array  # (rules,)
    share: Array  # (rules,)
    support: Array  # (rules,) pairs of `first`

    @classmethod
    def find(cls, triples: Triples, pairs: Places, relations: int) -> "Rules":
        """The rules `relation of pairs[i] -> relation that joins pairs[i]`."""
        here, there = triples.join(pairs)
        code = _codes(triples.relation[here], triples.relation[there], relations)
        codes, counts = np.unique(code, return_counts=True)
        first, second = np.divmod(codes, max(relations, 1))
        support = np.bincount(triples.relation, minlength=relations)[first]
        return cls.of_counts(first, second, counts, support)

    @classmethod
    def of_counts(cls, first: Array, second: Array, counts: Array, support: Array) -> "Rules":
        """The rules with enough pairs among candidates: pairs of both, and of `first`."""
        keep = (support >= SUPPORT) & (counts >= THRESHOLD * support)
        return cls(first[keep], second[keep], (counts / support)[keep], support[keep])

    def both_ways(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """The two relations of each rule, as they are and exchanged."""
        return (self.first, self.second), (self.second, self.first)

    def take(self, rows: Mask) -> "Rules":
        """These rules only."""
        return Rules(self.first[rows], self.second[rows], self.share[rows], self.support[rows])


def rules_of(view: View) -> tuple[Rules, Rules]:
    """The rules that exchange subject and object, and those that keep them."""
    triples = Triples.of(view, np.ones(len(view.columns), dtype=bool))
    relations = len(view.splits.relations)
    backward = Rules.find(triples, triples.backwards(), relations)
    return backward, mutual(Rules.find(triples, triples.pair, relations), relations)


def mutual(forward: Rules, relations: int) -> Rules:
    """The rules between two relations of which each tells the other."""
    there, back = (_codes(a, b, relations) for a, b in forward.both_ways())
    return forward.take((forward.first != forward.second) & np.isin(back, there))


def linked_relations(view: View) -> Iterator[Finding]:
    """Inverse, symmetric and duplicate relations; held-out facts that follow by one of them."""
    backward, forward = rules_of(view)
    yield from _told(view, backward, forward)
    yield from rule_findings(view, backward, forward, len(np.unique(view.columns.relation)))


def rule_findings(view: View, backward: Rules, forward: Rules, total: int) -> Iterator[Finding]:
    """The rules themselves; `total` relations are in use."""
    mirror = backward.first == backward.second
    yield _rules(view, "inverse-relations", backward.take(~mirror), total)
    yield _rules(view, "symmetric-relations", backward.take(mirror), total)
    yield _rules(view, "duplicate-relations", forward, total)


def _codes(first: Array, second: Array, relations: int) -> Places:
    """One number for each pair of relations."""
    return first.astype(np.int64) * relations + second


def _rules(view: View, kind: str, rules: Rules, total: int) -> Finding:
    """A finding about these rules; of two that are each other's reverse one is an example."""
    names, count = view.splits.relations, len(np.unique(rules.first))
    there, back = (_codes(a, b, len(names)) for a, b in rules.both_ways())
    rules = rules.take((there <= back) | ~np.isin(back, there))
    order = np.lexsort((rules.second, rules.first, -rules.support))[: view.examples]
    parts = (rules.first, rules.second, rules.share, rules.support)
    rows = list(zip(*(part[order].tolist() for part in parts), strict=True))
    texts, labels = (
        [
            f"{look(names[first])} -> {look(names[second])}: {percent(share)} of {support:,} pairs"
            for first, second, share, support in rows
        ]
        for look in (show, view.splits.labels.field)
    )
    return view.of_texts(kind, texts, total, count=count, labels=labels)


def _told(view: View, backward: Rules, forward: Rules) -> Iterator[Finding]:
    c, size = view.columns, len(view.splits.entities)
    shown = Triples.of(view, view.mask(view.shown))
    s, o = c.subject.astype(np.int64), c.object.astype(np.int64)
    told = _follows(view, backward, shown, o * size + s) | _follows(
        view, forward, shown, s * size + o
    )
    for split in view.held_out:
        rows = told & view.mask([split])
        yield view.of_facts("told-by-another-relation", rows, len(view.splits[split]), split)


def _follows(view: View, rules: Rules, shown: Triples, pairs: Places) -> Mask:
    """The rows for which a rule leads from a shown triple on this pair to their relation."""
    relations = len(view.splits.relations)
    row, source = shown.join(pairs)
    code = _codes(shown.relation[source], view.columns.relation[row], relations)
    hit = np.isin(code, _codes(rules.first, rules.second, relations))
    told = np.zeros(len(view.columns), dtype=bool)
    told[row[hit]] = True
    return told
