"""Newcomers: who was not there when a model was trained, and joins its graph without training.

Weights stay as they are. What has a vector of its own and none yet gets a first one, before any
message: an entity the mean over the roles that it has in the new facts of what those have who are
known in that role; a mediator the mean of the mediators of its relation. So little is said of them
by their roles alone; the encoder's messages, from the new facts, say the rest.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import UserError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.joining import Joined
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array, find, owners_of
from hyperfact.graph.role_index import RoleIndex
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.encoders.mediators import MediatorInput
from hyperfact.models.transeq import TransEQ


def first_entities(
    table: Tensor, roles: RoleIndex, added: HKG
) -> tuple[Tensor, Tensor]:  # (newcomers,), (newcomers, dim)
    """Ids and first vectors of the entities that only added facts name.

    Args:
        table: The first vectors of known entities.  # (known entities, dim)
        roles: Of the facts that training had.
        added: The facts that it had not.
    """
    seen = np.zeros(len(added.entities), dtype=bool)
    seen[roles.entities] = True
    own = RoleIndex.of(added)
    new = ~seen[own.entities]
    role, who = owners_of(own.offsets)[new], own.entities[new]
    ids, place = np.unique(who, return_inverse=True)
    sums = table.new_zeros(len(ids), table.shape[1])
    for one in np.unique(role).tolist():
        mine = torch.from_numpy(place[role == one])
        sums[mine] += _stand_in(table, roles, one, seen)
    counts = torch.from_numpy(np.bincount(place, minlength=len(ids))).to(table)
    return torch.from_numpy(ids), sums / counts[:, None]


def _stand_in(table: Tensor, roles: RoleIndex, role: int, seen: Array) -> Tensor:  # (dim,)
    """The mean of the entities of a role; of all that are known, where it has none."""
    members = roles.entities_of(role)
    members = members if len(members) else np.flatnonzero(seen)
    return table.index_select(0, torch.from_numpy(members)).mean(dim=0)


def first_mediators(
    own: Tensor, of_old: Array, relation: Array
) -> Tensor:  # (new mediators, own dim)
    """The own parts of mediators that training did not have, by their primary relations.

    Args:
        own: Those of the mediators that it had.  # (mediators, own dim)
        of_old: Their primary relations.  # (mediators,)
        relation: The primary relations of the new ones.  # (new mediators,)
    """
    found = own.new_zeros(len(relation), own.shape[1])
    for one in np.unique(relation).tolist():
        like = np.flatnonzero(of_old == one)
        like = like if len(like) else np.arange(len(of_old))
        if len(like):
            mean = own.index_select(0, torch.from_numpy(like)).mean(dim=0)
            found[torch.from_numpy(relation == one)] = mean
    return found


def mediator_vectors(
    known: MediatorInput, of_old: Array, relation: Array
) -> Tensor:  # (new mediators, dim)
    """What enters the encoder for mediators that training did not have."""
    had = np.unique(of_old)
    place, there = find(had, relation)
    common = known.common[torch.from_numpy(place)] if len(had) else _with_means(known.common, 1)
    common = torch.where(torch.from_numpy(there)[:, None], common, _with_means(known.common, 1)[-1])
    return torch.cat([common, first_mediators(known.own, of_old, relation)], dim=1)


def inherit(new: TransEQ, old: TransEQ, joined: Joined) -> None:
    """Give a model of a larger graph the weights of a model of its first facts.

    Args:
        new: Made for all facts.
        old: Trained on the graph's own.
        joined: Both.

    Raises:
        UserError: The facts bring something that the encoder has no weights for.
    """
    grown, wanted = _grown(new, old, joined), new.state_dict()
    inherit_decoder(new.decoder, old.decoder)
    weights = {
        name: grown[name](t) if name in grown else t
        for name, t in old.state_dict().items()
        if name.startswith("encoder.")
    }
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise UserError(
                f"these facts bring what the model has no weights for ({name} would have "
                f"{len(wanted[name]):,} rows instead of {len(tensor):,}): it has to be trained "
                "with facts of this kind"
            )
    new.load_state_dict(weights, strict=False)  # of the encoder alone
    new.evidence = None if old.evidence is None else old.evidence.over(joined.graph)


def inherit_decoder(new: Decoder, old: Decoder) -> None:
    """Give a decoder of more entities the weights of one of fewer; what is of each gets a mean."""
    count, wanted = new.num_entities - old.num_entities, new.state_dict()
    weights = {
        name: t if t.shape == wanted[name].shape else _with_means(t, count)
        for name, t in old.state_dict().items()
    }
    new.load_state_dict(weights)


def _grown(new: TransEQ, old: TransEQ, joined: Joined) -> Mapping[str, Callable[[Tensor], Tensor]]:
    """How the tables that have rows of entities or mediators grow, by name."""

    def entities(table: Tensor) -> Tensor:
        ids, rows = first_entities(table, RoleIndex.of(joined.own), joined.added)
        whole = table.new_zeros(len(joined.entities), table.shape[1])
        whole[: len(table)] = table
        whole[ids] = rows
        return whole

    found: dict[str, Callable[[Tensor], Tensor]] = {}
    for name in ("encoder.entities", "encoder.nodes.entities"):
        found[name] = entities
    graphs = old.encoded, new.encoded
    if isinstance(graphs[0], KG) and isinstance(graphs[1], KG):
        before, after = graphs[0], graphs[1]
        found["encoder.relations"] = lambda rows: _relations(rows, before, after)
        found["encoder.nodes.mediators.own"] = lambda own: _own_parts(own, before, after)
        found["encoder.nodes.mediators.common"] = lambda common: _common_parts(
            common, before, after
        )
    return found


def _relations(rows: Tensor, before: KG, after: KG) -> Tensor:  # (edge types, dim)
    """Each kind of edge with its relations; those of a new relation get the mean of all kinds."""
    blocks = rows.view(-1, len(before.relations), rows.shape[1])
    new = rows.mean(dim=0).expand(len(blocks), len(after.relations) - blocks.shape[1], -1)
    return torch.cat([blocks, new], dim=1).flatten(0, 1)


def _own_parts(own: Tensor, before: KG, after: KG) -> Tensor:  # (mediators, own dim)
    """Each mediator keeps its own part; those of other facts get a first one."""
    place = np.full(int(after.mediator_fact.max(initial=-1)) + 1, -1)
    place[before.mediator_fact] = np.arange(before.num_mediators)
    source = place[after.mediator_fact]
    known = torch.from_numpy(source >= 0)
    whole = own.new_zeros(after.num_mediators, own.shape[1])
    whole[known] = own.index_select(0, torch.from_numpy(source[source >= 0]))
    new = after.mediator_relation[source < 0]
    whole[~known] = first_mediators(own, before.mediator_relation, new)
    return whole


def _common_parts(common: Tensor, before: KG, after: KG) -> Tensor:  # (mediated relations, shared)
    """What mediators of a relation share; of one that had none, the mean of all."""
    had, has = np.unique(before.mediator_relation), np.unique(after.mediator_relation)
    whole = _with_means(common, len(has) - len(had))
    order = np.concatenate([had, np.setdiff1d(has, had)])
    return whole.index_select(0, torch.from_numpy(np.argsort(order)))


def _with_means(rows: Tensor, count: int) -> Tensor:  # (rows + count, …)
    """With so many rows more, each the mean of all, or zero where there are none."""
    mean = rows.mean(dim=0, keepdim=True) if len(rows) else rows.new_zeros(1, *rows.shape[1:])
    return torch.cat([rows, mean.expand(count, *rows.shape[1:])])
