"""Write the pages and the picture that are made from the code.

    python -m tools.reference

`docs/reference/commands.md` comes from the command line, `docs/reference/config.md` from the
sections of settings and the tables of encoders and decoders, `docs/models` from the docstring and
card of each of them, `docs/images/fact.svg` from `hyperfact draw`. A test says when one of them is
out of date.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.main import get_command

from hyperfact.cli import app
from hyperfact.config import ExperimentConfig
from hyperfact.draw import draw_fact
from hyperfact.graph.queries import read_fact
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.runs.configurations import read_config, recipes

DOCS = Path(__file__).resolve().parents[1] / "docs"
FACT = (
    "Hank Aaron | won award | Gold Glove | league = National League | position = RF | season = 1958"
)
COMMANDS_HEAD = """# Commands

Made from the code by `python -m tools.reference`.

`DATASET` is a bundled name (`baseball`, `world`), a benchmark name (`hyperfact datasets` lists
them), a file, or a folder with files named after train, valid and test. `RUN` is a run directory.
Questions and facts are written in the [fact syntax](fact-syntax.md). Every command has `--help`,
and `--json` where it reports something; results go to stdout, messages and progress to stderr.
Before the command stand `--debug` (a traceback on errors) and `--version`. [Exit
codes](exit-codes.md) are the same for all.

Benchmarks are looked up in `--data-dir`, then in the folder named by `HYPERFACT_DATA`, then in the
cache (`HYPERFACT_CACHE`, else `~/.cache/hyperfact/data`); if absent everywhere they are downloaded,
verified by SHA-256 and placed in the cache. Without network one line says which files are missing
and where to put them.
"""
CONFIG_HEAD = """# Settings

Made from the code by `python -m tools.reference`.

Every setting of a configuration, with its default. `hyperfact config show` prints the same for
the parts you choose, as TOML. A setting is `section.name`; override one with
`--set section.name=value`.
"""
RECIPES_HEAD = """## Recipes

Complete configurations of results that we report, by name: `hyperfact train NAME`,
`hyperfact config show NAME`.
"""


def main() -> None:
    """Write all of them."""
    for name, make in GENERATED.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")


# -- commands ------------------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Every command of the command line by its full name."""
    return dict(_leaves(get_command(app), ""))


