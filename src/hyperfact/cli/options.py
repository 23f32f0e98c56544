"""Options in groups, and options whose values are the names of a table.

Commands that share options take them as one argument, a frozen dataclass with a field for each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

#: Parameters whose values are the names of a table, which is loaded when help is asked for.
TABLES: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "encoder": lambda: import_module("hyperfact.runs.extensions").TABLES["encoder"],
    "decoder": lambda: import_module("hyperfact.runs.extensions").TABLES["decoder"],
    "study": lambda: import_module("hyperfact.runs.studies").STUDIES,
    "space": lambda: import_module("hyperfact.runs.tune").SPACES,
    "by": lambda: import_module("hyperfact.evaluation").SLICES,
}


LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="What names are called: TSV, CSV or JSON of id and label.",
        show_default=False,
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--use",
        metavar="FILE",
        help="A Python file with an encoder or a decoder of your own; its code is run.",
        show_default=False,
    ),
]


class NamingCommand(TyperCommand):
    """A command whose help names the members of tables; most take a second to load."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with every name."""
        for parameter in self.params:
            table = TABLES.get(parameter.name or "")
            if table is not None and isinstance(parameter, TyperArgument | TyperOption):
                about = (parameter.help or "").partition(" One of ")[0]
                parameter.help = f"{about} One of {', '.join(table())}."
        super().format_help(ctx, formatter)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command as the parser wants it: each field of its groups is an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        parameters += [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=own[f.name])
            for f in fields(groups[name])
        ]

    @wraps(command)
    def expanded(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        command(**given)

    ordered = sorted(parameters, key=lambda parameter: parameter.kind)
    expanded.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in parameters}
    return expanded


def with_code(command: Callable[..., None]) -> Callable[..., None]:
    """A command that also takes code of the user's own, loaded before it begins."""
    before = signature(command, eval_str=True)
    use = Parameter("use", Parameter.KEYWORD_ONLY, default=None, annotation=Files)

    @wraps(command)
    def loading(*words: Any, use: Sequence[Path] | None = None, **given: Any) -> None:
        if use:
            load = import_module("hyperfact.runs.extensions").use
            for path in use:
                load(path)
        command(*words, **given)

    parameters = [*before.parameters.values(), use]
    loading.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    loading.__annotations__ = {p.name: p.annotation for p in parameters}
    return loading
