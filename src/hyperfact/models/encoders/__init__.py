"""Encoders: from the transformed graph to a vector for each entity and each relation.

Order: encoder, graph_view, lookup, mediators, layers, compgcn, kegcn, rgcn, vrgcn.
"""

from collections.abc import Mapping

from hyperfact.models.encoders.compgcn import CompGCN
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.encoders.kegcn import KEGCN
from hyperfact.models.encoders.lookup import Lookup
from hyperfact.models.encoders.rgcn import RGCN
from hyperfact.models.encoders.vrgcn import VRGCN

#: Every encoder a configuration may name. Adding one: a file beside this one, and a line here.
ENCODERS: Mapping[str, type[Encoder]] = {
    "compgcn": CompGCN,
    "kegcn": KEGCN,
    "lookup": Lookup,
    "rgcn": RGCN,
    "vrgcn": VRGCN,
}

__all__ = ["ENCODERS", "KEGCN", "RGCN", "VRGCN", "CompGCN", "Encoder", "Lookup"]
