"""The model of a run over more facts than it was trained on, with the weights that it has."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import ExperimentConfig
from hyperfact.graph.hkg import HKG
from hyperfact.graph.joining import Joined
from hyperfact.graph.ragged import Array
from hyperfact.graph.role_index import RoleIndex
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.encoders.compgcn import CompGCN
from hyperfact.models.encoders.hearing import Further, Heard
from hyperfact.models.ensemble import Ensemble, Pool
from hyperfact.models.introduction import Introduction
from hyperfact.models.newcomers import first_entities, inherit, inherit_decoder, mediator_vectors
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import build, build_decoder, numbers_of
from hyperfact.transforms.further import LOCAL, further_edges
from hyperfact.transforms.table import transform


def enlarged(model: TransEQ, configs: Sequence[ExperimentConfig], joined: Joined) -> TransEQ:
    """The same weights over the larger graph; numbers keep the scale that training gave them.

    Args:
        model: Trained on the graph's own facts.
        configs: Its configuration; of an ensemble those of its members.
        joined: The facts it was trained on, and those that join them.

    Raises:
        UserError: The facts bring something that the encoder has no weights for.
    """
    if isinstance(model, Ensemble):
        pool = model.decoder
        assert isinstance(pool, Pool), "what an ensemble decodes with"
        both = zip(model.members, configs, strict=True)
        members = [enlarged(member, [config], joined) for member, config in both]
        return Ensemble(members, pool.weights, pool.temperatures).eval()
    config = configs[0]
    uncounted = config.evidence.model_copy(update={"order": 0})  # it is inherited, not counted anew
    plain = config.model_copy(update={"evidence": uncounted})
    new = build(plain, joined.graph, torch.Generator().manual_seed(0))
    inherit(new, model, joined)
    new.numbers = numbers_of(config, joined.own)
    return new.eval()


class Listener:
    """A model whose encoder has one layer of CompGCN, ready to hear further facts.

    Args:
        model: Trained, in evaluation mode.
        config: Of its run.
        z: What it made of the facts that it was trained on.
        train: Those facts.
    """

    def __init__(
        self, model: TransEQ, config: ExperimentConfig, z: Representations, train: HKG
    ) -> None:
        assert isinstance(model.encoder, CompGCN), "what `can_listen` has checked"
        self.model, self.config, self.z = model, config, z
        self.heard, self.roles = Heard(model.encoder), RoleIndex.of(train)
        strangers = model.unseen is not None and z.stand_ins is not None
        self.introduction = Introduction(model.unseen, z) if strangers else None  # type: ignore[arg-type]  # checked

    def hear(self, joined: Joined) -> Representations:
        """What it makes of all facts; only what the added ones change is computed."""
        known, count = self.model.encoder.num_entities, len(joined.entities)
        with torch.no_grad(), self.model.products():
            changed, rows = self.heard.with_edges(self._further(joined))
        changed = torch.where(changed < known, changed, changed - len(self.heard.h) + known)
        entities = torch.cat(
            [self.z.entities, self.z.entities.new_zeros(count - known, rows.shape[1])]
        )
        entities[changed] = rows
        if self.introduction is None:
            return replace(self.z, entities=entities)
        return self.introduction.with_rows(entities, changed, RoleIndex.of(joined.added))

    def _further(self, joined: Joined) -> Further:
        """The edges that the added facts bring, by the numbers of the graph's nodes."""
        known, nodes = self.model.encoder.num_entities, len(self.heard.h)
        name, mode = self.config.graph.transformation, self.config.graph.mode
        found = further_edges(
            joined,
            lambda facts: transform(facts, name, mode=mode if name == "equivalent" else None),
        )
        ids, rows = first_entities(self.heard.h[:known], self.roles, joined.added)
        encoder, of_old = self.heard.encoder, self.model.graph.mediator_relation
        mediators = mediator_vectors(encoder.nodes.mediators, of_old, found.mediator_relation)

        def number(ids: Array) -> Tensor:
            return torch.from_numpy(np.where(ids < known, ids, ids - known + nodes))

        return Further(
            number(found.source),
            torch.from_numpy(found.type),
            number(found.target),
            len(joined.entities) - known,
            torch.cat([rows[ids >= known], mediators]),
            ids[ids < known],
            rows[ids < known],
        )


def can_listen(model: TransEQ, config: ExperimentConfig) -> bool:
    """Whether `Listener` is for this model; any other is encoded as a whole."""
    encoder, unseen = model.encoder, model.unseen
    alone = isinstance(encoder, CompGCN) and len(encoder.layers) == 1 and model.numbers is None
    return alone and config.graph.transformation in LOCAL and (unseen is None or unseen.by_role)


def enlarged_decoder(decoder: Decoder, config: ExperimentConfig, entities: int) -> Decoder:
    """The same decoder for more entities."""
    if entities == decoder.num_entities:
        return decoder
    new = build_decoder(config, entities, torch.Generator().manual_seed(0))
    new.to(next(decoder.parameters(), torch.zeros(0)).dtype)
    inherit_decoder(new, decoder)
    return new.eval()
