"""A certificate: what a transformation kept of one HKG, with fingerprints of both sides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperfact.errors import HyperfactError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, TYPED, Kind
from hyperfact.transforms.loss import Loss, find_losses
from hyperfact.transforms.restore import restore
from hyperfact.transforms.table import transform


@dataclass(frozen=True)
class Certificate:
    """Whether every fact can be had back, and if not, which ones cannot and why."""

    transformation: str
    mode: str | None
    lossless: bool
    restored: bool  # `restore` was run, and gave back the facts that are not lost, exactly
    counts: Mapping[str, int]
    hkg_fingerprint: str
    kg_fingerprint: str
    restored_fingerprint: str | None  # equal to hkg_fingerprint if `restore` gave all back
    losses: tuple[Loss, ...]
    examples: tuple[tuple[str, ...], ...]  # of each loss the first facts, as written

    @property
    def lost(self) -> int:
        """The number of facts that cannot be recovered."""
        return sum(len(loss.rows) for loss in self.losses)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the rows of all lost facts among them."""
        return {
            "transformation": self.transformation,
            "mode": self.mode,
            "lossless": self.lossless,
            "restored": self.restored,
            "counts": dict(self.counts),
            "fingerprints": {
                "hkg": self.hkg_fingerprint,
                "kg": self.kg_fingerprint,
                "restored": self.restored_fingerprint,
            },
            "losses": [
                {
                    "reason": loss.reason,
                    "why": loss.why,
                    "facts": len(loss.rows),
                    "rows": loss.rows.tolist(),
                    "examples": list(examples),
                }
                for loss, examples in zip(self.losses, self.examples, strict=True)
            ],
        }


def verify(
    hkg: HKG, transformation: str = "equivalent", *, mode: str | None = None, examples: int = 3
) -> Certificate:
    """Transform, restore where that is possible, compare, and name every fact that is lost."""
    kg = transform(hkg, transformation, mode=mode)
    losses = find_losses(hkg, transformation, kg.mode)
    back = restore(kg) if transformation in TYPED else None
    if back is not None:
        _compare(hkg, back, losses)
    return Certificate(
        transformation,
        kg.mode,
        lossless=not losses,
        restored=back is not None,
        counts=_counts(hkg, kg, losses),
        hkg_fingerprint=hkg.fingerprint,
        kg_fingerprint=kg.fingerprint,
        restored_fingerprint=None if back is None else back.fingerprint,
        losses=losses,
        examples=tuple(
            tuple(str(hkg[i]) for i in loss.rows[:examples].tolist()) for loss in losses
        ),
    )


def _compare(hkg: HKG, back: HKG, losses: tuple[Loss, ...]) -> None:
    """What came back must be what was not declared lost; anything else is a bug of ours."""
    kept = np.ones(len(hkg), dtype=bool)
    for loss in losses:
        kept[loss.rows] = False
    if back != hkg.select(kept):
        raise HyperfactError("restore did not give back the facts that it should; please report")


def _counts(hkg: HKG, kg: KG, losses: tuple[Loss, ...]) -> dict[str, int]:
    kinds = np.bincount(kg.kind, minlength=len(Kind)).tolist()
    return {
        "facts": len(hkg),
        "qualified_facts": int((hkg.num_qualifiers > 0).sum()),
        "qualifiers": int(hkg.num_qualifiers.sum()),
        "entities": len(hkg.entities),
        "relations": len(hkg.relations),
        "nodes": kg.num_nodes,
        "mediators": kg.num_mediators,
        "edges": len(kg),
        **{f"{kind.name.lower()}_edges": kinds[kind] for kind in Kind},
        "lost_facts": sum(len(loss.rows) for loss in losses),
    }