def _leaves(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{before}{name} ")
        else:
            yield before + name, command


def commands_page() -> str:
    """The page on commands."""
    found = commands()
    rows = [
        (f"[`hyperfact {name}`](#{name.replace(' ', '-')})", _first_line(command.help))
        for name, command in found.items()
    ]
    parts = [COMMANDS_HEAD, _table(("command", "what it does"), rows)]
    return "\n".join([*parts, *(_command(name, command) for name, command in found.items())])


def _command(name: str, command: Any) -> str:
    places = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join(["hyperfact", name, *(["[OPTIONS]"] if options else []), *map(_place, places)])
    parts = [f"## {name}\n", f"```text\n{usage}\n```\n", command.help.strip() + "\n"]
    if places:
        meanings = [(f"`{_place(p)}`", p.help or "") for p in places]
        parts.append(_table(("argument", "meaning"), meanings))
    if options:
        rows = [(_option(p), _default(p), p.help or "") for p in options]
        parts.append(_table(("option", "default", "meaning"), rows))
    return "\n".join(parts)


def _place(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _option(param: Any) -> str:
    value = "" if param.is_flag else f" {param.metavar or param.name.split('_')[-1].upper()}"
    shown = ", ".join(f"`{opt}{value}`" for opt in [*param.opts, *param.secondary_opts])
    return shown + (", repeatable" if param.multiple else "")


def _default(param: Any) -> str:
    if param.required:
        return "required"
    return "" if param.is_flag or param.default is None else f"`{param.default}`"


# -- settings ------------------------------------------------------------------------------------


def config_page() -> str:
    """The page on settings."""
    parts = [CONFIG_HEAD]
    tables: Mapping[str, Mapping[str, Any]] = {"encoder": ENCODERS, "decoder": DECODERS}
    for name, field in ExperimentConfig.model_fields.items():
        kind: Any = field.annotation
        parts.append(_section(f"`[{name}]`", kind, kind))
        for member, owner in tables.get(name, {}).items():
            parts.append(_section(f'`[{name}]` with `name = "{member}"`', owner, owner.Settings))
    return "\n".join([*parts, _recipes()])


def _recipes() -> str:
    configs = {name: read_config(Path(name)) for name in recipes()}
    rows = [
        (f"`{name}`", c.data.dataset, f"`{c.encoder.name}`", f"`{c.decoder.name}`")
        for name, c in configs.items()
    ]
    table = _table(("recipe", "dataset", "encoder", "decoder"), rows)
    return f"{RECIPES_HEAD}\n{table}"


def _section(heading: str, owner: type, settings: type[BaseModel]) -> str:
    rows = [
        (f"`{name}`", _value(field.default), _takes(field), field.description or "")
        for name, field in settings.model_fields.items()
    ]
    table = _table(("setting", "default", "takes", "meaning"), rows)
    return f"## {heading}\n\n{_first_line(getdoc(owner))}\n\n{table}"


def _value(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _takes(field: FieldInfo) -> str:
    """What a setting may be: the values of a choice, or a type with its bounds."""
    kind = field.annotation
    parts = [kind, *get_args(kind), *(x for arg in get_args(kind) for x in get_args(arg))]
    choices = [f"`{part}`" for part in parts if isinstance(part, str)]
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    bounds = [
        f"{sign} {bound:g}"
        for mark in field.metadata
        for name, sign in signs.items()
        if (bound := getattr(mark, name, None)) is not None
    ]
    types = [text for type_, text in _TYPES.items() if type_ in parts]
    return ", ".join(
        [*choices, *(" ".join([text, " and ".join(bounds)]).strip() for text in types)]
    )


_TYPES = {bool: "`true`, `false`", int: "whole number", float: "number", str: "text"}


# -- models --------------------------------------------------------------------------------------

MODELS_HEAD = """# Models

Made from the code by `python -m tools.reference`. `hyperfact models` prints the same table with
our figures. Any encoder goes with any decoder; a pair that cannot be says why.
"""


def models_page() -> str:
    """The page that lists all models."""
    parts = [MODELS_HEAD]
    for kind, table in _FAMILIES.items():
        rows = [
            (
                f"[`{name}`]({kind}s/{name}.md)",
                card.title if (card := owner.card) else "",
                str(card.year) if card else "",
                _expressive(card.is_expressive) if card else "",
                _first_line(getdoc(owner)),
            )
            for name, owner in table.items()
        ]
        head = (kind, "published as", "year", "fully expressive", "")
        parts.append(f"## {kind.capitalize()}s\n\n{_table(head, rows)}")
    return "\n".join(parts)


def model_page(kind: str, name: str) -> str:
    """The page of one model: idea, formula, cost, qualifiers, reference, settings."""
    owner = _FAMILIES[kind][name]
    card, module = owner.card, import_module(owner.__module__)
    parts = [f"# {card.title if card else name}\n", f"`--{kind} {name}`\n"]
    parts += [_first_line(module.__doc__) + "\n", (getdoc(owner) or "") + "\n"]
    if card is not None:
        facts = {"Cost": card.cost, "Qualifiers": card.qualifiers, "Reference": card.reference}
        facts["Fully expressive"] = _expressive(card.is_expressive) or "not known"
        if kind == "decoder":
            count = owner.negatives
            facts["Trained against"] = f"{count} negatives a slot" if count else "all entities"
        parts.append(_table(("", ""), [(f"**{k}**", v) for k, v in facts.items()]))
    parts.append(_section("Settings", owner.Settings, owner.Settings))
    return "\n".join(parts)


def _expressive(known: bool | None) -> str:  # noqa: FBT001 - a field of the card
    return {True: "yes", False: "no", None: ""}[known]


_FAMILIES: Mapping[str, Mapping[str, Any]] = {"decoder": DECODERS, "encoder": ENCODERS}


# -- pieces --------------------------------------------------------------------------------------


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def picture() -> str:
    """The picture of the first page, as `hyperfact draw` writes it."""
    return f"{draw_fact(read_fact(FACT))}\n"


#: Every file that is made from the code, below docs/.
GENERATED: Mapping[str, Callable[[], str]] = {
    "images/fact.svg": picture,
    "models/index.md": models_page,
    **{
        f"models/{kind}s/{name}.md": partial(model_page, kind, name)
        for kind, table in _FAMILIES.items()
        for name in table
    },
    "reference/commands.md": commands_page,
    "reference/config.md": config_page,
}


if __name__ == "__main__":
    main()
