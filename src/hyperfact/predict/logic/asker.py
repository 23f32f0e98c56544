"""Ask a run queries: names to ids, the solver, and its answers back to names."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, islice

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.language.formula import Query
from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.program import Form, Program, compiled
from hyperfact.predict.logic.query_rows import Rows
from hyperfact.predict.logic.replying import Evidence, QueryAnswer, QueryAnswers, fact_of
from hyperfact.predict.logic.solving import Solver
from hyperfact.predict.logic.truths import Observed, RunTruths, Truths
from hyperfact.predict.logic.witnesses import FoundFact, Witnesses
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

    def freely(self) -> "Asker":
        """The same, with everybody allowed in every slot."""
        other = Asker(self.predictor, restrict_range=False, splits=self._splits)
        other.__dict__["observed"] = self.observed  # what is known is indexed once
        return other

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
        wanted = replace(effort or Effort(), k=k)
        solver, rows = Solver(self.truths, program.form, wanted), Rows.of([program])
        truth = solver.solve(rows, 0).expand(1, self.truths.size)
        ids, values = top(truth, k)  # (1, k)
        ids, values = ids[0][values[0] > 0], values[0][values[0] > 0]
        witnesses = Witnesses(Solver(self.truths, program.form, wanted))  # with a time of its own
        full = replace(rows.take(torch.zeros_like(ids)), values=witnesses.of(rows, ids))
        facts = witnesses.facts(full)
        if witnesses.solver.cuts.late:  # half a choice would be none
            full, facts = rows.take(torch.zeros_like(ids)).choose(0, ids), [[] for _ in ids]
            solver.cuts.late = True
        answers = self._answers(program, values.tolist(), full.values.tolist(), facts)
        return QueryAnswers(
            program.query,
            self.predictor.labels,
            tuple(answers),
            int((truth > 0).sum()),
            wanted.logic,
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

    def _evidence(self, program: Program, facts: Sequence[FoundFact]) -> list[Evidence]:
        """Facts by name, with the splits that hold them."""
        places = [i for i, fact in enumerate(facts) if fact.truth is not None]
        where = [()] * len(facts) if not places else self._where([facts[i] for i in places])
        splits = dict(zip(places, where, strict=False))
        names, relations = self.predictor.entities, self.predictor.relations
        found = []
        for place, fact in enumerate(facts):
            shown = [
                names[entity] if entity != BLANK_ID else str(program.names[column])
                for entity, column in zip(fact.entities, fact.leaf.slots, strict=True)
            ]
            whole = fact_of(shown, [relations[r] for r in fact.relations])
            label, known = self.predictor.labels.fact(whole), splits.get(place, ())
            found.append(Evidence(str(whole), label, fact.denied, fact.truth, known))
        return found

    def _where(self, facts: Sequence[FoundFact]) -> list[tuple[str, ...]]:
        known = self.predictor.knowledge.known([fact.question for fact in facts])
        rows = np.arange(len(facts), dtype=np.int64)
        return known.where(rows, np.array([fact.answer for fact in facts], dtype=np.int64))

    def _answers(
        self,
        program: Program,
        truths: Sequence[float],
        values: list[list[int]],
        facts: Sequence[Sequence[FoundFact]],
    ) -> Iterator[QueryAnswer]:
        names, labels = self.predictor.entities, self.predictor.labels
        evidence = iter(self._evidence(program, [fact for some in facts for fact in some]))
        for i, (truth, row) in enumerate(zip(truths, values, strict=True)):
            others = zip(program.names[1:], row[1 : len(program.names)], strict=True)
            chosen = tuple((v.name, names[e]) for v, e in others if e != BLANK_ID)
            own = tuple(islice(evidence, len(facts[i])))
            name = names[row[0]]
            yield QueryAnswer(i + 1, name, labels.show(name), truth, chosen, own)


def _cuts(solver: Solver, program: Program) -> Iterator[str]:
    """What was left out, a line each."""
    if solver.cuts.late:
        yield f"the {solver.effort.seconds:g} seconds were over before everything was tried"
    for column, (tried, of) in solver.cuts.beams.items():
        yield (
            f"{program.names[column]}: predicted facts of the best {tried:,} of {of:,} candidates; "
            "known facts of all"
        )
