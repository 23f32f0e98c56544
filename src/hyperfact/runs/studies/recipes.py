"""The recipe of a benchmark: the committed settings from which studies vary one thing."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import override
from hyperfact.errors import UserError
from hyperfact.runs.configurations import recipes

Changes = Mapping[str, Mapping[str, Any]]  # settings by section

_ENDING = "_compgcn_mdistmult"


def recipe(dataset: str, changes: Changes, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """CompGCN and m-DistMult on a benchmark, with changes of sections, then dotted overrides.

    A section that names another component is replaced as a whole, for options differ; None takes
    a setting out.

    Raises:
        UserError: There is no recipe for it.
    """
    tree = tomllib.loads(_file(dataset).read_text(encoding="utf-8"))
    for section, values in changes.items():
        kept = {} if "name" in values else tree.get(section, {})
        merged = {**kept, **values}
        tree[section] = {name: value for name, value in merged.items() if value is not None}
    for change in overrides:
        override(tree, change)
    return ExperimentConfig.from_dict(tree)


def _file(dataset: str) -> Traversable:
    name = dataset.lower().replace("-", "_") + _ENDING
    known = {recipe: file for recipe, file in recipes().items() if recipe.endswith(_ENDING)}
    if name not in known:
        raise UserError(f"there is no recipe for {dataset}; there are {', '.join(known)}")
    return known[name]
