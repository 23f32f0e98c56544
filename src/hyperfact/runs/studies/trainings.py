"""Studies that are tables of trainings."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

from hyperfact.runs.studies import plots
from hyperfact.runs.studies.cells import Outcome
from hyperfact.runs.studies.paper import reported, rows_of
from hyperfact.runs.studies.recipes import PAPER, SYSTEMS, Changes
from hyperfact.runs.studies.study import Plan, Trainings, Workspace
from hyperfact.transforms import TRANSFORMS

_LOOKUP: Changes = {"encoder": {"name": "lookup", "initial_scale": 0.3}}


def _decoder(name: str) -> Changes:
    return {"decoder": {"name": name}}


class Main(Trainings):
    """The paper's main table: our rows beside every row that it reports."""

    name = "main"
    title = "Completion of hyper-relational facts"
    bases: ClassVar[Mapping[str, str]] = {"TransEQ by the paper's text": PAPER, **SYSTEMS}

    def variants(self) -> dict[str, Changes]:
        """TransEQ, its decoders without an encoder, and every system that has a recipe."""
        return {
            "TransEQ": {},
            "TransEQ by the paper's text": {},
            "m-DistMult": _LOOKUP,
            "HypE": {**_LOOKUP, **_decoder("hype")},
            "m-TransH": {**_LOOKUP, **_decoder("mtransh")},
            **{system: {} for system in SYSTEMS},
        }

    def lines(
        self, outcomes: Sequence[Outcome], workspace: Workspace, plan: Plan
    ) -> list[dict[str, Any]]:
        """Ours, then rows that the paper alone has."""
        ours = super().lines(outcomes, workspace, plan)
        have = {(line["dataset"], line["row"]) for line in ours}
        others = [
            {"dataset": dataset, "row": row}
            | {f"{m} paper": v for m, v in reported(self.name, dataset, row).items()}
            for dataset in dict.fromkeys(line["dataset"] for line in ours)
            for row in rows_of(self.name, dataset)
            if (dataset, row) not in have
        ]
        return [*ours, *others]

    def picture(
        self, outcomes: Sequence[Outcome], lines: Sequence[dict[str, Any]], workspace: Workspace
    ) -> bytes:
        """Bars of MRR, ours and the paper's."""
        del outcomes, workspace
        return plots.bars(lines, self.title)


class Transformations(Main):
    """Which graph the encoder sees."""

    name = "transformations"
    title = "Transformations compared"

    def variants(self) -> dict[str, Changes]:
        """Every transformation."""
        order = ("plain", "clique_plain", "clique_semantic", "no_distinction", "equivalent")
        assert set(order) == set(TRANSFORMS)
        return {name: {"graph": {"transformation": name}} for name in order}


class EncoderDecoder(Main):
    """Every decoder on every encoder."""

    name = "encoder-decoder"
    title = "Encoders and decoders"

    def variants(self) -> dict[str, Changes]:
        """Settings of the recipe stay where both members have them; attention wants small steps."""
        encoders: dict[str, Changes] = {
            "compgcn": {},
            "rgcn": {"encoder": {"name": "rgcn", "alpha": 1.0, "initial_scale": 0.3}},
            "lookup": _LOOKUP,
        }
        decoders = {
            "mtransh": _decoder("mtransh"),
            "transformer": {**_decoder("transformer"), "optimizer": {"lr": 0.001}},
            "mdistmult": {},
            "hype": _decoder("hype"),
        }
        return {f"{e}+{d}": {**encoders[e], **decoders[d]} for d, e in product(decoders, encoders)}


class Deviations(Main):
    """What our departures from the paper do: the recipe with one of them taken back, then all.

    A row tells what a setting does beside the other settings of the recipe, not what it is worth
    alone: without residual the others may not be right.
    """

    name = "deviations"
    title = "Departures from the paper, one taken back at a time, then all"
    most_seeds = 1
    bases: ClassVar[Mapping[str, str]] = {"all taken back": PAPER}

    def variants(self) -> dict[str, Changes]:
        """The recipe, then the paper's way or another in one respect, then its text."""
        return {
            "recipe": {},
            "d 200": {"training": {"dim": 200}},
            "normaliser published": {"encoder": {"normaliser": "published"}},
            "normaliser symmetric": {"encoder": {"normaliser": "symmetric"}},
            "other answers masked": {"objective": {"mask_others": True}},
            "each query counts once": {"objective": {"weigh_by": "queries"}},
            "batch hidden from the encoder": {"graph": {"hide_targets": "batch"}},
            "unseen entities keep their own vector": {
                "graph": {"unseen": "own", "strangers": None}
            },
            "no strangers": {"graph": {"strangers": 0.0}},
            "objects not turned": {"decoder": {"turn": "none"}},
            "dropout .2 on the product, no coordinates dropped": {
                "decoder": {"coordinate_dropout": 0.0, "query_dropout": 0.2}
            },
            "Adam": {"optimizer": {"name": "adam", "weight_decay": 0.0}},
            "ten negatives of each slot": {"objective": {"negatives": 10}},
            "one softmax for all slots": {"objective": {"joint": True}},
            "alpha .8": {"encoder": {"alpha": 0.8}},
            "activation tanh": {"encoder": {"activation": "tanh"}},
            "no residual": {"encoder": {"residual": False, "gate": None}},
            "weights of the last step": {"training": {"average": 0.0}},
            "graph of the paper's text": {"graph": {"mode": "paper-text"}},
            "all taken back": {},
        }


class Sharing(Trainings):
    """How much of a mediator's vector is shared by its primary relation."""

    name = "sharing"
    title = "The sharing ratio alpha"

    def variants(self) -> dict[str, Changes]:
        """From nothing to everything."""
        return {f"{a / 10:.1f}": {"encoder": {"alpha": a / 10}} for a in range(0, 11, 2)}

    def picture(
        self, outcomes: Sequence[Outcome], lines: Sequence[dict[str, Any]], workspace: Workspace
    ) -> bytes:
        """MRR and parameters over alpha; validation only where it means the same in every row."""
        del workspace
        versions: dict[str, set[str]] = {}  # before 0.2 test facts helped to filter
        for outcome in outcomes:
            versions.setdefault(outcome.dataset, set()).add(outcome.version)
        alike = [
            line if len(versions[line["dataset"]]) == 1 else {**line, "valid mrr": None}
            for line in lines
        ]
        return plots.sharing(alike, self.title)


class Curves(Trainings):
    """Clock time of training against MRR."""

    name = "curves"
    title = "Learning curves"
    needs_curve = True

    def variants(self) -> dict[str, Changes]:
        """With and without encoder."""
        return {
            "TransEQ": {},
            "HypE": {**_LOOKUP, **_decoder("hype")},
            "m-DistMult": _LOOKUP,
        }

    def picture(
        self, outcomes: Sequence[Outcome], lines: Sequence[dict[str, Any]], workspace: Workspace
    ) -> bytes:
        """Test MRR over seconds; the clock stands while facts are ranked."""
        del lines, workspace
        return plots.curves(outcomes, self.title)
