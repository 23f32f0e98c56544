"""Predictor: a trained run that answers questions."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from hyperfact.config import ExperimentConfig
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import Splits
from hyperfact.models.transeq import TransEQ
from hyperfact.predict.answers import Answers, Known, Request
from hyperfact.predict.cache import Sidecar
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.candidates import Place, place_among, rank, refuse_unusable
from hyperfact.predict.fitting import Kind, fit_kind, scores_of
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.loading import Parts, read_parts
from hyperfact.predict.questions import AnyQuestion, Asked, ids_of, read_any
from hyperfact.predict.scoring import Scorer
from hyperfact.runs.artifacts import Stored
from hyperfact.runs.build import build, training_facts
from hyperfact.runs.run import Run, representations

_CELLS = 2**24  # scores that exist at once: 64 MB in float32
_READ = 8192  # questions read ahead, among which equal ones are scored once
_NONE = float("-inf")


class Predictor:
    """Answers questions with the representations that training left; nothing is encoded again.

    Args:
        config: Of the run.
        splits: The facts of the run, all splits.
        scorer: Decoder and representations.
        parts: What else the run directory holds, if it comes from one.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        splits: Splits,
        *,
        scorer: Scorer,
        parts: Parts | None = None,
        model: TransEQ | None = None,
    ) -> None:
        self.config, self.splits, self.scorer = config, splits, scorer
        self.knowledge = Knowledge(splits, training_facts(config, splits))
        self._parts, self._model = parts, model
        self._calibrations: dict[Kind, Calibration | None] = {}

    @classmethod
    def load(
        cls, path: Path | str, *, splits: Splits | None = None, data_dir: Path | None = None
    ) -> "Predictor":
        """Read a run directory.

        Args:
            path: The run directory.
            splits: Its facts, if they are loaded already.
            data_dir: Where benchmarks lie, if not where they lay then.
        """
        parts = read_parts(Path(path), splits=splits, data_dir=data_dir)
        return cls(parts.config, parts.splits, scorer=parts.scorer, parts=parts)

    @classmethod
    def of(cls, run: Run) -> "Predictor":
        """From a run in memory."""
        z = representations(run.model)
        scorer = Scorer(run.model.decoder.eval(), z, run.model.precision)
        return cls(run.config, run.splits, scorer=scorer, model=run.model)

    def __repr__(self) -> str:
        return (
            f"Predictor({self.splits.name}: {self.config.encoder.name} + "
            f"{self.config.decoder.name}, {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations)"
        )

    @property
    def entities(self) -> Vocabulary:
        """The names of all entities."""
        return self.splits.entities

    @property
    def relations(self) -> Vocabulary:
        """The names of all relations and attributes."""
        return self.splits.relations

    @property
    def stored(self) -> Stored | None:
        """What the run directory holds, if there is one."""
        return None if self._parts is None else self._parts.stored

    @property
    def path(self) -> Path | None:
        """The run directory, if there is one."""
        return None if self._parts is None else self._parts.stored.path

    @cached_property
    def model(self) -> TransEQ:
        """The whole model with its encoder; built when first needed, for explanations."""
        if self._model is not None:
            return self._model
        assert self._parts is not None, "a predictor without a model comes from a directory"
        model = build(self.config, self.knowledge.train, torch.Generator().manual_seed(0))
        self._parts.load_into(model)
        return model.eval()

    def calibration(self, kind: Kind = "entity") -> Calibration | None:
        """From scores to probabilities, for one kind; fitted once, and kept beside the run.

        None: there are too few validation facts that training did not see.
        """
        if kind not in self._calibrations:
            sidecar = self._sidecar
            kept = (None if sidecar is None else sidecar.calibration()) or {}
            if kind not in kept or not (kept[kind] is None or Calibration.is_one(kept[kind])):
                valid = self.splits.valid if self.config.data.train_on == "train" else None
                scorer, known = self.scorer, self.knowledge
                found = None if not valid else fit_kind(kind, scorer, known, valid)
                kept[kind] = None if found is None else found.as_dict()
                if sidecar is not None:
                    sidecar.keep_calibration(kept)
            value = kept[kind]
            self._calibrations[kind] = None if value is None else Calibration.from_dict(value)
        return self._calibrations[kind]

    @property
    def _sidecar(self) -> Sidecar | None:
        return None if self._parts is None else self._parts.sidecar

    # -- questions --------------------------------------------------------------------------------

    def look_up(self, question: str | AnyQuestion) -> tuple[AnyQuestion, Asked]:
        """A question with names and with ids.

        Raises:
            FactSyntaxError: Text that is no question.
            UnknownNameError: A name that the run does not know; says the nearest.
        """
        read = read_any(question) if isinstance(question, str) else question
        return read, ids_of(read, self.entities, self.relations)

    def ask(
        self,
        question: str | AnyQuestion,
        k: int = 10,
        *,
        known: Known = "mark",
        restrict_range: bool = False,
    ) -> Answers:
        """The k best answers.

        Args:
            question: `s | r | ? | a = v`, with the blank anywhere; or the same as an object.
            k: How many answers at most.
            known: `mark` known answers; `remove` them from the candidates; `hide` them from the
                list, while they keep their share of the probability; or list `only` them.
            restrict_range: Only candidates that training facts show in the asked role.
        """
        request = Request(k, known, restrict_range)
        return self._answer([self.look_up(question)], request)[0]

    def ask_many(
        self,
        questions: Iterable[str | AnyQuestion],
        k: int = 10,
        *,
        known: Known = "mark",
        restrict_range: bool = False,
    ) -> Iterator[Answers]:
        """Answers in the order of the questions; equal questions near each other cost once."""
        request, stream = Request(k, known, restrict_range), iter(questions)
        while some := [self.look_up(question) for question in islice(stream, _READ)]:
            yield from self.answer(some, request)

    def answer(
        self, questions: Sequence[tuple[AnyQuestion, Asked]], request: Request
    ) -> list[Answers]:
        """Answers of questions that are looked up already, each different one scored once."""
        unique: dict[Asked, int] = {}
        for _, asked in questions:
            unique.setdefault(asked, len(unique))
        first = {unique[asked]: (question, asked) for question, asked in reversed(questions)}
        order = sorted(first, key=lambda i: (first[i][1].is_relation, len(first[i][1].entities)))
        found: dict[int, Answers] = {}
        rows = max(1, _CELLS // max(1, len(self.entities)))
        for kind in (False, True):
            members = [i for i in order if first[i][1].is_relation == kind]
            for start in range(0, len(members), rows):
                part = members[start : start + rows]
                answers = self._answer([first[i] for i in part], request)
                found.update(zip(part, answers, strict=True))
        return [found[unique[asked]] for _, asked in questions]

    def place(self, question: str | AnyQuestion, answer: str) -> Place:
        """Where one answer stands, under the protocol of `evaluate`."""
        _, asked = self.look_up(question)
        return self.place_in(asked, self.scores(asked), self.candidate(asked, answer))

    def candidate(self, asked: Asked, name: str) -> int:
        """The id of a name of the kind that is asked for."""
        if asked.is_relation:
            return self.relations.id(name, "relation")
        return self.entities.id(name, "entity")

    def scores(self, asked: Asked) -> Tensor:  # (candidates,)
        """The score of every entity, or of every relation, whichever is asked for."""
        return scores_of(self.scorer, self.knowledge, [asked])[0]

    def place_in(self, asked: Asked, scores: Tensor, answer: int) -> Place:
        """Where an answer stands among these scores."""  # (candidates,)
        known = self.knowledge.known([asked]).ids
        return place_among(scores, answer, known=known, fitted=self._fitted(asked))

    # -- one chunk --------------------------------------------------------------------------------

    def _fitted(self, asked: Asked) -> Calibration | None:
        return self.calibration("relation" if asked.is_relation else "entity")

    def _answer(
        self, questions: Sequence[tuple[AnyQuestion, Asked]], request: Request
    ) -> list[Answers]:
        """Answers of questions of one kind, all scored at once."""
        asked = [a for _, a in questions]
        scores = scores_of(self.scorer, self.knowledge, asked)  # (questions, candidates)
        refuse_unusable(scores)
        known = self.knowledge.known(asked)
        if request.restrict_range:
            self._restrict(scores, asked)
        relation = asked[0].is_relation
        return rank(
            [question for question, _ in questions],
            scores,
            known,
            names=self.relations if relation else self.entities,
            request=request,
            fitted=self._fitted(asked[0]),
        )

    def _restrict(self, scores: Tensor, asked: Sequence[Asked]) -> None:
        """Forbid the candidates that were never seen in the asked role."""
        rows: dict[tuple[int, int], list[int]] = {}
        for row, question in enumerate(asked):
            role = (-1, question.relations[0]) if question.is_relation else question.role
            rows.setdefault(role, []).append(row)
        for members in rows.values():
            outside = ~self.knowledge.in_range(asked[members[0]])
            scores[members] = scores[members].masked_fill(outside, _NONE)
