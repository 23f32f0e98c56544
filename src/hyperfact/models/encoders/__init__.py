"""Encoders: from the transformed graph to a vector for each entity and each relation.

Order: encoder, batch_norm, graph_view, lookup, mediators, layers, compgcn, rgcn.
"""

from collections.abc import Mapping

from hyperfact.models.encoders.compgcn import CompGCN
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.encoders.lookup import Lookup
from hyperfact.models.encoders.rgcn import RGCN

#: Every encoder a configuration may name. Adding one: a file beside this one, and a line here.
ENCODERS: Mapping[str, type[Encoder]] = {"compgcn": CompGCN, "lookup": Lookup, "rgcn": RGCN}

__all__ = ["ENCODERS", "RGCN", "CompGCN", "Encoder", "Lookup"]
