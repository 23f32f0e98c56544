"""The map of a run: the vectors of entities and mediators in two dimensions, computed once.

The two directions are those in which the vectors differ most (principal components), of entities
and mediators together. Which of two mirrored maps is drawn is a convention, so the map of a run is
always the same.
"""

from dataclasses import asdict, dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.predict import Predictor

ENTITIES, MEDIATORS = 1200, 800  # so many points at most
METHOD = "principal components of the vectors of entities and mediators"


@dataclass(frozen=True)
class Point:
    """An entity or a mediator on the map; -1 to 1 in both directions."""

    name: str  # of a mediator the text of its fact
    kind: str  # entity or mediator
    x: float
    y: float
    label: str  # how people read the name
    group: str  # the primary relation; of an entity the one it has most often a part in


@dataclass(frozen=True)
class Projection:
    """The map."""

    points: tuple[Point, ...]
    of: int  # entities and mediators that there are
    explained: float  # share of the variance of the shown vectors that two dimensions keep
    method: str = METHOD

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "points": [asdict(point) for point in self.points],
            "method": self.method,
            "explained": self.explained,
            "shown": len(self.points),
            "of": self.of,
        }


_KEPT: WeakKeyDictionary[Predictor, Projection] = WeakKeyDictionary()


def projection(predictor: Predictor) -> Projection:
    """The map of a run; the second call costs nothing."""
    found = _KEPT.get(predictor)
    if found is None:
        found = _KEPT[predictor] = _project(predictor)
    return found


def _project(predictor: Predictor) -> Projection:
    train = predictor.knowledge.train
    relation, degree = _main_relations(train)
    chosen = np.flatnonzero(degree)
    chosen = chosen[np.argsort(-degree[chosen], kind="stable")[:ENTITIES]]
    entities: Array = predictor.scorer.z.entities.detach().double().numpy()[chosen]
    rows, vectors, there = _mediators(predictor)
    both = np.concatenate([_scaled(entities), _scaled(vectors)])
    flat, explained = principal(both)
    groups = [predictor.relations[r] for r in relation[chosen].tolist()]
    groups += [predictor.relations[r] for r in train.columns.relation[rows].tolist()]
    names, facts = [predictor.entities[i] for i in chosen.tolist()], [train[row] for row in rows]
    labels = [*map(predictor.labels.show, names), *map(predictor.labels.fact, facts)]
    texts = [*map(str, names), *map(str, facts)]
    kinds = ["entity"] * len(chosen) + ["mediator"] * len(rows)
    points = tuple(
        Point(text, kind, round(x, 4), round(y, 4), label, str(group))
        for text, kind, (x, y), label, group in zip(
            texts, kinds, flat.tolist(), labels, groups, strict=True
        )
    )
    return Projection(points, len(predictor.entities) + there, explained)


def _main_relations(train: HKG) -> tuple[Array, Array]:
    """For each entity the relation of most of its facts, and how often it stands in a slot."""
    c, size, width = train.columns, len(train.entities), len(train.relations)
    owner = owners_of(c.offsets)
    who = np.concatenate([c.subject, c.object, c.values]).astype(np.int64)
    what = np.concatenate([c.relation, c.relation, c.relation[owner]]).astype(np.int64)
    codes, counts = np.unique(who * width + what, return_counts=True)
    relation = np.zeros(size, dtype=np.int64)
    rising = np.argsort(counts, kind="stable")
    relation[codes[rising] // width] = codes[rising] % width  # the most frequent is written last
    return relation, np.bincount(who, minlength=size)


def _mediators(predictor: Predictor) -> tuple[Array, Array, int]:
    """Fact rows and vectors of some mediators, evenly chosen, and how many there are."""
    found = predictor.model.mediators()
    dim = predictor.scorer.z.entities.shape[1]
    if found is None:
        return np.zeros(0, dtype=np.int64), np.zeros((0, dim)), 0
    known = np.flatnonzero(found.fact >= 0)
    step = max(1, -(-len(known) // MEDIATORS))
    chosen = known[::step]
    table: Array = found.vectors.detach().double().numpy()[chosen]
    return found.fact[chosen], table, len(found.vectors)


def _scaled(table: Array) -> Array:
    """Vectors with a mean length of 1, so that neither kind rules the directions."""
    lengths = np.linalg.norm(table, axis=1)
    mean = lengths.mean() if len(lengths) else 1.0
    scaled: Array = table / (mean or 1.0)
    return scaled


def principal(table: Array) -> tuple[Array, float]:
    """The first two principal components, the largest coordinate of each direction positive.

    Returns:
        The coordinates, at most 1 away from 0, and the share of the variance that they keep.
    """
    if not len(table):
        return np.zeros((0, 2)), 0.0
    centred = table - table.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    axes = directions[:, ::-1][:, :2]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    flat = centred @ (axes * np.where(signs == 0, 1, signs))
    if flat.shape[1] < 2:
        flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    total = float(np.clip(values, 0, None).sum())
    kept = float(np.clip(values[::-1][:2], 0, None).sum()) / total if total > 0 else 0.0
    size = float(np.abs(flat).max())
    return flat / (size or 1.0), kept
