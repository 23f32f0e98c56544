"""Predictor: a trained run that answers questions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np

from hyperfact.data.label_files import read_labels
from hyperfact.graph.hkg import Splits
from hyperfact.graph.labels import Kind
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.predict.answers import Answers, Estimate, Known, Request
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.candidates import rank, scores_of
from hyperfact.predict.estimates import Estimator
from hyperfact.predict.fitting import METHOD, entity_questions, fit_kind, kind_of
from hyperfact.predict.fitting import Kind as Fitted
from hyperfact.predict.loading import load_run
from hyperfact.predict.near import MEASURED, WIDTH, Near
from hyperfact.predict.places import FilteredRanking, ListRanking, Place
from hyperfact.predict.questions import (
    AnyQuestion,
    QuestionIds,
    ResolvedQuestion,
    read_any,
    renamed,
)
from hyperfact.predict.scoring import Scorer
from hyperfact.predict.standing import Standing
from hyperfact.runs.run import Run, representations

_CELLS = 2**24  # scores that exist at once: 64 MB in float32
_READ = 8192  # questions read ahead, among which equal ones are scored once

#: A question in any form: text, names, or names with their ids.
QuestionLike = str | AnyQuestion | ResolvedQuestion


class Predictor(Standing):
    """Answers questions with the representations that training left; nothing is encoded again.

    Args:
        config: Of the run.
        splits: The facts of the run, all splits.
        scorer: Decoder and representations.
        loaded: What else the run directory holds, if it comes from one.
        model: The whole model, if it is in memory already.
    """

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        splits: Splits | None = None,
        data_dir: Path | None = None,
        labels: Path | str | None = None,
    ) -> "Predictor":
        """Read a run directory.

        Args:
            path: The run directory.
            splits: Its facts, if they are loaded already.
            data_dir: Where benchmarks lie, if not where they lay then.
            labels: A file with a label for each id, over those that the run has.
        """
        run = load_run(Path(path), splits=splits, data_dir=data_dir)
        facts = run.splits if labels is None else run.splits.with_labels(read_labels(labels))
        predictor = cls(run.config, facts, scorer=run.scorer, loaded=run)
        predictor.add(run.stored.added)
        return predictor

    @classmethod
    def of(cls, run: Run) -> "Predictor":
        """From a run in memory."""
        z = representations(run.model)
        model = run.model
        scorer = Scorer(model.decoder.eval(), z, model.precision, model.evidence)
        return cls(run.config, run.splits, scorer=scorer, model=run.model)

    def __repr__(self) -> str:
        return (
            f"Predictor({self.splits.name}: {self.config.encoder.name} + "
            f"{self.config.decoder.name}, {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations)"
        )

    def calibration(self, kind: Fitted = "entity") -> Calibration | None:
        """From scores to probabilities, for one kind; fitted once, and kept with the run.

        None: there are too few validation facts that training did not see.

        Args:
            kind: Questions for an `entity` that say as much as facts do; `partial` ones, that leave
                qualifiers out; or those for a `relation` or an attribute.
        """
        if kind not in self._calibrations:
            cache = None if self._loaded is None else self._loaded.cache
            kept = {} if cache is None else cache.calibration(METHOD)
            if kind not in kept or not (kept[kind] is None or Calibration.is_one(kept[kind])):
                valid = self.splits.valid if self.config.data.train_on == "train" else None
                scorer, known = self._base.scorer, self._base.knowledge
                found = None if not valid else fit_kind(kind, scorer, known, valid)
                kept[kind] = None if found is None else found.as_dict()
                if cache is not None:
                    cache.keep_calibration(METHOD, kept)
            value = kept[kind]
            self._calibrations[kind] = None if value is None else Calibration.from_dict(value)
        return self._calibrations[kind]

    @cached_property
    def _calibrations(self) -> dict[Fitted, Calibration | None]:
        """Those that were fitted or read; all by what training left, whatever was added."""
        return {}

    # -- questions --------------------------------------------------------------------------------

    def resolve(self, question: QuestionLike) -> ResolvedQuestion:
        """A question with the ids of its names; one that has them stays as it is.

        Raises:
            FactSyntaxError: Text that is no question.
            UnknownNameError: A name that the run does not know; says the nearest.
            UserError: A label that several names have; says which.
        """
        if isinstance(question, ResolvedQuestion):
            return question
        read = read_any(question) if isinstance(question, str) else question
        read = renamed(read, self.labels)
        return ResolvedQuestion.by_name(read, self.entities, self.relations)

    def ask(
        self,
        question: QuestionLike,
        k: int = 10,
        *,
        known: Known = "mark",
        restrict_range: bool = True,
    ) -> Answers:
        """The k best answers.

        Args:
            question: `s | r | ? | a = v`, with the blank anywhere; or the same as an object.
            k: How many answers at most.
            known: `mark` known answers; `remove` them from the candidates; `hide` them from the
                list, while they keep their share of the probability; or list `only` them.
            restrict_range: Only candidates that training facts show in the asked role; everybody
                if they show nobody there.
        """
        return self.answer([question], Request(k, known, restrict_range))[0]

    def ask_many(
        self,
        questions: Iterable[QuestionLike],
        k: int = 10,
        *,
        known: Known = "mark",
        restrict_range: bool = True,
    ) -> Iterator[Answers]:
        """Answers in the order of the questions; equal questions near each other cost once."""
        request, stream = Request(k, known, restrict_range), iter(questions)
        while some := list(islice(stream, _READ)):
            yield from self.answer(some, request)

    def answer(self, questions: Sequence[QuestionLike], request: Request) -> list[Answers]:
        """Answers in the order of the questions; every way to ask leads here.

        Each different question is scored once, together with others of its kind and arity.
        """
        resolved = [self.resolve(question) for question in questions]
        first: dict[QuestionIds, ResolvedQuestion] = {}
        for question in resolved:
            first.setdefault(question.ids, question)
        found: dict[QuestionIds, Answers] = {}
        rows = max(1, _CELLS // max(1, len(self.entities)))
        kinds = {ids: kind_of(ids, self.knowledge) for ids in first}
        for kind in dict.fromkeys(kinds.values()):
            members = [question for ids, question in first.items() if kinds[ids] == kind]
            members.sort(key=lambda question: len(question.ids.entities))
            for start in range(0, len(members), rows):
                for answers in self._answer(members[start : start + rows], request):
                    found[answers.asked.ids] = answers
        return [found[question.ids] for question in resolved]

    def _answer(self, questions: Sequence[ResolvedQuestion], request: Request) -> list[Answers]:
        """Answers of different questions of one kind, all scored at once."""
        ids = [question.ids for question in questions]
        is_exact = self.near is None or request.known == "only" or ids[0].is_relation
        found = (self._exact if is_exact else self._approximate)(questions, request)
        estimator = self._estimator_of_now()
        if estimator is None:
            return found
        return [replace(one, estimating=partial(estimator.answer, one.asked.ids)) for one in found]

    def _approximate(
        self, questions: Sequence[ResolvedQuestion], request: Request
    ) -> list[Answers]:
        """From the index; where too few of those found are in range, everybody is scored."""
        ids = [question.ids for question in questions]
        assert self.near is not None, "approximate answers need an index"
        scores, fitted = (
            self.near.scores(ids, max(WIDTH, 4 * request.k)),
            self.calibration_of(ids[0]),
        )
        found = rank(questions, scores, self.knowledge, request=request, fitted=fitted)
        return [
            answers if len(answers) >= request.k else self._exact([question], request)[0]
            for question, answers in zip(questions, found, strict=True)
        ]

    def _exact(self, questions: Sequence[ResolvedQuestion], request: Request) -> list[Answers]:
        ids = [question.ids for question in questions]
        scores = scores_of(self.scorer, self.knowledge, ids)  # (questions, candidates)
        fitted = self.calibration_of(ids[0])
        return rank(questions, scores, self.knowledge, request=request, fitted=fitted)

    @property
    def near(self) -> Near | None:
        """The index that answers come from, if they are approximate."""
        return self._near if self._near is not None and self._near.scorer is self.scorer else None

    _near: Near | None = None

    def approximate(self) -> float:
        """Answer from an index from now on, where a decoder is linear; measures recall@10.

        Probabilities are then shares among what the index found. Facts that are added later end it.

        Returns:
            The share of the ten best entities that the index finds, on validation (or, without
            them, training) questions.

        Raises:
            UserError: The decoder is not linear in the candidate.
        """
        near = Near(self.scorer)
        facts = self.splits.valid if len(self.splits.valid) else self.splits.train
        rows = np.random.default_rng(0).permutation(len(facts))[:MEASURED]
        questions, _ = entity_questions(facts.select(rows))
        if not self.scorer.fills_values:
            questions = [question for question in questions if question.slot < 2]
        self._near = near
        return near.recall(questions[:MEASURED])

    def estimate(self, question: QuestionLike) -> Estimate | None:
        """The number in the blank, where numbers stand there."""
        estimator = self._estimator_of_now()
        return None if estimator is None else estimator.answer(self.resolve(question).ids)

    def _estimator_of_now(self) -> Estimator | None:
        numbers, scorer = self.numbers, self.scorer
        if numbers is None:
            return None
        if self._estimator is None or self._estimator.scorer is not scorer:
            valid = self.splits.valid if self.config.data.train_on == "train" else None
            train = self._trained.knowledge.train
            self._estimator = Estimator(scorer, train, valid or None, numbers)
        return self._estimator

    _estimator: Estimator | None = None  # of the facts of now

    @property
    def reads_numbers(self) -> bool:
        """Whether the model takes numbers for what they are, not for names."""
        return self.scorer.z.numbers is not None

    @cached_property
    def numbers(self) -> NumberRoles | None:
        """Where numbers stand in training facts; None: nowhere."""
        train = self._trained.knowledge.train
        return NumberRoles.of(train, names=not self.reads_numbers) or None

    def place(self, question: QuestionLike, answer: str) -> Place:
        """Where one answer stands under the protocol of `evaluate`: everybody is a candidate."""
        ids = self.resolve(question).ids
        known, fitted = self.knowledge.known_exactly(ids), self.calibration_of(ids)
        ranking = FilteredRanking(self.answer_id(ids, answer), known, fitted)
        return ranking.place(scores_of(self.scorer, self.knowledge, [ids])[0])

    def list_ranking(self, ids: QuestionIds, answer: int, request: Request) -> ListRanking:
        """How one answer is placed by any scores of this question, as `ask` places it."""
        return ListRanking(ids, answer, self.knowledge, request, self.calibration_of(ids))

    def answer_id(self, ids: QuestionIds, name: str) -> int:
        """The id of a name of the kind that is asked for."""
        kind: Kind = "relation" if ids.is_relation else "entity"
        return self.knowledge.candidates_of(ids).id(self.labels.meant(name, kind), kind)

    def calibration_of(self, ids: QuestionIds) -> Calibration | None:
        """From scores to probabilities, for one question."""
        kind = kind_of(ids, self.knowledge)
        fitted = self.calibration(kind)
        return self.calibration() if fitted is None and kind == "partial" else fitted
