"""Fused CPU kernels of graph encoders, losses and ranking, each with a plain PyTorch reference.

Order: exponential, jit, affinity, attention_tables, ragged_checks, threads, buffers, compositions,
edges, member_index, neighbours, dispatch, matrices, sparse_rows, softmax, log_masses,
divided_softmax, reference, added_scores, pairs, box_distance, complex_distance, unit_scores,
window_sums, edge_attention, basis, blocks, compose, listening, members, cross_entropy, dropout,
ragged_attention, rivals.
"""

from hyperfact.kernels.affinity import column_affinity
from hyperfact.kernels.attention_tables import AttentionTables
from hyperfact.kernels.basis import aggregate_mixed, aggregate_weighted
from hyperfact.kernels.blocks import block_aggregate
from hyperfact.kernels.box_distance import (
    Boxes,
    all_box_distances,
    box_distance,
    expanded_box_distance,
)
from hyperfact.kernels.complex_distance import all_complex_distances, complex_distance
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.compositions import COMPOSITIONS, Composition
from hyperfact.kernels.cross_entropy import has_fast_bfloat16, softmax_cross_entropy
from hyperfact.kernels.dropout import dropout
from hyperfact.kernels.edge_attention import attend
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.kernels.listening import hear_others
from hyperfact.kernels.log_masses import log_masses
from hyperfact.kernels.member_index import MemberIndex, Members
from hyperfact.kernels.members import aggregate_members
from hyperfact.kernels.ragged_attention import ragged_attention
from hyperfact.kernels.rivals import RankCounts, count_rivals
from hyperfact.kernels.softmax import SoftmaxOptions, Targets, softmax_loss_
from hyperfact.kernels.unit_scores import Units, all_unit_scores, unit_scores
from hyperfact.kernels.window_sums import all_window_sums, window_sums

__all__ = [
    "COMPOSITIONS",
    "AttentionTables",
    "Boxes",
    "Composition",
    "EdgeIndex",
    "MemberIndex",
    "Members",
    "RankCounts",
    "SoftmaxOptions",
    "Targets",
    "Units",
    "aggregate_members",
    "aggregate_mixed",
    "aggregate_weighted",
    "all_box_distances",
    "all_complex_distances",
    "all_unit_scores",
    "all_window_sums",
    "attend",
    "block_aggregate",
    "box_distance",
    "column_affinity",
    "complex_distance",
    "compose_aggregate",
    "count_rivals",
    "dropout",
    "expanded_box_distance",
    "has_fast_bfloat16",
    "hear_others",
    "log_masses",
    "ragged_attention",
    "softmax_cross_entropy",
    "softmax_loss_",
    "unit_scores",
    "window_sums",
]
