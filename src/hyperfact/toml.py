"""TOML text of settings: dotted overrides in, documented sections out."""

import json
import tomllib
from typing import Any

from pydantic import BaseModel

from hyperfact.errors import ConfigError


def override(tree: dict[str, Any], text: str) -> None:
    """Put one `section.key=value` into the tree; a value that is not TOML is a string."""
    name, equals, value = text.partition("=")
    parts = name.strip().split(".")
    if not equals or len(parts) != 2 or not all(parts):
        raise ConfigError(f"an override is written section.key=value, got {text!r}")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    section = tree.setdefault(parts[0], {})
    if not isinstance(section, dict):
        raise ConfigError(f"{parts[0]!r} is not a section")
    section[parts[1]] = parsed


def settings_lines(part: BaseModel, kind: type[BaseModel] | None) -> list[str]:
    """Each setting on its line; above it, where `kind` is given, what it means there."""
    values = part.model_dump()
    lines = []
    for key, value in values.items():
        if kind is not None:
            field = kind.model_fields.get(key) or type(part).model_fields[key]
            lines.append(f"# {field.description}")
        lines.append(f"# {key} is not set" if value is None else f"{key} = {_value(value)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return repr(value)
