"""Profiles: what else is known of an end speaks for the other end of a fact.

Who plays for a club of Milan is likely to live in Milan. For the object of a relation (and likewise
for its subject) each other step from the known end, such as "plays for Inter", has seen some
answers: those of everybody else who makes this step. An answer's share of them is its confidence.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hyperfact.graph.chains import Steps
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, find, offsets_of, owners_of, places_of

_STEPS = 64  # of an end; who makes more has no profile
_COUNT = 2  # facts that agree; one alone can only speak for itself
_DOUBT = 5.0  # facts that are taken to disagree, beside those that do
_LEAST = 0.01  # confidence that is worth storing


@dataclass(frozen=True)
class Profiles:
    """For each head and step of its known end the answers that others have given."""

    steps: Steps
    links: Places  # (links,) rising, a head and the kind of a step as one number
    starts: Places  # (rows,) rising, a link and where the step leads as one number
    totals: Places  # (rows,) facts
    ends: Places  # (rows + 1,)
    who: Places  # (entries,) answers
    counts: Places  # (entries,) of these facts

    @classmethod
    def of(cls, hkg: HKG) -> "Profiles":
        """Count these facts."""
        steps = Steps.of(hkg)
        kinds, width = 2 * steps.relations, steps.entities + 1
        offsets = steps.offsets
        few = np.diff(offsets)[steps.source] <= _STEPS
        head = np.flatnonzero(few)  # each step as what is asked, and as what is known
        sizes = np.diff(offsets)[steps.source[head]]
        other = places_of(offsets, steps.source[head])
        head = np.repeat(head, sizes)
        head, other = head[head != other], other[head != other]
        link = steps.kind[head] * kinds + steps.kind[other]
        codes = (link * width + steps.target[other]) * width + steps.target[head]
        codes, counts = np.unique(codes, return_counts=True)
        rows, who = np.divmod(codes, width)
        starts, first = np.unique(rows, return_index=True)
        totals = np.add.reduceat(counts, first) if len(first) else counts
        trust = counts / (np.repeat(totals, np.diff(np.append(first, len(rows)))) + _DOUBT)
        good = (counts >= _COUNT) & (trust >= _LEAST)
        rows, who, counts = rows[good], who[good], counts[good]
        kept, sizes = np.unique(rows, return_counts=True)
        totals = totals[find(starts, kept)[0]]
        links, number = np.unique(kept // width, return_inverse=True)
        starts = number * width + kept % width
        return cls(steps, links, starts, totals, offsets_of(sizes), who, counts)

    def over(self, hkg: HKG) -> "Profiles":
        """The same links, over other facts."""
        other, width = Profiles.of(hkg), len(hkg.entities) + 1
        at, there = find(self.links, other.links[other.starts // width])
        size = np.diff(other.ends)
        keep = np.repeat(there, size)
        return Profiles(
            other.steps,
            self.links,
            at[there] * width + other.starts[there] % width,
            other.totals[there],
            offsets_of(size[there]),
            other.who[keep],
            other.counts[keep],
        )

    def confidence(self, entries: Array, *, less: int = 0) -> Array:  # (entries,)
        """The share of these answers, with so many facts less for each."""
        totals = self.totals[self._rows[entries]]
        return np.asarray((self.counts[entries] - less) / (totals - less + _DOUBT))

    def step(self, row: int) -> tuple[int, int]:
        """The step of a row: its kind, and where it leads."""
        link, entity = divmod(int(self.starts[row]), self.steps.entities + 1)
        return int(self.links[link]) % (2 * self.steps.relations), entity

    def siblings(self, rows: Places) -> Places:
        """For rows of steps that answer the question themselves who is answered; else -1."""
        link, entity = np.divmod(self.starts[rows], self.steps.entities + 1)
        head, kind = np.divmod(self.links[link], 2 * self.steps.relations)
        return np.where(head == kind, entity, -1)

    def entries(self, rows: Places, who: Places) -> tuple[Places, Array]:
        """The entry of each answer in each of these rows, and whether there is one."""
        width = self.steps.entities + 1
        return find(self._entry_codes, rows * width + who)

    @cached_property
    def _rows(self) -> Places:
        return owners_of(self.ends)

    @cached_property
    def _entry_codes(self) -> Places:
        return np.asarray(self._rows * (self.steps.entities + 1) + self.who)

    def find(self, heads: Array, entities: Array) -> tuple[Places, Places, Places]:
        """What speaks for candidates: which question, the row and the link.

        Args:
            heads: Of each question: the relation, or relations + it where the subject is asked.
            entities: The other end.
        """
        kinds, width = 2 * self.steps.relations, self.steps.entities + 1
        offsets = self.steps.offsets
        sizes = np.diff(offsets)[entities]
        mine = np.flatnonzero(sizes <= _STEPS)
        step = places_of(offsets, entities[mine])
        owner = np.repeat(mine, sizes[mine])
        link, there = find(self.links, heads[owner] * kinds + self.steps.kind[step])
        owner, link, step = owner[there], link[there], step[there]
        row, there = find(self.starts, link * width + self.steps.target[step])
        return owner[there], row[there], link[there]
