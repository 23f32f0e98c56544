"""CompGCN: messages compose a neighbour with a relation (ICLR 2020), the paper's encoder."""

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG, Representations
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.models.encoders.compositions import Composition, fold
from hyperfact.models.encoders.encoder import Encoder, columns, glorot, table
from hyperfact.models.encoders.graph_view import GraphView, Normaliser
from hyperfact.models.encoders.layers import LayerSettings, NodeInput, Update
from hyperfact.models.noise import dropout


class CompGCNSettings(LayerSettings):
    """Options of `compgcn`."""

    composition: Composition = Field(
        default="rotate", description="phi(h_u, h_r): sub, mult, corr or rotate"
    )
    normaliser: Normaliser = Field(
        default="symmetric", description="weight of a message: symmetric, mean or published"
    )


class CompGCN(Encoder):
    """L layers over direct edges, inverse edges and a self-loop.

    MSG^ent = w_e phi(h_u, h_r) W_dir, AGG^ent = sum over edges, then a third of each direction;
    MSG^rel and AGG^rel are empty and UPD^rel is h_r W_rel (plus h_r when residual). The sum is
    taken before the product with W_dir, once for each node; the last layer computes no mediator.
    """

    Settings = CompGCNSettings

    def __init__(
        self, graph: KG, *, dim: int, settings: CompGCNSettings, generator: torch.Generator
    ) -> None:
        super().__init__(graph, dim=dim, settings=settings, generator=generator)
        if settings.composition == "rotate" and dim % 2:
            raise ConfigError(f"rotate pairs coordinates: training.dim must be even, got {dim}")
        self.scale = settings.initial_scale
        self.view = GraphView(graph, settings.normaliser)
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        types = 2 * graph.num_edge_types  # direct, then inverse
        self.relations = table(types, dim, self.scale, generator)
        self.layers = nn.ModuleList(
            CompGCNLayer(dim, settings, generator) for _ in range(settings.layers)
        )

    def forward(
        self,
        *,
        keep: Tensor | None = None,
        generator: torch.Generator | None = None,
        coordinates: Tensor | None = None,
    ) -> Representations:
        """Representations after the last layer."""
        h: Tensor = self.nodes()  # (nodes, dim)
        z: Tensor = self.relations  # (2 * types, dim)
        weights = self.view.weights(keep)
        for number, layer in enumerate(self.layers, start=1):
            assert isinstance(layer, CompGCNLayer)
            last = number == len(self.layers)
            rows, wanted = (self.num_entities, coordinates) if last else (len(h), None)
            h = layer(
                h,
                z,
                view=self.view,
                weights=weights,
                rows=rows,
                coordinates=wanted,
                generator=generator,
            )
            z = layer.relate(z[: self.num_relations] if last else z, wanted)
        return Representations(h, z)


class CompGCNLayer(nn.Module):
    """One layer; all matrices act from the right."""

    def __init__(self, dim: int, settings: CompGCNSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.composition: Composition = settings.composition
        self.dropout = settings.dropout
        self.loop = table(1, dim, settings.initial_scale, generator)
        self.w_direct, self.w_inverse, self.w_loop, self.w_relation = (
            glorot(dim, dim, generator=generator) for _ in range(4)
        )
        self.update = Update(dim, settings)
        gate = settings.gate if settings.residual else 0.0
        self.relation_gate = nn.Parameter(torch.full((dim,), gate)) if settings.residual else None

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (2 * types, dim)
        *,
        view: GraphView,
        weights: tuple[Tensor, Tensor],
        rows: int,
        coordinates: Tensor | None,
        generator: torch.Generator | None,
    ) -> Tensor:  # (rows, kept)
        """New vectors of the first `rows` nodes, on these coordinates."""
        old = h[:rows]
        w_loop, bias = fold(self.loop[0], columns(self.w_loop, coordinates), self.composition)
        messages = old @ (w_loop / 3)
        if bias is not None:
            messages = messages + bias / 3
        directions = zip(
            (view.edges, view.edges.reversed),
            z.chunk(2),
            weights,
            (self.w_direct, self.w_inverse),
            strict=True,
        )
        for edges, relations, weight, matrix in directions:
            sums = compose_aggregate(
                h, relations, edges=edges, weights=weight, composition=self.composition, rows=rows
            )
            third = columns(matrix, coordinates) / 3
            if generator is None or self.dropout == 0.0:
                messages = torch.addmm(messages, sums, third)
            else:
                messages = messages + dropout(sums @ third, self.dropout, generator)
        updated: Tensor = self.update(messages, old, generator, coordinates)
        return updated

    def relate(self, z: Tensor, coordinates: Tensor | None = None) -> Tensor:  # (relations, kept)
        """UPD^rel: h_r W_rel, plus h_r when residual."""
        update = (z @ columns(self.w_relation, coordinates)).to(z.dtype)
        if self.relation_gate is None:
            return update
        return columns(z, coordinates) + columns(self.relation_gate, coordinates) * update
