"""Decoders: from facts and representations to scores; higher is more plausible.

Order: decoder, reach, one_query, candidatewise, asng, fact_norm, kindwise, unitwise, packing,
attention, readout, triple_edges, triple_scorer, triple_distance, boxe, complex, conve, distmult,
duale, getd, gran, hcnet, hinge_decoder, hsimple, hyconve, hycube, hynt_transformer, hype,
hytransformer, mcp, mdistmult, mtransh, nalp, ncomplex, neuinfer, rae, ram, reale, rotate, s2s,
stare_transformer, transe, transformer, transh, tucker.
"""

from typing import TYPE_CHECKING, Any

from hyperfact.models.family import Family

if TYPE_CHECKING:
    from hyperfact.models.decoders.decoder import Decoder

#: Every decoder a configuration may name. Adding one: a file beside this one, and a line here.
DECODERS: "Family[Decoder]" = Family(
    "hyperfact.models.decoders",
    {
        "boxe": "boxe.BoxE",
        "complex": "complex.ComplEx",
        "conve": "conve.ConvE",
        "distmult": "distmult.DistMult",
        "duale": "duale.DualE",
        "getd": "getd.GETD",
        "gran": "gran.GRAN",
        "hcnet": "hcnet.HCNet",
        "hinge": "hinge_decoder.HINGE",
        "hsimple": "hsimple.HSimplE",
        "hyconve": "hyconve.HyConvE",
        "hycube": "hycube.HyCubE",
        "hynt": "hynt_transformer.HyNT",
        "hype": "hype.HypE",
        "hytransformer": "hytransformer.HyTransformer",
        "mcp": "mcp.MCP",
        "mdistmult": "mdistmult.MDistMult",
        "mtransh": "mtransh.MTransH",
        "nalp": "nalp.NaLP",
        "ncomplex": "ncomplex.NComplex",
        "neuinfer": "neuinfer.NeuInfer",
        "rae": "rae.RAE",
        "ram": "ram.RAM",
        "reale": "reale.ReAlE",
        "rotate": "rotate.RotatE",
        "s2s": "s2s.S2S",
        "stare_transformer": "stare_transformer.StarETransformer",
        "transe": "transe.TransE",
        "transformer": "transformer.Transformer",
        "transh": "transh.TransH",
        "tucker": "tucker.TuckER",
    },
)


def __getattr__(name: str) -> Any:
    if name == "Decoder":
        from hyperfact.models.decoders.decoder import Decoder

        return Decoder
    return DECODERS.by_class(name)
