"""Facts that join a graph later: its own rows stay first, and its vocabularies only grow.

So every id and every row keeps its meaning. New names come in name order, whatever order the facts
come in.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hyperfact.graph.columns import Columns, canonical
from hyperfact.graph.facts import Fact, Vocabulary, name_order
from hyperfact.graph.hkg import HKG, Splits, union

#: The split that holds facts which training did not have.
ADDED = "added"
#: The split of support facts, which inductive benchmarks show only when questions are asked.
SUPPORT = "aux"


@dataclass(frozen=True)
class Joined:
    """A graph with further facts behind its own."""

    graph: HKG  # all of them
    known: int  # how many are the graph's own

    @property
    def own(self) -> HKG:
        """The graph's own facts, over all names."""
        return self.graph[: self.known]

    @property
    def added(self) -> HKG:
        """The further facts, over all names."""
        return self.graph[self.known :]

    @property
    def entities(self) -> Vocabulary:
        """All names of entities."""
        return self.graph.entities


def join(graph: HKG, facts: Iterable[Fact]) -> Joined:
    """The graph with these facts, as far as it does not have them."""
    rows = sorted(set(facts), key=str)
    entities = _grown(
        graph.entities,
        {n for f in rows for n in (f.subject, f.object, *(v for _, v in f.qualifiers))},
    )
    relations = _grown(
        graph.relations, {n for f in rows for n in (f.relation, *(a for a, _ in f.qualifiers))}
    )
    some = HKG.from_facts(rows, entities=entities, relations=relations)
    fresh = _unknown_to(graph, some)
    columns = Columns.concatenate([graph.columns, fresh.columns])
    return Joined(HKG(entities, relations, columns), len(graph))


def _grown(names: Vocabulary, more: set[str]) -> Vocabulary:
    """With those behind that are not there yet."""
    new = sorted((name for name in more if names.get(name) is None), key=name_order)
    return names.with_names(new) if new else names


def join_graph(graph: HKG, more: HKG) -> Joined:
    """The graph with the facts of another of the same names, as far as it does not have them."""
    columns = Columns.concatenate([graph.columns, _unknown_to(graph, more).columns])
    return Joined(HKG(graph.entities, graph.relations, columns), len(graph))


def support_of(splits: Splits) -> HKG | None:
    """The facts beyond those of training that count when questions are asked; None: no such.

    Support facts of the dataset, and those that were added.
    """
    parts = [splits[name] for name in (SUPPORT, ADDED) if len(splits.get(name, ()))]
    return union(*parts) if parts else None


def _unknown_to(graph: HKG, some: HKG) -> HKG:
    """Those of some facts that a graph does not have."""
    c = graph.columns
    near = np.flatnonzero(np.isin(c.subject, some.columns.subject))
    repeats = canonical(Columns.concatenate([c.take(near), some.columns]))[1]
    return some.select(np.setdiff1d(np.arange(len(some)), repeats.facts - len(near)))


def with_added(splits: Splits, joined: Joined) -> Splits:
    """All splits over the names of now, and the further facts as a split of their own."""
    entities, relations = joined.entities, joined.graph.relations
    parts = {
        name: replace(part, entities=entities, relations=relations) for name, part in splits.items()
    }
    earlier = [parts[ADDED]] if ADDED in parts else []
    return replace(splits, parts={**parts, ADDED: union(*earlier, joined.added)})
