"""What every encoder with every decoder promises to whoever ranks with it."""

import pytest
import torch

from hyperfact.evaluation import check_model
from hyperfact.evaluation.checks.contract import CHECKS
from hyperfact.evaluation.checks.promises import Case
from hyperfact.graph.hkg import HKG
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.check import model_maker
from tests.support.models import EVERY_PAIR, PAIRS, toy


@pytest.mark.parametrize(("encoder", "decoder"), PAIRS)
def test_every_promise_is_kept(encoder: str, decoder: str) -> None:
    assert list(check_model(model_maker(encoder, decoder), toy())) == []


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "decoder"), sorted({*EVERY_PAIR} - {*PAIRS}))
def test_every_other_pair_keeps_them_too(encoder: str, decoder: str) -> None:
    assert list(check_model(model_maker(encoder, decoder), toy())) == []


def test_there_are_enough_promises() -> None:
    assert len(CHECKS) >= 25


class Careless:
    """Makes models that break a promise each."""

    def __init__(self, flaw: str) -> None:
        self.flaw, self.calls = flaw, 0

    def __call__(self, graph: HKG) -> TransEQ:
        model = model_maker("lookup", "mdistmult")(graph)
        self.calls += 1
        whole = model.decoder.score_slot
        if self.flaw == "seed":
            with torch.no_grad():
                next(model.parameters()).add_(0.01 * self.calls)
        elif self.flaw == "answer":

            def peek(facts, slots, z, **options):  # type: ignore[no-untyped-def]
                answers = facts.entities.gather(1, slots[:, None])
                return whole(facts, slots, z, **options) + answers

            model.decoder.score_slot = peek  # type: ignore[method-assign]
        elif self.flaw == "chance":

            def noisy(facts, slots, z, **options):  # type: ignore[no-untyped-def]
                scores = whole(facts, slots, z, **options)
                return scores + torch.randn_like(scores)

            model.decoder.score_slot = noisy  # type: ignore[method-assign]
        elif self.flaw == "order":

            def numbered(facts, slots, z, **options):  # type: ignore[no-untyped-def]
                scores = whole(facts, slots, z, **options)
                return scores * torch.linspace(1, 2, len(scores)).double()[:, None]

            model.decoder.score_slot = numbered  # type: ignore[method-assign]
        return model


@pytest.mark.parametrize(
    ("flaw", "broken"),
    [
        ("seed", "the same seed gives the same weights"),
        ("answer", "what stands in the asked slot does not matter"),
        ("chance", "ranking leaves random states"),
        ("order", "the order of queries does not matter"),
    ],
)
def test_a_broken_promise_is_seen(flaw: str, broken: str) -> None:
    assert broken in set(check_model(Careless(flaw), toy()))
    assert CHECKS[broken](Case(model_maker("lookup", "mdistmult"), toy()))
