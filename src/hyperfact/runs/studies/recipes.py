"""The recipe of a benchmark: the committed settings from which studies vary one thing."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hyperfact
from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import override
from hyperfact.errors import UserError

Changes = Mapping[str, Mapping[str, Any]]  # settings by section

_PACKAGE = Path(hyperfact.__file__).parent
#: Beside the package when it is installed, in the root of the repository when it is developed.
_FOLDERS = (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes")


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


def _file(dataset: str) -> Path:
    name = f"{dataset.lower().replace('-', '_')}_compgcn_mdistmult.toml"
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    known = sorted({p.name for folder in _FOLDERS for p in folder.glob("*_compgcn_mdistmult.toml")})
    raise UserError(f"there is no recipe for {dataset}; there are {', '.join(known) or 'none'}")
