"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, candidatewise, asng, getd, hsimple, hype, mcp, mdistmult, mtransh, ncomplex, ram,
reale, s2s, transformer.
"""

from collections.abc import Mapping

from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.getd import GETD
from hyperfact.models.decoders.hsimple import HSimplE
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.decoders.mcp import MCP
from hyperfact.models.decoders.mdistmult import MDistMult
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.decoders.ncomplex import NComplex
from hyperfact.models.decoders.ram import RAM
from hyperfact.models.decoders.reale import ReAlE
from hyperfact.models.decoders.s2s import S2S
from hyperfact.models.decoders.transformer import Transformer

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: Mapping[str, type[Decoder]] = {
    "getd": GETD,
    "hsimple": HSimplE,
    "hype": HypE,
    "mcp": MCP,
    "mdistmult": MDistMult,
    "mtransh": MTransH,
    "ncomplex": NComplex,
    "ram": RAM,
    "reale": ReAlE,
    "s2s": S2S,
    "transformer": Transformer,
}

__all__ = [
    "DECODERS",
    "GETD",
    "MCP",
    "RAM",
    "S2S",
    "Decoder",
    "HSimplE",
    "HypE",
    "MDistMult",
    "MTransH",
    "NComplex",
    "ReAlE",
    "Transformer",
]
