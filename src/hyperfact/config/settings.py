"""Settings as frozen sections: checked, read from and written to TOML.

Unknown settings are errors that say the nearest name, and so are settings that the chosen component
or the other settings leave without effect.
"""

import json
import tomllib
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hyperfact.errors import ConfigError, UnknownNameError, nearest


class Section(BaseModel):
    """A frozen group of settings; every field has a default and a description."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def unused(self) -> Mapping[str, str]:
        """Settings without effect beside the others, each with what it needs."""
        return {}


class Component(BaseModel):
    """A member of a table (an encoder, a decoder) by name, with the options it declares itself."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """What the configuration sets beside the name."""
        return dict(self.model_extra or {})


class HasSettings(Protocol):
    """A member of a table."""

    Settings: ClassVar[type[Section]]


S = TypeVar("S", bound="Section")
T = TypeVar("T", bound=HasSettings)


def member(table: Mapping[str, type[T]], kind: str, name: str) -> type[T]:
    """The class of this name, or an error that says the nearest one."""
    if name not in table:
        raise UnknownNameError(kind, name, table)
    return table[name]


def settings_of(table: Mapping[str, type[T]], kind: str, section: Component) -> Section:
    """The complete settings of a component: its options over its own defaults."""
    owner, where = member(table, kind, section.name), f"{kind}."
    for option in section.options.keys() - owner.Settings.model_fields.keys():
        if any(option in other.Settings.model_fields for other in table.values()):
            raise ConfigError(f"{where}{option} is not used by the {kind} {section.name!r}")
    settings = validate(owner.Settings, section.options, where)
    refuse_unused(settings, section.options, where)
    return settings


def validate(kind: type[S], tree: Mapping[str, Any], where: str) -> S:
    """Check a mapping against a section; errors name the dotted setting."""
    try:
        return kind.model_validate(dict(tree))
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(part) for part in first["loc"]]
        raise ConfigError(_explain(kind, where, path, first)) from error


def _explain(kind: type[Section], where: str, path: list[str], error: Any) -> str:
    name = where + ".".join(path)
    if error["type"] == "extra_forbidden":
        owner = kind
        for part in path[:-1]:
            owner = owner.model_fields[part].annotation  # type: ignore[assignment]
        near = nearest(path[-1], owner.model_fields)
        hint = f"; did you mean {near!r}?" if near is not None else ""
        return f"unknown setting {name!r}{hint} (known: {', '.join(sorted(owner.model_fields))})"
    return f"the setting {name!r} is wrong: {error['msg']}, got {error['input']!r}"


def refuse_unused(section: Section, tree: Mapping[str, Any], where: str) -> None:
    """Settings that the others make meaningless are errors; silence would hide a mistake."""
    for key, needs in section.unused().items():
        default = type(section).model_fields[key].default
        if key in tree and getattr(section, key) != default:
            raise ConfigError(f"the setting {where + key!r} is unused: it needs {needs}")


# -- text ----------------------------------------------------------------------------------------


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


def settings_lines(part: BaseModel, meanings: Mapping[str, str] | None) -> list[str]:
    """Each setting on its line; above it what it means: as told here, or by its declaration."""
    values = part.model_dump()
    lines = []
    for key, value in values.items():
        if meanings is not None:
            meaning = meanings.get(key) or type(part).model_fields[key].description
            lines.append(f"# {meaning}")
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
