"""Tallies: all that is counted in the facts of a graph and speaks for the answer to a question.

Three sources give rows of entities with counts: contexts (who fills the asked role, alone or beside
what is known), related contexts (who stands beside a known entity in roles that go with the asked
ones) and chains of two facts. A term of a question is one row, with the number of its weight.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hyperfact.graph.chains import Chains
from hyperfact.graph.contexts import Contexts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, offsets_of, owners_of, places_of
from hyperfact.graph.related import Related

_TRUST = 50.0  # a weight of confidence c starts at log(1 + this * c)
LINK, CHAIN = 3, 4  # groups of weights, after those of contexts with one, two and three slots
GROUPS = 5


class Asked(NamedTuple):
    """Questions as arrays."""

    roles: Array  # (batch, slots), as `contexts.roles_of` numbers them
    entities: Array  # (batch, slots)
    known: Array  # (batch, slots) bool: whose entities may be used
    slots: Array  # (batch,) the asked ones


class Terms(NamedTuple):
    """What speaks for candidates of some questions, question after question."""

    offsets: Places  # (batch + 1,)
    rows: Places  # (terms,)
    weights: Places  # (terms,) numbers of weights
    asked: Array  # (batch,) roles
    held: Array  # (batch, slots) who is known in which role


@dataclass(frozen=True)
class Tallies:
    """Rows of entities with counts, which contexts come first in."""

    contexts: Contexts
    related: Related | None
    chains: Chains | None

    @classmethod
    def of(cls, hkg: HKG, *, order: int, related: bool, chains: float) -> "Tallies":
        """Count these facts.

        Args:
            hkg: The facts.
            order: How many slots are counted together, at most.
            related: Whether counts in other roles speak too.
            chains: The least confidence of a rule of two steps; 0: no such rules.
        """
        contexts = Contexts.of(hkg, order)
        return cls(
            contexts,
            Related.of(contexts) if related else None,
            Chains.of(hkg, least=chains) if chains else None,
        )

    def rows(self) -> tuple[Places, Places, Places]:
        """Offsets, entities and counts of all rows."""
        c, chains = self.contexts, self.chains
        if chains is None:
            return c.offsets, c.who, c.counts
        offsets = np.concatenate([c.offsets, c.offsets[-1] + chains.ends[1:]])
        who, counts = np.concatenate([c.who, chains.who]), np.concatenate([c.counts, chains.counts])
        return offsets, who, counts

    def weights(self, start: Array) -> tuple[Array, Places]:
        """First values of all weights, given those of contexts by their size; and their groups."""
        sizes = (self.contexts.roles >= 0).sum(axis=1) - 1
        values, groups = [start[sizes]], [sizes]
        for group, source in ((LINK, self.related), (CHAIN, self.chains)):
            if source is not None:
                values.append(np.log1p(_TRUST * source.confidence))
                groups.append(np.full(len(source.confidence), group))
        return np.concatenate(values), np.concatenate(groups)

    def terms(self, asked: Asked) -> Terms:
        """What speaks for candidates of these questions."""
        role = asked.roles[np.arange(len(asked.slots)), asked.slots]
        held = self.contexts.coded.held_as(asked.roles, asked.entities)
        held = np.where(asked.known, held, 0)
        offsets, row = self.contexts.find(role, held)
        found = [(owners_of(offsets), row, self.contexts.kinds[row])]
        first = len(self.contexts.roles)
        if self.related is not None:
            given = np.nonzero(asked.known)
            company = given[0], asked.roles[given], asked.entities[given]
            owner, row, link = self.related.find(self.contexts, role, company)
            found.append((owner, row, link + first))
            first += len(self.related.bodies)
        if self.chains is not None:
            owner, row, rule = self._chains(self.chains, asked, role)
            found.append((owner, row + len(self.contexts.codes), rule + first))
        owner, row, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(owner, kind="stable")
        offsets = offsets_of(np.bincount(owner, minlength=len(role)))
        return Terms(offsets, row[order], weight[order], role, held)

    def _chains(self, chains: Chains, asked: Asked, role: Array) -> tuple[Places, Places, Places]:
        relations = self.contexts.coded.relations
        other = np.minimum(1 - asked.slots, 1)  # the other end, where an end is asked
        relation = role % (relations + 1)
        there = (asked.slots < 2) & (relation < relations)
        there &= asked.known[np.arange(len(role)), other]
        mine = np.flatnonzero(there)
        heads = relation[mine] + np.where(asked.slots[mine] == 0, relations, 0)
        owner, row, rule = chains.find(heads, asked.entities[mine, other[mine]])
        return mine[owner], row, rule

    def own(self, terms: Terms, answers: tuple[Array, Array]) -> tuple[Places, Places, Array]:
        """What the answers' own facts have counted: term, entity, and its count with them.

        Args:
            terms: Of questions about facts that are counted here.
            answers: Offsets and entities: the answers of each question.
        """
        query = owners_of(terms.offsets)
        term = np.repeat(np.arange(len(query)), np.diff(answers[0])[query])
        who = answers[1][places_of(answers[0], query)]
        context = terms.rows[term] < len(self.contexts.codes)
        term, who = term[context], who[context]
        entry, there = self.contexts.entries(terms.rows[term], who)
        link = np.flatnonzero(there & (terms.weights[term] >= len(self.contexts.roles)))
        there[link] = self._counts_itself(terms, term[link], query[term[link]], who[link])
        return term[there], who[there], self.contexts.counts[entry[there]]

    def counts(self, terms: Terms, who: int) -> Places:  # (terms,)
        """How often each term has seen this entity."""
        offsets, entities, counts = self.rows()
        sizes = (offsets[terms.rows + 1] - offsets[terms.rows]).astype(np.int64)
        place = places_of(offsets, terms.rows)
        term = np.repeat(np.arange(len(sizes)), sizes)
        hit = entities[place] == who
        found: Places = np.zeros(len(sizes), dtype=np.int64)
        found[term[hit]] = counts[place[hit]]
        return found

    def without(self, hkg: HKG, rows: Array) -> "Tallies":
        """The same rows and weights, some of the facts not being counted.

        Args:
            hkg: The facts that are counted here.
            rows: Those to leave out.
        """
        keep = np.setdiff1d(np.arange(len(hkg)), rows)
        chains = None if self.chains is None else self.chains.over(hkg.select(keep))
        return replace(self, contexts=self.contexts.less(hkg.select(rows)), chains=chains)

    def _counts_itself(self, terms: Terms, term: Array, query: Array, who: Array) -> Array:
        """Whether a question with this answer is itself a fact of a related context."""
        coded = self.contexts.coded
        role, known, _ = coded.parts(self.contexts.codes[terms.rows[term]])
        answer = coded.held_as(terms.asked[query], who)
        slots = np.concatenate([terms.held[query], answer[:, None]], axis=1)  # of the fact
        both = (coded.held_as(role, who), known)
        there = [(slots == one[:, None]).any(axis=1) for one in both]
        return np.asarray(there[0] & there[1])
