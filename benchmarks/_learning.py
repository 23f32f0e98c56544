"""How long a training takes until it has learned so much: two settings side by side."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from benchmarks.measure import row
from hyperfact.runs.build import resolve
from hyperfact.runs.setup import set_up
from hyperfact.runs.streaming import load_training
from hyperfact.runs.studies.recipes import recipe
from hyperfact.training.events import Epoch


class Aim(NamedTuple):
    """A validation MRR, filtered by train and valid facts, and who is to reach it."""

    dataset: str
    mrr: float
    before: str  # recipes
    after: str
    changes: Sequence[str] = ()  # of both
    more: Sequence[str] = ()  # of the second


#: The best recipes, narrower, with an offset, and with rates that fall in few epochs; on JF17K
#: counts are learned with the model.
SHORT = ("decoder.offset=0.8", "training.dim=256")
#: What .85 and .50 may be where test facts are filtered too; reckoned from other curves.
AIMS = (
    Aim(
        dataset="FB-AUTO",
        mrr=0.77,
        before="compgcn_mdistmult",
        after="best",
        more=(*SHORT, "decoder.coordinate_dropout=0.7", "optimizer.lr_decay=0.88"),
    ),
    Aim(
        dataset="JF17K",
        mrr=0.41,
        before="compgcn_mdistmult",
        after="best",
        changes=("training.validate_facts=1500",),
        more=(
            *(*SHORT, "decoder.coordinate_dropout=0.75", "optimizer.lr_decay=0.85"),
            *("evidence.learn=training", "evidence.quiet=0.3"),
        ),
    ),
)


def rows() -> Iterator[dict[str, Any]]:
    """Seconds of training, validations not counted, until each aim is reached."""
    for aim in AIMS:
        slow = _seconds(aim.dataset, aim.before, aim.mrr, aim.changes)
        fast = _seconds(aim.dataset, aim.after, aim.mrr, (*aim.changes, *aim.more))
        what = f"{aim.dataset}, training until validation {aim.mrr}"
        yield row(f"{what}, {aim.before}", slow, "s")
        yield row(f"{what}, {aim.after}", fast, "s", ratio=slow / fast)


def _seconds(dataset: str, base: str, mrr: float, changes: Sequence[str]) -> float:
    """Infinite where the training ends before."""
    config = resolve(recipe(dataset, {}, ("training.validate_every=2", *changes), base=base))
    setup, spent = set_up(config, load_training(config)), 0.0
    for event in setup.events(nullcontext):
        if isinstance(event, Epoch):
            spent += event.seconds
            if event.valid_mrr is not None and event.valid_mrr >= mrr:
                return spent
    return float("inf")
