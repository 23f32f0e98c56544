"""The models that can be chosen, as rows: what each is, costs, can do, and has reached."""

import csv
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hyperfact.models.model_card import Card
from hyperfact.runs.configurations import read_config, recipes
from hyperfact.runs.extensions import TABLES
from hyperfact.runs.studies.paper import reported
from hyperfact.runs.studies.recipes import OURS, SYSTEMS, name_of

_FIGURES = "figures.tsv"  # beside this module; from the stored results


@dataclass(frozen=True)
class Figure:
    """What a system reached with our protocol."""

    system: str  # as tables call it
    dataset: str
    encoder: str
    decoder: str
    mrr: float  # test, all slots, mean over seeds
    seeds: int
    seconds: float  # an epoch


@dataclass(frozen=True)
class ModelRow:
    """One encoder or decoder."""

    kind: str  # encoder or decoder
    name: str
    card: Card | None  # None: somebody else's, without one
    slots: str  # that it can fill with its default settings
    training: str  # what its questions are trained against by default
    best: Figure | None  # on FB-AUTO

    def as_dict(self) -> dict[str, Any]:
        """By the names that commands print."""
        card = vars(self.card) if self.card is not None else {}
        best = vars(self.best) if self.best is not None else None
        return {**vars(self), **card, "card": None, "best": best}


def list_models(kind: str | None = None) -> list[ModelRow]:
    """Every encoder and decoder, by kind, year and name.

    Args:
        kind: Only encoders, or only decoders.
    """
    figures = [f for f in stored_figures() if f.dataset == "FB-AUTO"]
    rows = []
    for family, table in TABLES.items():
        for name, owner in table.items():
            own = [f for f in figures if getattr(f, family) == name]
            best = max(own, key=lambda f: f.mrr, default=None)
            values = family == "encoder" or owner.fills_values(owner.Settings())
            negatives = getattr(owner, "negatives", 0)
            rows.append(
                ModelRow(
                    family,
                    name,
                    owner.card,
                    "all" if values else "subject, object",
                    f"{negatives} negatives a slot" if negatives else "all entities",
                    best,
                )
            )
    wanted = [row for row in rows if kind in (None, row.kind)]
    return sorted(wanted, key=lambda r: (r.kind, r.card.year if r.card else 9999, r.name))


@dataclass(frozen=True)
class SystemRow:
    """A published pair of encoder and decoder, as a recipe on one benchmark."""

    kind: str  # system
    name: str  # as tables call it
    recipe: str
    dataset: str
    encoder: str
    decoder: str
    published: float | None  # MRR, under the protocol of its source
    best: Figure | None  # ours

    def as_dict(self) -> dict[str, Any]:
        """By the names that commands print."""
        return {**vars(self), "best": vars(self.best) if self.best is not None else None}


def list_systems() -> list[SystemRow]:
    """Every published system with its recipes."""
    figures = {(f.system, f.dataset): f for f in stored_figures()}
    found = []
    for system, ending in {"TransEQ": OURS, **SYSTEMS}.items():
        for recipe in (name for name in recipes() if name.endswith(f"_{ending}")):
            config = read_config(Path(recipe))
            pair = (config.encoder.name, config.decoder.name, config.data.dataset)
            if recipe == name_of(pair[2], ending):  # not another system that ends the same way
                published = reported("main", pair[2], system).get("mrr")
                best = figures.get((system, pair[2]))
                row = (system, recipe, pair[2], *pair[:2], published, best)
                found.append(SystemRow("system", *row))
    return found


def stored_figures() -> list[Figure]:
    """Figures of the stored results, by system and dataset."""
    text = files(__package__).joinpath(_FIGURES).read_text(encoding="utf-8")
    return [
        Figure(
            row["system"],
            row["dataset"],
            row["encoder"],
            row["decoder"],
            float(row["mrr"]),
            int(row["seeds"]),
            float(row["seconds"]),
        )
        for row in csv.DictReader(text.splitlines(), delimiter="\t")
    ]
