"""What every model promises to whoever ranks with it: `check_model` runs over any model.

A check compares the model with itself under changes that must not matter. Models in float64 keep
rounding out of the comparison.
"""

import random
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch

from hyperfact.evaluation.checks.promises import SCORES, Case, Make, scores_of
from hyperfact.evaluation.evaluator import evaluate
from hyperfact.evaluation.ranking import Limits
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.decoders.decoder import put


def _repeat(case: Case) -> bool:
    model = case.model
    return case.ranks(model) == case.ranks(model)


def _one_entity(case: Case) -> bool:
    graph = HKG.from_facts([Fact("a", "r", "a"), Fact("a", "r", "a", (("q", "a"),))])
    ranks = evaluate(case.make(graph), graph, KnownAnswers.build(graph)).ranks
    return ranks.candidates.tolist() == [1] * 5 and not ranks.greater.any()


def _no_qualifiers(case: Case) -> bool:
    graph = HKG.from_facts([Fact("a", "r", "b"), Fact("b", "r", "c")])
    return len(evaluate(case.make(graph), graph, KnownAnswers.build(graph)).ranks) == 4


def _unseen_id_refused(case: Case) -> bool:
    model, (facts, slots) = case.model, case.questions(np.array([0]))
    beyond = put(facts, 1 - slots.clamp(max=1), len(case.graph.entities))
    try:
        scores_of(model, beyond, slots)
    except IndexError:
        return True
    return False


def _gradients(case: Case) -> bool:
    model = case.model
    facts, slots = case.questions()
    scores = model.decoder.score_slot(facts, slots, model.encode())
    torch.autograd.backward((scores**2).sum() + (scores**3).sum())
    # a decoder that reads facts may have no use for vectors of entities
    owner = model.decoder if model.decoder.reads_facts else model
    found = [p.grad for p in owner.parameters()]
    return all(g is not None and bool(g.isfinite().all()) and bool(g.any()) for g in found)


def _leaves_weights(case: Case) -> bool:
    model = case.model.train()
    before = {n: t.clone() for n, t in model.state_dict().items()}
    case.ranks(model)
    return all(torch.equal(before[n], t) for n, t in model.state_dict().items())


def _leaves_modes(case: Case) -> bool:
    model = case.model.train()
    model.decoder.eval()
    before = [m.training for m in model.modules()]
    case.ranks(model)
    return [m.training for m in model.modules()] == before and torch.is_grad_enabled()


def _leaves_chance(case: Case) -> bool:
    model = case.model
    before = _random_states()
    case.ranks(model)
    return _random_states() == before


def _random_states() -> tuple[object, ...]:
    return torch.get_rng_state().tolist(), repr(np.random.get_state()), random.getstate()


def _batches(case: Case) -> bool:
    model = case.model
    return case.ranks(model, Limits(1)) == case.ranks(model, Limits(7)) == case.ranks(model)


def _chunks(case: Case) -> bool:
    model = case.model
    return case.ranks(model, Limits(64, 1)) == case.ranks(model, Limits(64, 3)) == case.ranks(model)


def _threads(case: Case) -> bool:
    model, before = case.model, torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(case.ranks(model))
    finally:
        torch.set_num_threads(before)
    return found[0] == found[1]


#: Every promise, of scores and of ranking. Adding one: a function, and a line.
CHECKS: Mapping[str, Callable[[Case], bool]] = {
    **SCORES,
    "ranking twice gives the same ranks": _repeat,
    "one entity is enough": _one_entity,
    "qualifiers are not needed": _no_qualifiers,
    "an entity that does not exist is refused": _unseen_id_refused,
    "every parameter has a finite gradient that is not zero": _gradients,
    "ranking leaves weights and buffers": _leaves_weights,
    "ranking leaves the training mode": _leaves_modes,
    "ranking leaves random states": _leaves_chance,
    "the batch size does not change ranks": _batches,
    "pieces of candidates do not change ranks": _chunks,
    "threads do not change ranks": _threads,
}


def check_model(make: Make, graph: HKG) -> Iterator[str]:
    """The promises that a model breaks.

    Args:
        make: Makes the model for a graph, with the same weights at each call; in float64.
        graph: A few facts of several arities, one of them with at least two qualifiers.
    """
    case = Case(make, graph)
    return (name for name, check in CHECKS.items() if not check(case))
