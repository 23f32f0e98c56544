"""Tallies: all that is counted in the facts of a graph and speaks for the answer to a question.

Four sources give rows of entities with values: contexts (who fills the asked role, alone or beside
what is known), related contexts (who stands beside a known entity in roles that go with the asked
ones), chains of two facts, and profiles (what others answer of whom the same is known). A term of a
question is one row, with the number of its weight.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hyperfact.graph.chains import Chains
from hyperfact.graph.contexts import Contexts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.profiles import Profiles
from hyperfact.graph.ragged import Array, Places, find, offsets_of, owners_of, places_of
from hyperfact.graph.related import Related, RelatedTwo

_TRUST = 50.0  # what confidence c says is worth log(1 + this * c)
_MANY = 0.2  # first weight of one of the many steps of a profile
LINK, CHAIN, PROFILE = 3, 4, 5  # groups of weights, after contexts with one, two and three slots
GROUPS = 6


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
    heads: Array  # (batch,) of an asked object the relation, of a subject relations + it; else -1
    ends: Array  # (batch,) the other end


class Rows(NamedTuple):
    """Ragged rows of entities."""

    offsets: Places  # (rows + 1,)
    who: Places  # (entries,)
    counts: Places  # (entries,) facts or chains
    values: Array  # (entries,) what they are worth, before weights


@dataclass(frozen=True)
class Tallies:
    """Rows of contexts, then of chains, then of profiles."""

    contexts: Contexts
    related: Related | None
    related_two: RelatedTwo | None
    chains: Chains | None
    profiles: Profiles | None

    @classmethod
    def of(
        cls,
        hkg: HKG,
        *,
        order: int,
        related: bool = False,
        related_two: bool = False,
        chains: float = 0.0,
        profiles: bool = False,
    ) -> "Tallies":
        """Count these facts.

        Args:
            hkg: The facts.
            order: How many slots are counted together, at most.
            related: Whether counts in other roles speak too, beside one known entity.
            related_two: Whether they do beside two.
            chains: The least confidence of a rule of two steps; 0: no such rules.
            profiles: Whether what else is known of an end speaks for the other.
        """
        contexts = Contexts.of(hkg, order)
        return cls(
            contexts,
            Related.of(contexts) if related else None,
            RelatedTwo.of(contexts) if related_two else None,
            Chains.of(hkg, least=chains) if chains else None,
            Profiles.of(hkg) if profiles else None,
        )

    def rows(self) -> Rows:
        """All of them."""
        c, parts = self.contexts, []
        parts.append(Rows(c.offsets, c.who, c.counts, np.log1p(c.counts)))
        if self.chains is not None:
            f = self.chains
            parts.append(Rows(f.ends, f.who, f.counts, np.log1p(f.counts)))
        if self.profiles is not None:
            p = self.profiles
            values = np.log1p(_TRUST * p.confidence(np.arange(len(p.who))))
            parts.append(Rows(p.ends, p.who, p.counts, values))
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        who, counts, values = (np.concatenate(x) for x in zip(*(p[1:] for p in parts), strict=True))
        return Rows(offsets_of(sizes), who, counts, values)

    def weights(self, start: Array) -> tuple[Array, Places]:
        """First values of all weights, given those of contexts by their size; and their groups."""
        sizes = (self.contexts.roles >= 0).sum(axis=1) - 1
        values, groups = [start[sizes]], [sizes]
        sources = ((LINK, self.related), (LINK, self.related_two), (CHAIN, self.chains))
        for group, source in sources:
            if source is not None:
                values.append(np.log1p(_TRUST * source.confidence))
                groups.append(np.full(len(source.confidence), group))
        if self.profiles is not None:
            values.append(np.full(len(self.profiles.links), _MANY))
            groups.append(np.full(len(self.profiles.links), PROFILE))
        return np.concatenate(values), np.concatenate(groups)

    @property
    def first_rows(self) -> tuple[int, int]:
        """Where the rows of chains begin, and those of profiles."""
        chains = len(self.contexts.codes)
        return chains, chains + (0 if self.chains is None else len(self.chains.starts))

    def terms(self, asked: Asked) -> Terms:
        """What speaks for candidates of these questions."""
        role = asked.roles[np.arange(len(asked.slots)), asked.slots]
        held = self.contexts.coded.held_as(asked.roles, asked.entities)
        held = np.where(asked.known, held, 0)
        heads, ends = self._ends(asked, role)
        mine, first = np.flatnonzero(heads >= 0), len(self.contexts.roles)
        offsets, row = self.contexts.find(role, held)
        found = [(owners_of(offsets), row, self.contexts.kinds[row])]
        given = np.nonzero(asked.known)
        company = given[0], asked.roles[given], asked.entities[given]
        for related in (self.related, self.related_two):
            if related is not None:
                owner, row, link = related.find(self.contexts, role, company)
                found.append((owner, row, link + first))
                first += len(related.confidence)
        if self.chains is not None:
            owner, row, rule = self.chains.find(heads[mine], ends[mine])
            found.append((mine[owner], row + self.first_rows[0], rule + first))
            first += len(self.chains.paths)
        if self.profiles is not None:
            owner, row, link = self.profiles.find(heads[mine], ends[mine])
            found.append((mine[owner], row + self.first_rows[1], link + first))
        owner, row, weight = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(owner, kind="stable")
        offsets = offsets_of(np.bincount(owner, minlength=len(role)))
        return Terms(offsets, row[order], weight[order], role, held, heads, ends)

    def _ends(self, asked: Asked, role: Array) -> tuple[Array, Array]:
        """Heads, -1 where no end is asked whose other end is known, and the other ends."""
        relations, every = self.contexts.coded.relations, np.arange(len(role))
        other = np.where(asked.slots == 0, 1, 0)
        relation = role % (relations + 1)
        there = (asked.slots < 2) & (relation < relations) & asked.known[every, other]
        ends = asked.entities[every, other]
        there &= ends < self.contexts.coded.entities
        return np.where(there, relation + np.where(asked.slots == 0, relations, 0), -1), ends

    def own(self, terms: Terms, answers: tuple[Array, Array]) -> tuple[Places, Places, Array]:
        """What values lose when the answers' own facts are not counted: term, entity, loss.

        Args:
            terms: Of questions about facts that are counted here.
            answers: Offsets and entities: the answers of each question.
        """
        query = owners_of(terms.offsets)
        term = np.repeat(np.arange(len(query)), np.diff(answers[0])[query])
        who = answers[1][places_of(answers[0], query)]
        chains, profiles = self.first_rows
        row = terms.rows[term]
        parts = [self._own_contexts(terms, query, term[row < chains], who[row < chains])]
        if self.profiles is not None:
            mine = row >= profiles
            parts.append(self._own_profiles(terms, query, term[mine], who[mine]))
            parts.append(self._told(self.profiles, terms, query, answers))
        found, entity, loss = (np.concatenate(part) for part in zip(*parts, strict=True))
        return found, entity, loss

    def _own_contexts(
        self, terms: Terms, query: Array, term: Array, who: Array
    ) -> tuple[Places, Places, Array]:
        entry, there = self.contexts.entries(terms.rows[term], who)
        link = np.flatnonzero(there & (terms.weights[term] >= len(self.contexts.roles)))
        there[link] = self._counts_itself(terms, term[link], query[term[link]], who[link])
        counts = self.contexts.counts[entry[there]]
        return term[there], who[there], np.log1p(counts - 1.0) - np.log1p(counts)

    def _own_profiles(
        self, terms: Terms, query: Array, term: Array, who: Array
    ) -> tuple[Places, Places, Array]:
        """A profile has counted a fact that no other fact repeats with other qualifiers."""
        assert self.profiles is not None
        entry, there = self.profiles.entries(terms.rows[term] - self.first_rows[1], who)
        asked = query[term]
        there &= self.profiles.steps.facts(terms.ends[asked], who, terms.heads[asked]) == 1
        entry = entry[there]
        less, all_of_them = (self.profiles.confidence(entry, less=n) for n in (1, 0))
        loss = np.log1p(_TRUST * less) - np.log1p(_TRUST * all_of_them)
        return term[there], who[there], loss

    def _told(
        self, profiles: Profiles, terms: Terms, query: Array, answers: tuple[Array, Array]
    ) -> tuple[Places, Places, Array]:
        """An answer among n speaks for other entities in the profiles of the other n - 1 only."""
        first, width = self.first_rows[1], self.contexts.coded.entities + 1
        known = owners_of(answers[0]) * width + answers[1]
        term = np.flatnonzero(terms.rows >= first)
        who = profiles.siblings(terms.rows[term] - first)
        term = term[(who >= 0) & find(known, query[term] * width + who)[1]]
        rows = terms.rows[term] - first
        term = np.repeat(term, np.diff(profiles.ends)[rows])
        entry = places_of(profiles.ends, rows)
        other = ~find(known, query[term] * width + profiles.who[entry])[1]
        term, entry = term[other], entry[other]
        values = np.log1p(_TRUST * profiles.confidence(entry))
        return term, profiles.who[entry], -values / np.diff(answers[0])[query[term]]

    def counts(self, terms: Terms, who: int) -> tuple[Places, Array]:  # (terms,), (terms,)
        """How often each term has seen this entity, and what that is worth before weights."""
        rows = self.rows()
        sizes = rows.offsets[terms.rows + 1] - rows.offsets[terms.rows]
        place = places_of(rows.offsets, terms.rows)
        term = np.repeat(np.arange(len(sizes)), sizes)
        hit = rows.who[place] == who
        counts, values = np.zeros(len(sizes), dtype=np.int64), np.zeros(len(sizes))
        counts[term[hit]], values[term[hit]] = rows.counts[place[hit]], rows.values[place[hit]]
        return counts, values

    def without(self, hkg: HKG, rows: Array) -> "Tallies":
        """The same rows and weights, some of the facts not being counted.

        Args:
            hkg: The facts that are counted here.
            rows: Those to leave out.
        """
        rest = hkg.select(np.setdiff1d(np.arange(len(hkg)), rows))
        chains = None if self.chains is None else self.chains.over(rest)
        profiles = None if self.profiles is None else self.profiles.over(rest)
        contexts = self.contexts.less(hkg.select(rows))
        return replace(self, contexts=contexts, chains=chains, profiles=profiles)

    def over(self, hkg: HKG) -> "Tallies":
        """The same kinds of rows and the same weights, counted in other facts."""
        chains = None if self.chains is None else self.chains.over(hkg)
        profiles = None if self.profiles is None else self.profiles.over(hkg)
        contexts = self.contexts.over(hkg)
        return replace(self, contexts=contexts, chains=chains, profiles=profiles)

    def _counts_itself(self, terms: Terms, term: Array, query: Array, who: Array) -> Array:
        """Whether a question with this answer is itself a fact of a related context."""
        coded = self.contexts.coded
        role, known, second = coded.parts(self.contexts.codes[terms.rows[term]])
        answer = coded.held_as(terms.asked[query], who)
        slots = np.concatenate([terms.held[query], answer[:, None]], axis=1)  # of the fact
        all_of_it = (coded.held_as(role, who), known, second)
        there = [(one == 0) | (slots == one[:, None]).any(axis=1) for one in all_of_it]
        return np.asarray(there[0] & there[1] & there[2])
