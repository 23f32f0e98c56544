"""Small graphs with every peculiarity that a kernel may stumble over."""

import torch
from torch import Tensor

from hyperfact.kernels import EdgeIndex

#: name -> (nodes, relations, edges as (source, relation, target))
GRAPHS: dict[str, tuple[int, int, list[tuple[int, int, int]]]] = {
    "empty": (3, 2, []),
    "one node": (1, 1, [(0, 0, 0)]),
    "self loop": (3, 2, [(0, 0, 1), (1, 1, 1), (2, 0, 2)]),
    "duplicate edge": (3, 2, [(0, 1, 2), (0, 1, 2), (0, 1, 2), (1, 0, 2)]),
    "degree 0": (6, 3, [(0, 0, 2), (2, 2, 0), (4, 0, 2)]),
    "dense": (5, 3, [(u, (u + 2 * t) % 3, t) for u in range(5) for t in range(5)]),
}


def graph(name: str) -> EdgeIndex:
    nodes, relations, edges = GRAPHS[name]
    source, relation, target = ([edge[i] for edge in edges] for i in range(3))
    return EdgeIndex.build(source, relation, target, num_nodes=nodes, num_relations=relations)


def random_graph(nodes: int, relations: int, edges: int, *, seed: int = 0) -> EdgeIndex:
    generator = torch.Generator().manual_seed(seed)
    source = (torch.rand(edges, generator=generator) ** 2 * nodes).long()
    target = (torch.rand(edges, generator=generator) ** 2 * nodes).long()
    relation = (torch.rand(edges, generator=generator) ** 2 * relations).long()
    return EdgeIndex.build(source, relation, target, num_nodes=nodes, num_relations=relations)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def leaf(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).requires_grad_()


def some_weights(edges: EdgeIndex) -> Tensor:
    """Positive numbers, every third one 0."""
    weights = draw(len(edges), seed=7).abs()
    weights[::3] = 0
    return weights
