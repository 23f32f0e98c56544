"""What the card shows: dataset, model, results by slice, the protocol in words, limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hyperfact.data.stats import Stats, stats_of
from hyperfact.predict.fitting import Kind
from hyperfact.serve.addresses import frame
from hyperfact.serve.opened import Served

_METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
_TITLES = {"mrr": "MRR", "hits@1": "Hits@1", "hits@3": "Hits@3", "hits@10": "Hits@10"}
#: What each choice of the protocol means, in words.
_MEANINGS = {
    ("slots", "all"): "every slot is asked: subject, object and each value",
    ("slots", "so"): "subject and object are asked, values are not",
    ("given", "all"): "a question gives every qualifier of its fact",
    ("given", "half"): "a question gives about half of the qualifiers of its fact",
    ("given", "none"): "a question gives no qualifier",
    ("filter", "exact"): "answers that other known facts make true do not compete",
    ("filter", "ignore-qualifiers"): "answers true under any qualifiers do not compete",
    ("filter", "train+valid"): "answers of other known facts, test facts aside, do not compete",
    ("filter", "train-only"): "answers of training facts do not compete",
    ("filter", "none"): "all answers compete, also the true ones",
    ("ties", "realistic"): "among equal scores the answer gets the middle place",
    ("ties", "optimistic"): "among equal scores the answer gets the best place",
    ("ties", "pessimistic"): "among equal scores the answer gets the worst place",
    ("candidates", "all"): "every entity competes",
    ("candidates", "seen-so"): "entities compete that are subject or object of a known fact",
    ("unseen", "keep"): "facts with entities that training never saw are asked too",
    ("unseen", "skip"): "facts with entities that training never saw are left out",
    ("average", "micro"): "every asked slot counts the same",
}

#: Kinds of questions that have a temperature of their own, in words.
_CALIBRATED: tuple[tuple[Kind, str], ...] = (
    ("entity", "questions that say as much as a fact"),
    ("partial", "questions that leave qualifiers out"),
)


@dataclass(frozen=True)
class Slice:
    """Results on one part of the asked slots."""

    name: str
    numbers: tuple[float | None, ...]
    ranks: int | None


def card_of(served: Served) -> dict[str, Any]:
    """Everything that the template of the card needs."""
    predictor = served.predictor
    stored = predictor.stored
    metrics: Mapping[str, Any] = {} if stored is None else stored.metrics
    manifest: Mapping[str, Any] = {} if stored is None else stored.manifest
    splits = [s for s in ("test", "valid") if isinstance(metrics.get(s), Mapping)]
    with served.lock:
        fitted = [(words, predictor.calibration(kind)) for kind, words in _CALIBRATED]
    stats = stats_of(predictor.splits)
    return {
        **frame(served, "card"),
        "config": predictor.config,
        "stats": stats,
        "arities": _arities(stats),
        "results": {split: _slices(metrics[split]) for split in splits},
        "metrics": metrics,
        "columns": tuple(_TITLES[m] for m in _METRICS),
        "protocol": _protocol(metrics[splits[0]]) if splits else [],
        "candidates": metrics[splits[0]].get("candidates") if splits else None,
        "calibrations": [(words, one) for words, one in fitted if one is not None],
        "versions": manifest.get("versions", {}),
    }


def _slices(found: Mapping[str, Any]) -> list[Slice]:
    rows = [("all", found)]
    for kind, word in (("by_slot", "slot"), ("by_arity", "arity")):
        some = found.get(kind)
        if isinstance(some, Mapping):
            rows += [(f"{word} {name}", part) for name, part in some.items()]
    return [
        Slice(name, tuple(part.get(m) for m in _METRICS), part.get("ranks")) for name, part in rows
    ]


def _protocol(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Choice, value and meaning."""
    policy = found.get("policy")
    if not isinstance(policy, Mapping):
        return []
    return [(key, str(v), _MEANINGS.get((key, str(v)), "")) for key, v in policy.items()]


def _arities(stats: Stats) -> list[tuple[int, int, float]]:
    """Arity, facts of it in all splits, and their share of the most frequent arity."""
    total: dict[int, int] = {}
    for split in stats.splits:
        for arity, count in split.arities.items():
            total[arity] = total.get(arity, 0) + count
    most = max([*total.values(), 1])
    return [(arity, total[arity], total[arity] / most) for arity in sorted(total)]
