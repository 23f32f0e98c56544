"""The recipes of a benchmark: the committed settings from which studies vary one thing."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import override
from hyperfact.errors import UserError
from hyperfact.runs.configurations import recipes

Changes = Mapping[str, Mapping[str, Any]]  # settings by section

OURS, PAPER = "compgcn_mdistmult", "paper"  # what recipes are called after their benchmark
#: Published systems as tables call them, and what their recipes are called after the benchmark.
SYSTEMS: Mapping[str, str] = {
    "RAE": "rae",
    "NaLP": "nalp",
    "HINGE": "hinge",
    "NeuInfer": "neuinfer",
    "m-CP": "mcp",
    "HSimplE": "hsimple",
    "RAM": "ram",
    "GETD": "getd",
    "S2S": "s2s",
    "n-ary ComplEx": "ncomplex",
    "BoxE": "boxe",
    "ReAlE": "reale",
    "HyConvE": "hyconve",
    "HyCubE": "hycube",
    "G-MPNN": "gmpnn_mdistmult",
    "InGram": "ingram_mdistmult",
    "HCNet": "hcnet",
    "StarE": "stare_transformer",
    "Hy-Transformer": "hytransformer",
    "GRAN": "gran",
    "HyNT": "hynt",
    "DistMult": "distmult",
    "ComplEx": "complex",
    "ConvE": "conve",
    "CompGCN + ConvE": "compgcn_conve",
    "TuckER": "tucker",
    "RotatE": "rotate",
    "m-DistMult + counts": "evidence",
    "hyperfact": "best",
    "hyperfact, train+valid": "whole",
}
_ELSEWHERE = "FB-AUTO"  # its recipe of a system serves benchmarks that have none
_COMPONENTS = ("encoder", "decoder")


def recipe(
    dataset: str, changes: Changes, overrides: Sequence[str] = (), *, base: str = OURS
) -> ExperimentConfig:
    """A recipe of a benchmark, with changes of sections, then dotted overrides.

    An encoder or decoder that is named anew is replaced as a whole, for options differ; None takes
    a setting out.

    Args:
        dataset: The benchmark.
        changes: Settings by section.
        overrides: Settings as the command line gives them.
        base: Which recipe: `OURS`, `PAPER` for the letter of the paper, or a value of `SYSTEMS`.

    Raises:
        UserError: There is no recipe for it.
    """
    tree = tomllib.loads(_file(dataset, base).read_text(encoding="utf-8"))
    tree["data"]["dataset"] = dataset
    for section, values in changes.items():
        is_replaced = section in _COMPONENTS and "name" in values
        kept = {} if is_replaced else tree.get(section, {})
        merged = {**kept, **values}
        tree[section] = {name: value for name, value in merged.items() if value is not None}
    for change in overrides:
        override(tree, change)
    return ExperimentConfig.from_dict(tree)


def has_recipe(dataset: str, base: str) -> bool:
    """Whether a benchmark has a recipe of this kind."""
    return name_of(dataset, base) in recipes()


def name_of(dataset: str, base: str) -> str:
    """Of the recipe of a benchmark."""
    return f"{dataset.lower().replace('-', '_')}_{base}"


def _file(dataset: str, base: str) -> Traversable:
    known = {recipe: file for recipe, file in recipes().items() if recipe.endswith(f"_{base}")}
    places = (dataset, _ELSEWHERE) if base in SYSTEMS.values() else (dataset,)
    for place in places:
        if (name := name_of(place, base)) in known:
            return known[name]
    raise UserError(f"there is no recipe for {dataset}; there are {', '.join(known)}")
