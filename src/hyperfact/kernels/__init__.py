"""Fused CPU kernels of graph encoders, losses and ranking, each with a plain PyTorch reference.

Order: exponential, jit, ragged_checks, threads, buffers, compositions, edges, dispatch, matrices,
softmax, reference, basis, blocks, compose, cross_entropy, dropout, ragged_attention, rivals.
"""

from hyperfact.kernels.basis import aggregate_weighted
from hyperfact.kernels.blocks import block_aggregate
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.compositions import COMPOSITIONS, Composition
from hyperfact.kernels.cross_entropy import has_fast_bfloat16, softmax_cross_entropy
from hyperfact.kernels.dropout import dropout
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.kernels.ragged_attention import ragged_attention
from hyperfact.kernels.rivals import RankCounts, count_rivals
from hyperfact.kernels.softmax import SoftmaxOptions, Targets, softmax_loss_

__all__ = [
    "COMPOSITIONS",
    "Composition",
    "EdgeIndex",
    "RankCounts",
    "SoftmaxOptions",
    "Targets",
    "aggregate_weighted",
    "block_aggregate",
    "compose_aggregate",
    "count_rivals",
    "dropout",
    "has_fast_bfloat16",
    "ragged_attention",
    "softmax_cross_entropy",
    "softmax_loss_",
]
