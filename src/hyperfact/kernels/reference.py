"""Every kernel in plain PyTorch: the oracle of the tests, and the path of tensors on other devices.

Written to be read: each function materialises whatever is convenient, a row per edge included.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hyperfact.kernels.attention_tables import SLOPE, AttentionTables
from hyperfact.kernels.compositions import composition_of
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.kernels.member_index import Members
from hyperfact.kernels.neighbours import LIMIT, Listeners, Neighbours
from hyperfact.kernels.softmax import SoftmaxOptions, Targets
from hyperfact.kernels.sparse_rows import AddedScores


def compose_aggregate(
    x: Tensor, z: Tensor, *, edges: EdgeIndex, weights: Tensor, composition: str, rows: int
) -> Tensor:  # (rows, dim)
    """See `compose.compose_aggregate`."""
    source, relation, target = edges.columns(x.device)
    phi = composition_of(composition)
    messages = phi.dense(x.index_select(0, source), z.index_select(0, relation))
    messages = messages * weights[:, None]  # (edges, dim)
    return x.new_zeros(edges.num_targets, x.shape[1]).index_add(0, target, messages)[:rows]


def aggregate_weighted(
    x: Tensor, coefficients: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> Tensor:  # (rows, bases, dim)
    """See `basis.aggregate_weighted`."""
    source, relation, target = edges.columns(x.device)
    scales = weights[:, None] * coefficients.index_select(0, relation)  # (edges, bases)
    messages = scales[:, :, None] * x.index_select(0, source)[:, None, :]  # (edges, bases, dim)
    return x.new_zeros(edges.num_targets, *messages.shape[1:]).index_add(0, target, messages)[:rows]


def aggregate_mixed(
    x: Tensor, coefficients: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> Tensor:  # (rows, dim)
    """See `basis.aggregate_mixed`."""
    source, relation, target = edges.columns(x.device)
    scales = weights[:, None] * coefficients.index_select(0, relation)  # (edges, bases)
    messages = torch.einsum("eb,ebd->ed", scales, x.index_select(0, source))  # (edges, dim)
    return x.new_zeros(edges.num_targets, x.shape[2]).index_add(0, target, messages)[:rows]


def block_aggregate(
    x: Tensor, matrices: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> Tensor:  # (rows, blocks * size_out)
    """See `blocks.block_aggregate`."""
    source, relation, target = edges.columns(x.device)
    parts = x.index_select(0, source).view(-1, *matrices.shape[1:3])  # (edges, blocks, in)
    messages = torch.einsum("ebi,ebio->ebo", parts, matrices.index_select(0, relation))
    messages = messages.flatten(1) * weights[:, None]  # (edges, blocks * size_out)
    return x.new_zeros(edges.num_targets, messages.shape[1]).index_add(0, target, messages)[:rows]


def attend(
    tables: AttentionTables, *, edges: EdgeIndex, keep: Tensor, rows: int
) -> Tensor:  # (rows, dim)
    """See `attention.attend`."""
    a, b, c, x, v, vector, bias = tables
    columns = (column[keep.to(b.device)] for column in edges.columns(b.device))
    source, relation, target = columns
    heads, dim = bias.shape[1], b.shape[1]
    near = a.index_select(0, target) + b.index_select(0, source) + c.index_select(0, relation)
    scored = torch.nn.functional.leaky_relu(near, SLOPE) * vector  # (edges, dim)
    scores = scored.view(-1, heads, dim // heads).sum(dim=2) + bias.index_select(0, relation)
    which = target[:, None].expand_as(scores)
    top = scores.new_full((edges.num_targets, heads), -torch.inf)
    top = top.scatter_reduce(0, which, scores.detach(), "amax")
    powers = (scores - top.index_select(0, target)).exp()  # (edges, heads)
    totals = scores.new_zeros(edges.num_targets, heads).index_add(0, target, powers)
    shares = (powers / totals.index_select(0, target)).repeat_interleave(dim // heads, dim=1)
    values = x.index_select(0, source) + v.index_select(0, relation)  # (edges, dim)
    return b.new_zeros(edges.num_targets, dim).index_add(0, target, shares * values)[:rows]


def aggregate_members(
    x: Tensor, z: Tensor, p: Tensor, *, members: Members, keep: Tensor, largest: bool
) -> Tensor:  # (nodes, dim)
    """See `members.aggregate_members`."""
    relation, offsets, node, role = (torch.from_numpy(c).to(x.device).long() for c in members)
    sizes, facts = offsets.diff(), len(relation)
    fact = torch.arange(facts, device=x.device).repeat_interleave(sizes)  # (members,)
    width = int(sizes.max()) if facts else 0
    place = fact * width + torch.arange(len(node), device=x.device) - offsets[fact]
    factors = p.index_select(0, role) * x.index_select(0, node)  # (members, dim)
    padded = x.new_ones(facts * width, x.shape[1]).index_copy(0, place, factors)
    padded = padded.view(facts, width, x.shape[1])
    others = [
        torch.cat([padded[:, :j], padded[:, j + 1 :]], dim=1).prod(dim=1) for j in range(width)
    ]
    heard = torch.stack(others, dim=1) if width else padded  # (facts, width, dim)
    heard = heard * (z.index_select(0, relation) * keep.to(x)[:, None])[:, None, :]
    heard = heard.view(-1, x.shape[1]).index_select(0, place)  # (members, dim)
    y = torch.zeros_like(x)
    if largest:
        return y.scatter_reduce(0, node[:, None].expand_as(heard), heard, "amax")
    return y.index_add(0, node, heard)


def dropout(x: Tensor, p: float, *, keep: Tensor) -> Tensor:
    """See `dropout.dropout`, for a mask that is given."""
    return torch.where(keep.to(x.device), x / (1 - p), x.new_zeros(()))


def complex_distance(points: Tensor, rows: Tensor, tiny: float = 1e-12) -> Tensor:
    """The sum of the lengths of complex differences, over the last dimension."""
    (a, b), (c, d) = points.chunk(2, dim=-1), rows.chunk(2, dim=-1)
    return ((a - c).square() + (b - d).square() + tiny).sqrt().sum(dim=-1)


def window_sums(sums: Tensor, weights: Tensor, rows: Tensor) -> Tensor:
    """Sigmoids of sums (…, windows), to which weights times rows (…, window, windows) are added."""
    return torch.sigmoid(sums + (weights * rows).sum(dim=-2)).sum(dim=-1)


def unit_scores(
    sums: Tensor, sizes: Tensor, rows: Tensor, weight: Tensor, *, least: bool = False
) -> Tensor:  # (…,)
    """Weighted ReLU of the larger of two sums, and parts of a row by positive sizes.

    Args:
        sums: (…, 2, units).
        sizes: (…, parts).
        rows: (…, 2 + parts, units).
        weight: (units,).
        least: The lesser of the two sums instead.
    """
    one, two = (sums + rows[..., :2, :]).unbind(dim=-2)
    chosen = torch.minimum(one, two) if least else torch.maximum(one, two)
    parts = (torch.relu(sizes)[..., None] * rows[..., 2:, :]).sum(dim=-2)
    return torch.relu(chosen + parts) @ weight


def box_distance(points: Tensor, boxes: Tensor, tiny: float = 1e-12) -> Tensor:  # (…,)
    """How far tanh of points lies from boxes: small and flat inside of one, steep outside.

    Args:
        points: (…, dim).
        boxes: Centres, and 1 more than sides, side by side.  # (…, 2 * dim)
        tiny: Under the root.
    """
    centre, v = boxes.chunk(2, dim=-1)
    off = (torch.tanh(points) - centre).abs()
    delta = torch.maximum(off / v, v * off - (v - 1) / 2 * (v - 1 / v))  # they meet at the border
    return (delta.square().sum(dim=-1) + tiny).sqrt()


def count_rivals(
    scores: Tensor,
    targets: Tensor,
    offsets: Tensor,
    filtered: Tensor,
    held: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """See `rivals.count_rivals`."""
    rival = ~membership(scores, offsets, filtered)  # (batch, candidates)
    rival &= torch.arange(scores.shape[1], device=scores.device) != targets[:, None]
    score = (scores.gather(1, targets[:, None])[:, 0] if held is None else held)[:, None]
    greater, equal = (scores > score) & rival, (scores == score) & rival
    return greater.sum(dim=1), equal.sum(dim=1), scores.isfinite().all(dim=1)


def membership(matrix: Tensor, offsets: Tensor, ids: Tensor) -> Tensor:  # (rows, columns) bool
    """Which places of `matrix` the ragged ids name."""
    row = torch.arange(len(matrix), device=matrix.device).repeat_interleave(offsets.diff())
    mask = torch.zeros_like(matrix, dtype=torch.bool).flatten()
    return mask.index_fill_(0, row * matrix.shape[1] + ids, value=True).view_as(matrix)


def softmax_cross_entropy(
    queries: Tensor,
    entities: Tensor,
    targets: Targets,
    bias: Tensor | None,
    options: SoftmaxOptions,
    added: AddedScores | None = None,
) -> Tensor:  # (batch,)
    """See `cross_entropy.softmax_cross_entropy`; the loss of each query."""
    logits = queries @ entities.T
    logits = logits if added is None else logits + added_scores(added)
    return softmax_loss(logits if bias is None else logits + bias, targets, options)


def added_scores(added: AddedScores) -> Tensor:  # (batch, candidates)
    """See `added_scores.added_scores`; every entry is written out."""
    weights, candidates = added.weights, added.candidates
    owner = torch.arange(len(added), device=weights.device).repeat_interleave(added.offsets.diff())
    flat = weights.new_zeros(len(added) * candidates)
    for rows, table in added.parts:
        counts = table.offsets.diff().index_select(0, rows)  # (terms,)
        ends = counts.cumsum(0)
        begins = table.offsets.index_select(0, rows) - ends + counts
        term = torch.arange(len(rows), device=weights.device).repeat_interleave(counts)
        entry = begins.index_select(0, term) + torch.arange(len(term), device=weights.device)
        place = added.places.index_select(0, table.columns.index_select(0, entry).long())
        value = table.values.to(weights.dtype).index_select(0, entry)
        value = value * weights.index_select(0, term)
        there = place >= 0
        where = owner.index_select(0, term) * candidates + place
        flat = flat.index_add(0, where[there], value[there])
    return flat.view(len(added), candidates)


def hear_others(
    x: Tensor, z: Tensor, p: Tensor, *, around: Neighbours, listeners: Listeners
) -> Tensor:  # (listeners, dim)
    """See `listening.hear_others`; a row for each listener and fact exists."""
    m, sizes = around.members, np.diff(around.at)
    node, question = listeners.node, listeners.question
    who = np.repeat(np.arange(len(node)), sizes[node])
    begins = np.repeat(around.at[node] - np.cumsum(sizes[node]) + sizes[node], sizes[node])
    own = around.member[begins + np.arange(len(who))]
    kept = around.keep[around.fact[own]]
    who, own = who[kept], own[kept]
    fact = around.fact[own]

    def ids(column: NDArray[Any]) -> Tensor:
        return torch.from_numpy(column.astype(np.int64)).to(x.device)

    messages = z.index_select(0, ids(m.relation[fact]))  # (heard, dim)
    for slot in range(around.widest):
        member = np.minimum(m.offsets[fact] + slot, len(m.node) - 1)
        other = (slot < np.diff(m.offsets)[fact]) & (member != own)
        asked = question[who]
        row = listeners.place[np.maximum(asked, 0), m.node[member]] if len(listeners.place) else -1
        seen = (asked >= 0) & (row >= 0) & (row < len(x))
        row = np.where(seen, row, m.node[member])
        factor = x.index_select(0, ids(row)) + p.index_select(0, ids(m.role[member]))
        there = torch.from_numpy(other).to(x.device)[:, None]
        messages = messages * torch.where(there, factor, torch.ones_like(factor))
        messages = messages.clamp(-LIMIT, LIMIT)
    return x.new_zeros(len(node), x.shape[1]).index_add(0, ids(who), messages)


def softmax_loss(logits: Tensor, targets: Targets, options: SoftmaxOptions) -> Tensor:  # (batch,)
    """See `softmax.softmax_loss_`; no row of scores is copied for each answer."""
    offsets, answers = targets.offsets.to(logits.device), targets.answers.to(logits.device)
    rows, candidates = logits.shape
    counts = offsets.diff()
    owner = torch.arange(rows, device=logits.device).repeat_interleave(counts)  # (answers,)
    place = owner * candidates + answers
    flat = logits.reshape(-1)
    true = flat.index_select(0, place)
    if options.mask_others:
        rest = flat.index_fill(0, place, float("-inf")).view_as(logits)
        total = torch.logaddexp(true, torch.logsumexp(rest, dim=1).index_select(0, owner))
        others = logits.new_zeros(rows).index_add(0, owner, true).index_select(0, owner) - true
        even = (logits.sum(dim=1).index_select(0, owner) - others) / (
            candidates - counts.index_select(0, owner) + 1
        )
    else:
        total = torch.logsumexp(logits, dim=1).index_select(0, owner)
        even = logits.mean(dim=1).index_select(0, owner)
    losses = total - torch.lerp(true, even, options.smoothing)
    means = losses / counts.index_select(0, owner)
    found = logits.new_zeros(rows).index_add(0, owner, means)
    return found if targets.weights is None else found * targets.weights.to(found)


class GroupedSequences(Protocol):
    """See `ragged_attention.Layout`."""

    @property
    def sizes(self) -> Sequence[tuple[int, int]]:
        """Sequences of one length, and that length."""

    @property
    def labels(self) -> Sequence[Tensor]:
        """Labels of edges for each length; empty: none."""


def ragged_attention(
    qkv: Tensor, keys: Tensor, values: Tensor, layout: GroupedSequences, noise: Tensor | None
) -> Tensor:  # (tokens, dim)
    """See `ragged_attention.ragged_attention`."""
    width = keys.shape[1]
    heads = qkv.shape[1] // (3 * width)
    keys, values = (functional.pad(table, (0, 0, 1, 0)).to(qkv.dtype) for table in (keys, values))
    groups = torch.split(qkv, [count * length for count, length in layout.sizes])
    squares = [count * heads * length**2 for count, length in layout.sizes]
    factors = [None] * len(groups) if noise is None else list(torch.split(noise, squares))
    found = []
    for place, (count, length) in enumerate(layout.sizes):
        parts = groups[place].view(count, length, 3, heads, width).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind()  # (count, heads, length, width)
        labels = layout.labels[place] if layout.labels else k.new_zeros(length, length).long()
        to, of = (functional.embedding(labels, t) for t in (keys, values))  # (i, j, width)
        scores = q @ k.transpose(2, 3) + torch.einsum("bhiw,ijw->bhij", q, to)
        weights = torch.softmax(scores / math.sqrt(width), dim=3)
        factor = factors[place]
        if factor is not None:
            weights = weights * factor.view_as(weights).to(weights)
        mixed = weights @ v + torch.einsum("bhij,ijw->bhiw", weights, of)
        found.append(mixed.transpose(1, 2).reshape(count * length, heads * width))
    return torch.cat(found)
