"""Filtered ranking of the slots of every fact, by a model (docs/adr/0004).

A query is a fact with one slot blank. Entities are candidates and nothing else is; the score of the
answer comes from the same matrix as those of its rivals.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.evaluation.background import Background
from hyperfact.evaluation.policy import Policy
from hyperfact.evaluation.ranking import Limits, Rivals, Scorer, count_all
from hyperfact.evaluation.ranks import Ranks, check_invariants
from hyperfact.evaluation.result import Evaluation
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import PartialQueries
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ

_GIVEN = {"all": PartialQueries.whole, "half": PartialQueries.half, "none": PartialQueries.bare}
SLOTS = {"all": (0, 1, 2), "so": (0, 1), "subject": (0,), "object": (1,), "value": (2,)}


def evaluate(
    model: TransEQ,
    graph: HKG,
    known: KnownAnswers | Background,
    *,
    policy: Policy | None = None,
    limits: Limits | None = None,
    representations: Representations | None = None,
) -> Evaluation:
    """Rank the answers of `graph` among all entities.

    Args:
        model: Left as it was, also after an error.
        graph: The facts to ask about.
        known: The facts of all splits; with the training facts where policy or slices need them.
        policy: What is asked and how it is ranked.
        limits: How much is scored at once.
        representations: Of the model, if they exist already.

    Raises:
        ConfigError: Slots that the decoder cannot fill.
        NumericalError: A score that is not a finite number.
    """
    policy, decoder = policy or Policy(), model.decoder
    if policy.slots in ("all", "value") and not decoder.fills_values(decoder.settings):
        raise ConfigError(
            f"this decoder fills subjects and objects only, not slots = {policy.slots!r}; "
            "ask for slots = 'so'"
        )
    with evaluating(model):
        z = representations or model.encode()
        limits = shared_limits(model, limits)
        return rank_with(scorer_of(model, z), graph, known, policy=policy, limits=limits)


def scorer_of(model: TransEQ, z: Representations) -> Scorer:
    """Scores in the dtype of the weights.

    Also where training multiplies in bfloat16: with its 8 bits different scores would be ties.
    """
    shard = model.shard
    first = 0 if shard is None else shard.rows(len(model.encoded.entities)).start
    last: list[tuple[FactBatch, Representations, FactBatch]] = []  # rows are fetched once a batch

    def score(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:
        if not last or last[0][0] is not facts:
            last[:] = [(facts, *model.reading(facts, z)[:2])]
        _, rows, asked = last[0]
        here = slice(candidates.start - first, candidates.stop - first)
        scores = model.decoder.score_slot(asked, slots.to(z.device), rows, candidates=here)
        if model.evidence is None:
            return scores
        return scores + model.evidence.scores(facts, slots, candidates=candidates)

    return score


def shared_limits(model: TransEQ, limits: Limits | None) -> Limits:
    """The limits, for as many processes as the model is divided among."""
    return replace(limits or Limits(), shard=model.shard)


def rank_with(
    score: Scorer,
    graph: HKG,
    known: KnownAnswers | Background,
    *,
    policy: Policy | None = None,
    limits: Limits | None = None,
) -> Evaluation:
    """Rank the answers of `graph` with any function that scores candidates."""
    policy = policy or Policy()
    background = Background(known) if isinstance(known, KnownAnswers) else known
    queries, skipped = asked_queries(graph, background, policy)
    outsiders = background.outsiders(policy)
    rivals = count_all(
        score,
        graph,
        _GIVEN[policy.given](graph.columns, queries),
        known=background.filter(policy.filter, policy.given),
        outsiders=outsiders,
        limits=limits or Limits(),
    )
    return conclude(graph, queries, rivals, background=background, policy=policy, skipped=skipped)


def asked_queries(graph: HKG, background: Background, policy: Policy) -> tuple[Queries, int]:
    """What the policy asks, and how many queries it skips because of unseen entities.

    Numbers that a model estimates are not ranked.
    """
    queries = Queries.of(graph)
    wanted = np.isin(np.minimum(queries.slot, 2), SLOTS[policy.slots])
    if background.numbers is not None:
        wanted &= ~background.numbers.ask(graph, queries)[1]
    if policy.unseen == "keep":
        return queries.take(np.flatnonzero(wanted)), 0
    unseen = background.has_unseen(graph)[queries.fact]
    return queries.take(np.flatnonzero(wanted & ~unseen)), int((wanted & unseen).sum())


def conclude(
    graph: HKG,
    queries: Queries,
    rivals: Rivals,
    *,
    background: Background,
    policy: Policy,
    skipped: int,
) -> Evaluation:
    """An evaluation from counted rivals, checked against what must hold."""
    ranks = Ranks(
        queries.fact,
        queries.slot,
        graph.arity[queries.fact],
        rivals.greater,
        rivals.equal,
        rivals.candidates,
        rivals.score,
    )
    pool = len(graph.entities) - len(background.outsiders(policy))
    check_invariants(ranks)
    return Evaluation(ranks, policy, graph, background.train, pool, skipped)


@contextmanager
def evaluating(model: TransEQ) -> Iterator[None]:
    """Without gradients and in evaluation mode; whatever the mode was comes back."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
