"""Queries drawn from the facts of a dataset, with easy and hard answers kept apart.

A fact of the asked split is put into a random place of the shape, and the other places are filled
with facts that hang together with it. An answer is easy if the known facts make it one, hard if
facts of the asked split are needed; how many of those the shortest proof needs is stored with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.hkg import HKG, Splits, union
from hyperfact.graph.language.formula import And, Atom, Query
from hyperfact.graph.language.query_text import read_query
from hyperfact.predict.logic.drafts import Draft, Incidence, bare, replaced, signed, variables_of
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.program import Form, Program, compiled
from hyperfact.predict.logic.query_rows import Rows
from hyperfact.predict.logic.query_shapes import ALIASES, SHAPES
from hyperfact.predict.logic.solving import Solver
from hyperfact.predict.logic.tnorms import TNorm
from hyperfact.predict.logic.truths import FactTruths, Observed

_BARE = 10  # times as many answers are allowed without qualifiers
_TRIES = 40  # drafts for each query that is wanted, before a shape is given up
_SHARE = 0.5  # truth of a missing fact: a proof with n of them has the truth 0.5 ** n
_LINKS = TNorm(torch.mul, torch.maximum)  # the best branch of an `or` is its proof


@dataclass(frozen=True)
class SampledQuery:
    """A query with its answers by name."""

    id: str
    shape: str
    query: Query
    easy: tuple[str, ...]
    hard: tuple[tuple[str, int], ...]  # with the number of facts that are missing
    twin: str | None = None  # the same with its qualifiers, of a query without them

    @property
    def qualified(self) -> bool:
        """Whether some fact of it has qualifiers."""
        return any(atom.qualifiers for atom in self.query.where.atoms)

    def as_dict(self) -> dict[str, Any]:
        """For a line of JSON."""
        return {
            "id": self.id,
            "shape": self.shape,
            "query": str(self.query),
            "qualified": self.qualified,
            "twin": self.twin,
            "easy": list(self.easy),
            "hard": [{"name": name, "missing": missing} for name, missing in self.hard],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "SampledQuery":
        """The inverse of `as_dict`."""
        hard = tuple((str(one["name"]), int(one["missing"])) for one in value["hard"])
        query, twin = read_query(value["query"]), value.get("twin")
        return cls(value["id"], value["shape"], query, tuple(value["easy"]), hard, twin)


@dataclass(frozen=True)
class Wanted:
    """What is to be drawn."""

    split: str = "test"
    shapes: tuple[str, ...] = tuple(SHAPES)
    count: int = 100  # of each shape
    most: int = 100  # answers of a query
    seed: int = 0

    def __post_init__(self) -> None:
        for shape in self.shapes:
            if shape not in SHAPES:
                raise UnknownNameError("shape", shape, SHAPES)

    @classmethod
    def named(cls, shapes: str | None, **others: int | str) -> "Wanted":
        """With shapes by name, with commas; None: all of them."""
        names = SHAPES if shapes is None else (name.strip() for name in shapes.split(","))
        chosen = tuple(ALIASES.get(name, name) for name in names)
        return cls(shapes=chosen, **others)  # type: ignore[arg-type]  # checked by the command


class Sampler:
    """Draws queries from the facts of a dataset.

    Args:
        splits: The dataset.
        wanted: What to draw.
    """

    def __init__(self, splits: Splits, wanted: Wanted) -> None:
        self.splits, self.wanted = splits, wanted
        asked = splits.get(wanted.split)
        if asked is None or not len(asked):
            raise UserError(f"the dataset has no facts in {wanted.split!r} to ask about")
        self.missing = asked
        known = observed_splits(splits, wanted.split)
        self.observed = Observed(replace(splits, parts=known))
        self.graph = union(self.observed.graph, asked)
        self._hidden = Observed(replace(splits, parts={wanted.split: asked}))
        self._facts_of = Incidence.of(self.graph)

    def draw(self) -> Iterator[SampledQuery]:
        """All of them, shape after shape; each with qualifiers is followed by its bare twin."""
        for shape in self.wanted.shapes:
            rng = np.random.default_rng([self.wanted.seed, *shape.encode()])
            yield from self._shape(shape, rng)

    def _shape(self, shape: str, rng: np.random.Generator) -> Iterator[SampledQuery]:
        form, found = read_query(SHAPES[shape]), 0
        seen: set[str] = set()
        for _ in range(_TRIES):
            drafts = [self._draft(form, rng) for _ in range(max(32, self.wanted.count))]
            fresh = {str(d): d for d in drafts if d is not None and str(d) not in seen}
            seen |= set(fresh)
            without = [bare(query) for query in fresh.values()]
            full = self._answered(list(fresh.values()), self.wanted.most)
            less = self._answered(without, _BARE * self.wanted.most)
            for query, one, other in zip(fresh.values(), full, less, strict=True):
                if one is None or found == self.wanted.count:
                    continue
                name = f"{shape}-{found}"
                whole = SampledQuery(name, shape, query, *one)
                yield whole
                if whole.qualified and other is not None:
                    yield SampledQuery(f"{name}-bare", shape, bare(query), *other, twin=name)
                found += 1
            if found == self.wanted.count:
                return

    # -- drafts -----------------------------------------------------------------------------------

    def _draft(self, form: Query, rng: np.random.Generator) -> Query | None:
        """The shape with names; None where facts did not fit."""
        said, denied = signed(form.where)
        draft, first = Draft(rng), said[rng.integers(len(said))]
        row = int(rng.integers(len(self.missing)))
        if not draft.put(first, row, self.missing):
            return None
        if not self._fill([atom for atom in said if atom is not first], draft):
            return None
        if denied and not self._deny(said, denied, draft):
            return None
        return Query(form.asked, replaced(form.where, draft.facts))

    def _fill(self, atoms: Sequence[Atom], draft: Draft) -> bool:
        """Facts for the other places, one after the other as they hang together."""
        left = list(atoms)
        while left:
            atom = next((atom for atom in left if draft.end(atom) is not None), None)
            if atom is None:
                return False
            row = self._facts_of.draw(draft.names[draft.end(atom) or ""], draft.rng)
            if row is None or not draft.put(atom, row, self.graph):
                return False
            left.remove(atom)
        return True

    def _deny(self, said: Sequence[Atom], denied: Sequence[Atom], draft: Draft) -> bool:
        """What is denied is true of another answer of the rest, else it would say nothing."""
        shared = next(v for v in variables_of(denied) if v in variables_of(said))
        rest = And(tuple(draft.facts[a] for a in said)) if len(said) > 1 else draft.facts[said[0]]
        others = self._truths([self._program(Query(shared, rest))], with_missing=True)[0]
        ids = np.setdiff1d(np.flatnonzero(others.numpy()), [draft.names[shared]])
        if not len(ids):
            return False
        draft.names = {shared: int(draft.rng.choice(ids))}
        return self._fill(denied, draft)

    # -- answers ----------------------------------------------------------------------------------

    def _answered(
        self, queries: Sequence[Query], most: int
    ) -> list[tuple[tuple[str, ...], tuple[tuple[str, int], ...]] | None]:
        """Easy and hard answers; None where there are no hard ones, or too many of both."""
        programs, names = [self._program(query) for query in queries], self.splits.entities
        whole = self._truths(programs, with_missing=True)
        known = self._truths(programs, with_missing=False)
        found: list[tuple[tuple[str, ...], tuple[tuple[str, int], ...]] | None] = []
        for full, less in zip(whole, known, strict=True):
            easy = np.flatnonzero(less.numpy())
            hard = np.setdiff1d(np.flatnonzero(full.numpy()), easy)
            if not len(hard) or len(hard) + len(easy) > most:
                found.append(None)
                continue
            links = torch.log2(1.0 / full[torch.from_numpy(hard)]).round().int().tolist()
            pairs = tuple((names[e], n) for e, n in zip(hard.tolist(), links, strict=True))
            found.append((tuple(names[e] for e in easy.tolist()), pairs))
        return found

    def _program(self, query: Query) -> Program:
        names = self.splits.entities, self.splits.relations
        return compiled(query, *names, self.splits.labels)

    def _truths(self, programs: Sequence[Program], *, with_missing: bool) -> list[torch.Tensor]:
        """The truth of every entity for each query, by facts alone."""
        hidden = self._hidden if with_missing else None
        truths = FactTruths(self.observed, hidden, share=_SHARE)
        each = max(1, 2**22 // max(1, truths.size))
        found: dict[int, torch.Tensor] = {}
        forms: dict[Form, list[int]] = {}
        for place, program in enumerate(programs):
            forms.setdefault(program.form, []).append(place)
        for form, places in forms.items():
            for start in range(0, len(places), each):
                some = places[start : start + each]
                solver = Solver(truths, form, Effort(None))
                solver.norm = _LINKS
                rows = solver.solve(Rows.of([programs[p] for p in some]), 0)
                found |= dict(zip(some, rows.expand(len(some), truths.size), strict=True))
        return [found[place] for place in range(len(programs))]


def observed_splits(splits: Splits, asked: str) -> dict[str, HKG]:
    """What is known when a split is asked about: all that comes before it."""
    before = {"test": ("train", "valid", "aux")}.get(asked, ("train", "aux"))
    return {name: part for name, part in splits.items() if name in before and name != asked}
