"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, candidatewise, triple_edges, triple_scorer, triple_distance, complex, conve,
distmult, duale, hype, mdistmult, mtransh, rotate, transe, transformer, transh, tucker.
"""

from collections.abc import Mapping

from hyperfact.models.decoders.complex import ComplEx
from hyperfact.models.decoders.conve import ConvE
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.distmult import DistMult
from hyperfact.models.decoders.duale import DualE
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.decoders.mdistmult import MDistMult
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.decoders.rotate import RotatE
from hyperfact.models.decoders.transe import TransE
from hyperfact.models.decoders.transformer import Transformer
from hyperfact.models.decoders.transh import TransH
from hyperfact.models.decoders.tucker import TuckER

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: Mapping[str, type[Decoder]] = {
    "complex": ComplEx,
    "conve": ConvE,
    "distmult": DistMult,
    "duale": DualE,
    "hype": HypE,
    "mdistmult": MDistMult,
    "mtransh": MTransH,
    "rotate": RotatE,
    "transe": TransE,
    "transformer": Transformer,
    "transh": TransH,
    "tucker": TuckER,
}

__all__ = [
    "DECODERS",
    "ComplEx",
    "ConvE",
    "Decoder",
    "DistMult",
    "DualE",
    "HypE",
    "MDistMult",
    "MTransH",
    "RotatE",
    "TransE",
    "TransH",
    "Transformer",
    "TuckER",
]
