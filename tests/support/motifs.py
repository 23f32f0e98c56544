"""The recovery of the paper's appendix: find (s, r, o) by its shape, without reading edge kinds.

Algorithm 3 looks for the three-node clique of a mediator and two of its neighbours. Other facts put
edges between those neighbours too, so the motif is often not the only one.
"""

import numpy as np

from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Places, find, offsets_of, places_of
from hyperfact.transforms.edge_blocks import distinct


def motifs_of(kg: KG) -> list[list[int]]:
    """For each mediator the base edges that join two different neighbours of it."""
    n = kg.num_entities
    away = kg.source >= n
    mediator, neighbour = (kg.source[away] - n).astype(np.int64), kg.target[away]
    first, _ = distinct(mediator, neighbour)
    mediator, neighbour = mediator[first], neighbour[first]
    base = np.flatnonzero(~away)
    base = base[np.argsort(kg.source[base], kind="stable")]
    out = offsets_of(np.bincount(kg.source[base], minlength=n))
    # Walk from each neighbour along its base edges; keep those that end at another neighbour.
    edge: Places = base[places_of(out, neighbour)]
    owner = np.repeat(mediator, out[neighbour + 1] - out[neighbour])
    known = mediator * n + neighbour  # rising, for `distinct` sorts
    _, inside = find(known, owner * n + kg.target[edge])
    inside &= kg.target[edge] != kg.source[edge]
    offsets = offsets_of(np.bincount(owner[inside], minlength=kg.num_mediators))
    return [part.tolist() for part in np.split(edge[inside], offsets[1:-1])][: kg.num_mediators]
