"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, one_query, candidatewise, asng, fact_norm, kindwise, packing, attention, readout,
triple_edges, triple_scorer, triple_distance, boxe, complex, conve, distmult, duale, getd, gran,
hinge_decoder, hsimple, hyconve, hycube, hynt_transformer, hype, hytransformer, mcp, mdistmult,
mtransh, nalp, ncomplex, neuinfer, rae, ram, reale, rotate, s2s, stare_transformer, transe,
transformer, transh, tucker.
"""

from collections.abc import Mapping

from hyperfact.models.decoders.boxe import BoxE
from hyperfact.models.decoders.complex import ComplEx
from hyperfact.models.decoders.conve import ConvE
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.distmult import DistMult
from hyperfact.models.decoders.duale import DualE
from hyperfact.models.decoders.getd import GETD
from hyperfact.models.decoders.gran import GRAN
from hyperfact.models.decoders.hinge_decoder import HINGE
from hyperfact.models.decoders.hsimple import HSimplE
from hyperfact.models.decoders.hyconve import HyConvE
from hyperfact.models.decoders.hycube import HyCubE
from hyperfact.models.decoders.hynt_transformer import HyNT
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.decoders.hytransformer import HyTransformer
from hyperfact.models.decoders.mcp import MCP
from hyperfact.models.decoders.mdistmult import MDistMult
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.decoders.nalp import NaLP
from hyperfact.models.decoders.ncomplex import NComplex
from hyperfact.models.decoders.neuinfer import NeuInfer
from hyperfact.models.decoders.rae import RAE
from hyperfact.models.decoders.ram import RAM
from hyperfact.models.decoders.reale import ReAlE
from hyperfact.models.decoders.rotate import RotatE
from hyperfact.models.decoders.s2s import S2S
from hyperfact.models.decoders.stare_transformer import StarETransformer
from hyperfact.models.decoders.transe import TransE
from hyperfact.models.decoders.transformer import Transformer
from hyperfact.models.decoders.transh import TransH
from hyperfact.models.decoders.tucker import TuckER

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: Mapping[str, type[Decoder]] = {
    "boxe": BoxE,
    "complex": ComplEx,
    "conve": ConvE,
    "distmult": DistMult,
    "duale": DualE,
    "getd": GETD,
    "gran": GRAN,
    "hinge": HINGE,
    "hsimple": HSimplE,
    "hyconve": HyConvE,
    "hycube": HyCubE,
    "hynt": HyNT,
    "hype": HypE,
    "hytransformer": HyTransformer,
    "mcp": MCP,
    "mdistmult": MDistMult,
    "mtransh": MTransH,
    "nalp": NaLP,
    "ncomplex": NComplex,
    "neuinfer": NeuInfer,
    "rae": RAE,
    "ram": RAM,
    "reale": ReAlE,
    "rotate": RotatE,
    "s2s": S2S,
    "stare_transformer": StarETransformer,
    "transe": TransE,
    "transformer": Transformer,
    "transh": TransH,
    "tucker": TuckER,
}

__all__ = [
    "DECODERS",
    "GETD",
    "GRAN",
    "HINGE",
    "MCP",
    "RAE",
    "RAM",
    "S2S",
    "BoxE",
    "ComplEx",
    "ConvE",
    "Decoder",
    "DistMult",
    "DualE",
    "HSimplE",
    "HyConvE",
    "HyCubE",
    "HyNT",
    "HyTransformer",
    "HypE",
    "MDistMult",
    "MTransH",
    "NComplex",
    "NaLP",
    "NeuInfer",
    "ReAlE",
    "RotatE",
    "StarETransformer",
    "TransE",
    "TransH",
    "Transformer",
    "TuckER",
]
