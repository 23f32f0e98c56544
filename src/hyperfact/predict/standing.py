"""A run as it stands: what training left, and the facts that were added since."""

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Self

from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import member, settings_of
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import Splits
from hyperfact.graph.joining import SUPPORT, Joined
from hyperfact.graph.labels import Labels
from hyperfact.models.transeq import TransEQ
from hyperfact.predict.additions import Addition, FactLike, addition_of, read_facts
from hyperfact.predict.ground import Ground
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.loading import LoadedRun
from hyperfact.predict.scoring import Scorer
from hyperfact.runs.artifacts import Stored
from hyperfact.runs.build import training_facts
from hyperfact.runs.extensions import TABLES


class Standing:
    """What a predictor answers from; facts may join and leave, weights stay.

    Args:
        config: Of the run.
        splits: The facts of the run, all splits.
        scorer: Decoder and representations.
        loaded: What else the run directory holds, if it comes from one.
        model: The whole model, if it is in memory already.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        splits: Splits,
        *,
        scorer: Scorer,
        loaded: LoadedRun | None = None,
        model: TransEQ | None = None,
    ) -> None:
        self.config, self._loaded = config, loaded
        train, partial = training_facts(config, splits), config.objective.partial > 0
        knowledge = Knowledge(splits, train, partial=partial)
        make = self._model if model is None else lambda: model
        configs = (config,) if loaded is None else loaded.configs
        self._trained = Ground(splits, knowledge, scorer, configs, make)
        self._support = frozenset(splits.get(SUPPORT, ()))
        self._base = self._trained
        if self._support:
            self._base = self._trained.with_facts(self._joined([]))
        self._ground, self._added = self._base, frozenset[Fact]()

    @property
    def splits(self) -> Splits:
        """The facts of the run; those that were added are a split of their own."""
        return self._ground.splits

    @property
    def scorer(self) -> Scorer:
        """Decoder and representations."""
        return self._ground.scorer

    @property
    def knowledge(self) -> Knowledge:
        """What the facts say."""
        return self._ground.knowledge

    @property
    def entities(self) -> Vocabulary:
        """The names of all entities."""
        return self.splits.entities

    @property
    def relations(self) -> Vocabulary:
        """The names of all relations and attributes."""
        return self.splits.relations

    @property
    def labels(self) -> Labels:
        """How names are shown, and found by what they are called."""
        return self.splits.labels

    @property
    def stored(self) -> Stored | None:
        """What the run directory holds, if there is one."""
        return None if self._loaded is None else self._loaded.stored

    @property
    def path(self) -> Path | None:
        """The run directory, if there is one."""
        return None if self._loaded is None else self._loaded.stored.path

    @property
    def model(self) -> TransEQ:
        """The whole model with its encoder; built when first needed, for explanations."""
        return self._ground.model

    def _model(self) -> TransEQ:
        assert self._loaded is not None, "a predictor without a model comes from a directory"
        return self._loaded.model()

    @property
    def takes_new_relations(self) -> bool:
        """Whether facts that are added may have relations that training did not show."""
        table = TABLES["encoder"]
        sections = [config.encoder for config in self._trained.configs]
        return all(
            member(table, "encoder", section.name).takes_new_relations(
                settings_of(table, "encoder", section)
            )
            for section in sections
        )

    # -- further facts ----------------------------------------------------------------------------

    @property
    def added(self) -> frozenset[Fact]:
        """The facts that were added, and count as known."""
        return self._added

    def add(self, facts: FactLike | Iterable[FactLike]) -> Addition:
        """Let facts count as true: the encoder hears them, and no weight changes.

        Args:
            facts: By name or label, or as text; entities may be new, and relations where the
                encoder knows them by what they connect (ingram).

        Raises:
            UserError: Something is wrong with one of them; then nothing has changed.
        """
        given = self._read(facts)
        joined = self._joined([*self._added, *given])
        now, new = (
            frozenset(joined.added) - self._support,
            joined.entities[len(self._trained.splits.entities) :],
        )
        addition = addition_of(now - self._added, len(given), new, self.entities)
        relations = joined.graph.relations[len(self.relations) :]
        addition = replace(addition, relations=tuple(relations))
        self._stand_on(joined, now)
        return addition

    def remove(self, facts: FactLike | Iterable[FactLike] | None = None) -> int:
        """Take back what was added, exactly as if it had never been: these facts, or all.

        Returns:
            How many facts were there to take back.
        """
        gone = self._added if facts is None else self._added & self._read(facts)
        now = self._added - gone
        self._stand_on(self._joined(now), now)
        return len(gone)

    def _read(self, facts: FactLike | Iterable[FactLike]) -> set[Fact]:
        return set(read_facts(facts, self.splits, new_relations=self.takes_new_relations))

    def given(self, facts: FactLike | Iterable[FactLike]) -> Self:
        """Another predictor that also knows these facts; this one stays as it is."""
        other = copy(self)
        other.add(facts)
        return other

    def _joined(self, facts: Iterable[Fact]) -> Joined:
        """What training had, the support facts of the dataset, and these."""
        return self._trained.joined_with([*self._support, *facts])

    def _stand_on(self, joined: Joined, added: frozenset[Fact]) -> None:
        """Answer from these facts from now on."""
        if added == self._added:
            return
        ground = self._trained.with_facts(joined) if added else self._base
        self._ground, self._added = ground, added
