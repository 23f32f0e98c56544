"""Encoders: from the transformed graph, or from facts, to vectors of entities and relations.

Order: encoder, batch_norm, graph_view, lookup, mediators, layers, relation_graph, compgcn, gmpnn,
ingram, kegcn, rgcn, stare, vrgcn.
"""

from collections.abc import Mapping

from hyperfact.models.encoders.compgcn import CompGCN
from hyperfact.models.encoders.encoder import Encoder
from hyperfact.models.encoders.gmpnn import GMPNN
from hyperfact.models.encoders.ingram import InGram
from hyperfact.models.encoders.kegcn import KEGCN
from hyperfact.models.encoders.lookup import Lookup
from hyperfact.models.encoders.rgcn import RGCN
from hyperfact.models.encoders.stare import StarE
from hyperfact.models.encoders.vrgcn import VRGCN

#: Every encoder a configuration may name. Adding one: a file beside this one, and a line here.
ENCODERS: Mapping[str, type[Encoder]] = {
    "compgcn": CompGCN,
    "gmpnn": GMPNN,
    "ingram": InGram,
    "kegcn": KEGCN,
    "lookup": Lookup,
    "rgcn": RGCN,
    "stare": StarE,
    "vrgcn": VRGCN,
}

__all__ = [
    "ENCODERS",
    "GMPNN",
    "KEGCN",
    "RGCN",
    "VRGCN",
    "CompGCN",
    "Encoder",
    "InGram",
    "Lookup",
    "StarE",
]
