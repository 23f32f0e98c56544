"""The command that lists models."""

from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.common import AsJson, app
from hyperfact.cli.printing import note, print_json, print_table
from hyperfact.errors import UnknownNameError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.runs.model_list import ModelRow, SystemRow

_SYSTEM = ("system", "benchmark", "model", "published MRR", "our MRR", "recipe")
_KINDS = ("decoder", "encoder", "system")


@app.command("models")
def models_(
    kind: Annotated[
        str | None, typer.Argument(metavar="[decoder|encoder|system]", help="Only these.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List encoders, decoders and published systems: whence, what they cost, what they can do.

    Example: `hyperfact models decoder`
    """
    if kind is not None and kind not in _KINDS:
        raise UnknownNameError("kind of model", kind, _KINDS)
    from hyperfact.runs.model_list import list_models, list_systems

    rows, systems = list_models(kind), list_systems() if kind in (None, "system") else []
    if as_json:
        told = [row.as_dict() for row in rows]
        print_json([*told, *(system.as_dict() for system in systems)])
        return
    for family in dict.fromkeys(row.kind for row in rows):
        table = {row.name: _cells(row) for row in rows if row.kind == family}
        head = next(iter(table.values()))
        print_table((family, *head), [(name, *cells.values()) for name, cells in table.items()])
    if systems:
        print_table(_SYSTEM, [_system(row) for row in systems])
    note("any encoder goes with any decoder: `hyperfact train --encoder NAME --decoder NAME`")


def _system(row: "SystemRow") -> tuple[str, ...]:
    published = "" if row.published is None else f"{row.published:.3f}"
    ours = "" if row.best is None else f"{row.best.mrr:.3f}"
    return (row.name, row.dataset, f"{row.encoder} + {row.decoder}", published, ours, row.recipe)


def _cells(row: "ModelRow") -> dict[str, str]:
    """What is shown of a model, by column."""
    card, best = row.card, row.best
    cells = {"year": str(card.year) if card else ""}
    if row.kind == "decoder":
        expressive = {True: "yes", False: "no", None: ""}[card.is_expressive if card else None]
        cells |= {"slots": row.slots, "expressive": expressive, "trained against": row.training}
    return cells | {
        "FB-AUTO MRR": f"{best.mrr:.3f}" if best else "",
        "s an epoch": f"{best.seconds:.1f}" if best else "",
        "cost": card.cost if card else "",
    }
