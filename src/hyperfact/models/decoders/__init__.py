"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, packing, attention, candidatewise, readout, gran, hynt_transformer, hype,
hytransformer, mdistmult, mtransh, stare_transformer, transformer.
"""

from collections.abc import Mapping

from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.gran import GRAN
from hyperfact.models.decoders.hynt_transformer import HyNT
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.decoders.hytransformer import HyTransformer
from hyperfact.models.decoders.mdistmult import MDistMult
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.decoders.stare_transformer import StarETransformer
from hyperfact.models.decoders.transformer import Transformer

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: Mapping[str, type[Decoder]] = {
    "gran": GRAN,
    "hynt": HyNT,
    "hype": HypE,
    "hytransformer": HyTransformer,
    "mdistmult": MDistMult,
    "mtransh": MTransH,
    "stare_transformer": StarETransformer,
    "transformer": Transformer,
}

__all__ = [
    "DECODERS",
    "GRAN",
    "Decoder",
    "HyNT",
    "HyTransformer",
    "HypE",
    "MDistMult",
    "MTransH",
    "StarETransformer",
    "Transformer",
]
