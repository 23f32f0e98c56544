"""Ask a run queries: names to ids, the solver, and its answers back to names."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.language.formula import Query
from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.program import Form, Program, compiled
from hyperfact.predict.logic.replying import Evidence, QueryAnswer, QueryAnswers, fact_of
from hyperfact.predict.logic.solving import Rows, Solver
from hyperfact.predict.logic.truths import Observed, RunTruths, Truths
from hyperfact.predict.logic.witnesses import FactTruth, Witnesses
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.scoring import top

_CELLS = 2**23  # truths of queries that are answered side by side


class Asker:
    """A run that answers queries.

    Args:
        predictor: Of the run.
        restrict_range: Whether only those may stand in a slot whom known facts show there.
        splits: Whose facts are known; None: those of all splits.
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        restrict_range: bool = True,
        splits: Sequence[str] | None = None,
    ) -> None:
        self.predictor, self.restrict_range = predictor, restrict_range
        self._splits = splits

    @cached_property
    def observed(self) -> Observed:
        """What is known."""
        every = self.predictor.splits
        if self._splits is None:
            return Observed(every)
        return Observed(replace(every, parts={n: every[n] for n in self._splits if n in every}))

    @cached_property
    def truths(self) -> Truths:
        """How true facts are."""
        return RunTruths(
            self.predictor.scorer,
            self.observed,
            self.predictor.calibration_of,
            restrict_range=self.restrict_range,
        )

    def compiled(self, query: Query | str) -> Program:
        """A query with the ids of its names.

        Raises:
            QuerySyntaxError: Text that is no query.
            UnknownNameError: A name that the run does not know; says the nearest.
        """
        read = any_query(query) if isinstance(query, str) else query
        run = self.predictor
        return compiled(read, run.entities, run.relations, run.labels)

    def ask(self, query: Query | str, k: int = 10, effort: Effort | None = None) -> QueryAnswers:
        """The k best answers, with who stands for the other variables."""
        program = self.compiled(query)
        solver = Solver(self.truths, program.form, effort or Effort())
        rows = Rows.of([program])
        truth = solver.solve(rows, 0).expand(1, self.truths.size)
        ids, values = top(truth, k)  # (1, k)
        ids, values = ids[0][values[0] > 0], values[0][values[0] > 0]
        witnesses = Witnesses(solver)
        full = replace(rows.take(torch.zeros_like(ids)), values=witnesses.of(rows, ids))
        facts = witnesses.facts(full)
        answers = [
            self._answer(program, rank, full.values[rank - 1].tolist(), truth, facts[rank - 1])
            for rank, truth in enumerate(values.tolist(), start=1)
        ]
        return QueryAnswers(
            program.query,
            self.predictor.labels,
            tuple(answers),
            int((truth > 0).sum()),
            solver.effort.logic,
            calibrated=self.predictor.calibration() is not None,
            cuts=tuple(_cuts(solver, program)),
        )

    def truth_rows(
        self, programs: Sequence[Program], effort: Effort | None = None
    ) -> Iterator[tuple[list[int], Tensor]]:
        """The truth of every entity for many queries: those of one form side by side.

        Yields:
            The places of some queries, and their truths.  # (queries, entities)
        """
        each = max(1, _CELLS // max(1, self.truths.size))

        def form(place: int) -> int:
            return numbers[programs[place].form]

        numbers: dict[Form, int] = {}
        for program in programs:
            numbers.setdefault(program.form, len(numbers))
        for _, group in groupby(sorted(range(len(programs)), key=form), key=form):
            places = list(group)
            for start in range(0, len(places), each):
                some = places[start : start + each]
                solver = Solver(self.truths, programs[some[0]].form, effort or Effort())
                rows = Rows.of([programs[place] for place in some])
                yield some, solver.solve(rows, 0).expand(len(some), self.truths.size)

    # -- back to names ----------------------------------------------------------------------------

    def _answer(
        self,
        program: Program,
        rank: int,
        values: list[int],
        truth: float,
        facts: Sequence[FactTruth],
    ) -> QueryAnswer:
        names, labels = self.predictor.entities, self.predictor.labels
        others = zip(program.names[1:], values[1 : len(program.names)], strict=True)
        chosen = tuple((v.name, names[i]) for v, i in others if i != BLANK_ID)
        evidence = tuple(self._evidence(program, fact) for fact in facts)
        name = names[values[0]]
        return QueryAnswer(rank, name, labels.show(name), truth, chosen, evidence)

    def _evidence(self, program: Program, fact: FactTruth) -> Evidence:
        names, relations = self.predictor.entities, self.predictor.relations
        shown = [
            names[entity] if entity != BLANK_ID else str(program.names[column])
            for entity, column in zip(fact.entities, fact.leaf.slots, strict=True)
        ]
        whole = fact_of(shown, [relations[r] for r in fact.relations])
        where: tuple[str, ...] = ()
        if fact.truth is not None:
            (where,) = self.observed.known([fact.question]).where(
                np.zeros(1, dtype=np.int64), np.array([fact.answer])
            )
        label = self.predictor.labels.fact(whole)
        return Evidence(str(whole), label, fact.denied, fact.truth, where)


def _cuts(solver: Solver, program: Program) -> Iterator[str]:
    """What was left out, a line each."""
    for column, (tried, of) in solver.cuts.late.items():
        yield f"{program.names[column]}: the time was over after {tried:,} of {of:,} candidates"
    for column, (tried, of) in solver.cuts.beams.items():
        yield (
            f"{program.names[column]}: predicted facts of the best {tried:,} of {of:,} candidates; "
            "known facts of all"
        )
