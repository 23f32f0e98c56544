"""What answers stand on: facts, vectors and known answers; what training left, or that and more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation import evaluating
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import Splits
from hyperfact.graph.joining import Joined, join, with_added
from hyperfact.models.transeq import TransEQ
from hyperfact.predict.additions import check_size
from hyperfact.predict.grown_knowledge import GrownKnowledge
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.scoring import Scorer
from hyperfact.runs.enlarge import Listener, can_listen, enlarged, enlarged_decoder


@dataclass(frozen=True)
class Ground:
    """A state of a predictor; another one is made, and none changes."""

    splits: Splits
    knowledge: Knowledge
    scorer: Scorer
    configs: tuple[ExperimentConfig, ...]  # of the run, or of the members of an ensemble
    make: Callable[[], TransEQ]  # the whole model

    @cached_property
    def model(self) -> TransEQ:
        """The whole model with its encoder; built when first needed."""
        return self.make()

    def joined_with(self, facts: Sequence[Fact]) -> Joined:
        """The facts of the encoder's graph with these behind them.

        Raises:
            UserError: Too many, or too many new names.
        """
        joined = join(self.knowledge.train, facts)
        check_size(len(joined.added), len(joined.entities) - len(self.splits.entities))
        return joined

    def with_facts(self, joined: Joined) -> "Ground":
        """The same weights over the larger graph.

        Args:
            joined: The facts of the encoder's graph, and those that join them.
        """
        configs = self.configs
        splits = with_added(self.splits, joined)
        knowledge = self._knowledge(splits, joined)
        if not can_listen(self.model, configs[0]):
            model = enlarged(self.model, configs, joined)
            with evaluating(model):
                z = model.encode()
            scorer = replace(self.scorer, decoder=model.decoder, z=z, evidence=model.evidence)
            return Ground(splits, knowledge, scorer, configs, lambda: model)
        z = self._listener.hear(joined)
        decoder = enlarged_decoder(self.scorer.decoder, configs[0], len(joined.entities))
        counted = self.scorer.evidence
        evidence = None if counted is None else counted.over(joined.graph)
        scorer = replace(self.scorer, decoder=decoder, z=z, evidence=evidence)
        make = partial(enlarged, self.model, configs, joined)
        return Ground(splits, knowledge, scorer, configs, make)

    def _knowledge(self, splits: Splits, joined: Joined) -> Knowledge:
        """What is known of these facts; indexes are kept where relations have kept their number."""
        if len(splits.relations) > len(self.splits.relations):
            return Knowledge(splits, joined.graph, partial=self.knowledge.partial)
        return GrownKnowledge(self.knowledge, splits, joined)

    @cached_property
    def _listener(self) -> Listener:
        """What hears further facts; made when the first join."""
        model, z = self.model.eval(), self.scorer.z
        return Listener(model, self.configs[0], z, self.knowledge.train)
