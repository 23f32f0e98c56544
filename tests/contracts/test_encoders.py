"""What every encoder promises, in each of its forms."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array
from hyperfact.models.encoders import ENCODERS
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from tests.support.models import CHECKED, ENCODER_FORMS, model_of, random_facts, toy

FORMS = pytest.mark.parametrize("form", ENCODER_FORMS)


def encoder_of(form: str, graph: HKG, *, dim: int = 8, precision: str = "float64") -> Encoder:
    return model_of(graph, ENCODER_FORMS[form], dim=dim, precision=precision).encoder


def test_every_encoder_has_a_form() -> None:
    assert {options["name"] for options in ENCODER_FORMS.values()} == set(ENCODERS)


@FORMS
@pytest.mark.parametrize("precision", ["float32", "float64", "bfloat16"])
def test_entities_and_relations_get_finite_vectors_and_mediators_none(
    form: str, precision: str
) -> None:
    graph = toy()
    model = model_of(graph, ENCODER_FORMS[form], precision=precision)
    z = model.encode()
    assert z.entities.shape == (len(graph.entities), 8)
    assert z.relations.shape == (len(graph.relations), 8)
    assert z.entities.dtype == (torch.float64 if precision == "float64" else torch.float32)
    assert z.entities.isfinite().all()
    assert z.relations.isfinite().all()


@FORMS
def test_every_parameter_gets_a_gradient(form: str) -> None:
    encoder = encoder_of(form, toy())
    z = encoder()
    weights = torch.arange(1, 9).double()
    torch.autograd.backward((z.entities**2 @ weights).sum() + (z.relations**2 @ weights).sum())
    silent = [n for n, p in encoder.named_parameters() if p.grad is None or not p.grad.any()]
    mediators = ["nodes.mediators.common", "nodes.mediators.own"]
    published = ENCODER_FORMS[form].get("normaliser") == "published" and encoder.reads == "kg"
    assert silent == (mediators if published else [])  # which the published normaliser silences


@FORMS
@CHECKED
def test_gradients_are_true(form: str, fast: bool) -> None:
    encoder = encoder_of(form, toy(), dim=4)
    parameters = dict(encoder.named_parameters())

    def outputs(*values: torch.Tensor) -> torch.Tensor:
        z = torch.func.functional_call(encoder, dict(zip(parameters, values, strict=True)))
        return torch.cat([z.entities, z.relations])

    assert torch.autograd.gradcheck(
        outputs, tuple(parameters.values()), eps=1e-6, atol=1e-5, fast_mode=fast
    )


@FORMS
def test_dropout_needs_a_generator_and_repeats_with_its_seed(form: str) -> None:
    encoder = encoder_of(form, random_facts(30))
    encoder.eval()
    runs = [
        encoder(
            GraphPass(generator=None if seed is None else torch.Generator().manual_seed(seed))
        ).entities
        for seed in (None, None, 1, 1, 2)
    ]
    assert torch.equal(runs[0], runs[1])
    assert torch.equal(runs[2], runs[3])
    drops = any(ENCODER_FORMS[form].get(k) for k in ("dropout", "hidden_dropout"))
    assert torch.equal(runs[2], runs[4]) != drops


@FORMS
@pytest.mark.parametrize("training", [True, False])
def test_wanted_coordinates_are_those_of_all(form: str, training: bool) -> None:
    whole, part = (encoder_of(form, random_facts(30)).train(training) for _ in range(2))
    wanted = torch.tensor([1, 2, 5, 6])
    for _ in range(2):  # the second time with statistics that training has moved
        z, thin = whole(), part(GraphPass(coordinates=wanted))
        torch.testing.assert_close(thin.entities, z.entities[:, wanted])
        torch.testing.assert_close(thin.relations, z.relations[:, wanted])
    for a, b in zip(whole.buffers(), part.buffers(), strict=True):
        if a.shape == (8,):
            torch.testing.assert_close(a[wanted], b[wanted])


@FORMS
def test_what_is_hidden_is_as_good_as_absent(form: str) -> None:
    model = model_of(random_facts(30), ENCODER_FORMS[form], precision="float64")
    model.eval()
    keep = model.encoder.keep_without(model.encoded, np.arange(0, 30, 3))
    assert len(keep) == len(model.encoded)
    assert 0 < int(keep.sum()) < len(keep)
    hidden = model.encoder(GraphPass(keep))
    other = _encoder_over(model, _part(model.encoded, keep.numpy()), form)
    assert torch.allclose(hidden.entities, other.entities, atol=1e-12)
    assert torch.allclose(hidden.relations, other.relations, atol=1e-12)


def _part(graph: KG | HKG, keep: Array) -> KG | HKG:
    """Without the edges, or the facts, that are not kept."""
    if isinstance(graph, HKG):
        return graph.select(keep)
    names = ("source", "relation", "target", "kind", "place")
    return replace(graph, **{name: getattr(graph, name)[keep] for name in names})


def _encoder_over(model: TransEQ, graph: KG | HKG, form: str) -> Representations:
    """The same weights over another graph of the same nodes."""
    encoder = type(model.encoder)(
        graph,
        dim=8,
        settings=model.encoder.settings,
        generator=torch.Generator(),
    ).double()
    if form.startswith("rgcn"):  # matrices belong to the relations that occur; none may vanish
        assert encoder.edges.num_relations == model.encoder.edges.num_relations  # type: ignore
    encoder.load_state_dict(model.encoder.state_dict())
    found: Representations = encoder.eval()()
    return found


@FORMS
def test_facts_that_are_not_hidden_are_seen(form: str) -> None:
    model = model_of(random_facts(30), ENCODER_FORMS[form], precision="float64").eval()
    row = model.keep_without(np.array([4]))
    whole, without = model.encode().entities, model.encode(keep=row).entities
    assert bool((whole != without).any()) == model.encoder.sees_graph


def test_every_encoder_has_a_card() -> None:
    assert [name for name, encoder in ENCODERS.items() if encoder.card is None] == []


@FORMS
def test_renaming_entities_renames_the_vectors(form: str) -> None:
    graph = toy()
    order = np.random.default_rng(1).permutation(len(graph.entities))  # new id -> old id
    renamed = HKG.from_facts(graph, entities=[graph.entities[i] for i in order])
    one, two = (model_of(g, ENCODER_FORMS[form], precision="float64") for g in (graph, renamed))
    weights = dict(one.encoder.state_dict())
    for name in ("entities", "nodes.entities"):
        if name in weights:
            weights[name] = weights[name][torch.from_numpy(order)]
    two.encoder.load_state_dict(weights)
    before, after = one.eval().encode().entities, two.eval().encode().entities
    assert torch.allclose(before[torch.from_numpy(order)], after, atol=1e-10)


def test_no_encoder_touches_the_global_random_state() -> None:
    before = torch.get_rng_state()
    for form in ENCODER_FORMS:
        model_of(toy(), ENCODER_FORMS[form]).encode(generator=torch.Generator())
    assert torch.equal(before, torch.get_rng_state())
