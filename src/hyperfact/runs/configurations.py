"""Configurations from where they lie: a TOML file, or a recipe of the package by its name.

A recipe (`runs/recipes/*.toml`) is the complete configuration of a result that we report.
"""

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError, nearest

_FOLDER = files("hyperfact.runs") / "recipes"
_ENDING = ".toml"


def recipes() -> dict[str, Traversable]:
    """The recipes of the package by name."""
    found = (file for file in _FOLDER.iterdir() if file.name.endswith(_ENDING))
    return {file.name.removesuffix(_ENDING): file for file in sorted(found, key=lambda f: f.name)}


def read_config(source: Path | None, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """From a file or the name of a recipe (None: defaults only), then dotted overrides.

    Raises:
        ConfigError: Neither a file nor a recipe; an unknown, wrong or unused setting.
    """
    if source is None:
        return ExperimentConfig.from_toml("", overrides)
    try:
        text = _file(source).read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{source}: cannot be read: {error}") from error
    try:
        return ExperimentConfig.from_toml(text, overrides)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error


def _file(source: Path) -> Path | Traversable:
    """A file goes before a recipe of the same name."""
    known = recipes()
    name = str(source)
    if source.exists() or source.suffix or name not in known:
        near = nearest(source.stem, known)
        if near is not None and not source.exists():
            raise ConfigError(f"{source}: no such file; did you mean the recipe {near!r}?")
        return source
    return known[name]
