"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, candidatewise, fact_norm, kindwise, boxe, hinge_decoder, hyconve, hycube, hype,
mdistmult, mtransh, nalp, neuinfer, rae, transformer.
"""

from collections.abc import Mapping

from hyperfact.models.decoders.boxe import BoxE
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.hinge_decoder import HINGE
from hyperfact.models.decoders.hyconve import HyConvE
from hyperfact.models.decoders.hycube import HyCubE
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.decoders.mdistmult import MDistMult
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.decoders.nalp import NaLP
from hyperfact.models.decoders.neuinfer import NeuInfer
from hyperfact.models.decoders.rae import RAE
from hyperfact.models.decoders.transformer import Transformer

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: Mapping[str, type[Decoder]] = {
    "boxe": BoxE,
    "hinge": HINGE,
    "hyconve": HyConvE,
    "hycube": HyCubE,
    "hype": HypE,
    "mdistmult": MDistMult,
    "mtransh": MTransH,
    "nalp": NaLP,
    "neuinfer": NeuInfer,
    "rae": RAE,
    "transformer": Transformer,
}

__all__ = [
    "DECODERS",
    "HINGE",
    "RAE",
    "BoxE",
    "Decoder",
    "HyConvE",
    "HyCubE",
    "HypE",
    "MDistMult",
    "MTransH",
    "NaLP",
    "NeuInfer",
    "Transformer",
]
