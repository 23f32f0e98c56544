"""Encoders: from the transformed graph, or from facts, to vectors of entities and relations.

Order: encoder, batch_norm, graph_view, merging, anonymous, lookup, mediators, layers,
relation_graph, compgcn, hearing, gmpnn, ingram, kegcn, rgcn, stare, vrgcn.
"""

from typing import TYPE_CHECKING, Any

from hyperfact.models.family import Family

if TYPE_CHECKING:
    from hyperfact.models.encoders.encoder import Encoder

#: Every encoder a configuration may name. Adding one: a file beside this one, and a line here.
ENCODERS: "Family[Encoder]" = Family(
    "hyperfact.models.encoders",
    {
        "anonymous": "anonymous.Anonymous",
        "compgcn": "compgcn.CompGCN",
        "gmpnn": "gmpnn.GMPNN",
        "ingram": "ingram.InGram",
        "kegcn": "kegcn.KEGCN",
        "lookup": "lookup.Lookup",
        "rgcn": "rgcn.RGCN",
        "stare": "stare.StarE",
        "vrgcn": "vrgcn.VRGCN",
    },
)


def __getattr__(name: str) -> Any:
    if name == "Encoder":
        from hyperfact.models.encoders.encoder import Encoder

        return Encoder
    return ENCODERS.by_class(name)
