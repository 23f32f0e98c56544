"""The complexity table of the paper (appendix A, table 8), formulas beside measured counts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.transforms.stars import MODES, twins
from hyperfact.transforms.table import TRANSFORMS, transform


@dataclass(frozen=True)
class Sizes:
    """The letters of the paper's table, counted in an HKG."""

    n_e: int  # entities
    n_pri: int  # primary relations
    n_qua: int  # attributes
    n_a: int  # most qualifiers of a fact
    N_pri: int  # facts without qualifiers
    N_qua: int  # facts with qualifiers
    N_twin: int  # facts without qualifiers that have a qualified twin; not in the paper

    @classmethod
    def of(cls, hkg: HKG) -> "Sizes":
        """Count."""
        qualified = int((hkg.num_qualifiers > 0).sum())
        return cls(
            len(hkg.entities),
            len(np.unique(hkg.columns.relation)),
            len(np.unique(hkg.columns.attributes)),
            int(hkg.num_qualifiers.max(initial=0)),
            len(hkg) - qualified,
            qualified,
            int(twins(hkg).sum()),
        )


@dataclass(frozen=True)
class Cost:
    """One line: a measure of one transformation, the paper's bound and what was counted."""

    transformation: str
    mode: str | None
    measure: str  # nodes, edges or relations
    formula: str
    bound: int
    counted: int


_Formula = tuple[str, Callable[[Sizes], int]]
_ENTITIES: _Formula = ("n_e", lambda z: z.n_e)
_MEDIATED: _Formula = ("n_e + N_qua", lambda z: z.n_e + z.N_qua)
_PRIMARY: _Formula = ("n_pri", lambda z: z.n_pri)
_SQUARE: _Formula = (
    "N_pri + N_qua (n_a + 2)^2",
    lambda z: z.N_pri + z.N_qua * (z.n_a + 2) ** 2,
)
_STAR: _Formula = ("N_pri + N_qua (n_a + 2)", lambda z: z.N_pri + z.N_qua * (z.n_a + 2))
_ROLES: _Formula = ("3 n_pri + n_qua", lambda z: 3 * z.n_pri + z.n_qua)

#: Nodes, edges and relations as the paper bounds them; `no_distinction` lacks one edge a fact.
FORMULAS: Mapping[str, Mapping[str, _Formula]] = {
    "equivalent": {
        "nodes": _MEDIATED,
        "edges": ("N_pri + N_qua (n_a + 3)", lambda z: z.N_pri + z.N_qua * (z.n_a + 3)),
        "relations": _ROLES,
    },
    "no_distinction": {"nodes": _MEDIATED, "edges": _STAR, "relations": _ROLES},
    "plain": {"nodes": _MEDIATED, "edges": _STAR, "relations": _PRIMARY},
    "clique_plain": {"nodes": _ENTITIES, "edges": _SQUARE, "relations": _PRIMARY},
    "clique_semantic": {
        "nodes": _ENTITIES,
        "edges": _SQUARE,
        "relations": ("n_pri + n_a n_qua", lambda z: z.n_pri + z.n_a * z.n_qua),
    },
}

#: Where a mode makes more mediators than the N_qua that the paper's table counts: Algorithm 1 as
#: printed makes one for every fact, the twin rule one for every bare twin.
MODE_FORMULAS: Mapping[str | None, Mapping[str, _Formula]] = {
    "literal": {
        "nodes": ("n_e + N_pri + N_qua", lambda z: z.n_e + z.N_pri + z.N_qua),
        "edges": ("3 N_pri + N_qua (n_a + 3)", lambda z: 3 * z.N_pri + z.N_qua * (z.n_a + 3)),
    },
    "compact": {
        "nodes": ("n_e + N_qua + N_twin", lambda z: z.n_e + z.N_qua + z.N_twin),
        "edges": (
            "N_pri + N_qua (n_a + 3) + 2 N_twin",
            lambda z: z.N_pri + z.N_qua * (z.n_a + 3) + 2 * z.N_twin,
        ),
    },
}


def costs(hkg: HKG) -> Iterator[Cost]:
    """Every transformation and mode: nodes, edges and relations, bound and count."""
    sizes = Sizes.of(hkg)
    for name in TRANSFORMS:
        for mode in MODES if name == "equivalent" else (None,):
            counted = _count(transform(hkg, name, mode=mode))
            formulas = {**FORMULAS[name], **MODE_FORMULAS.get(mode, {})}
            for measure, (text, bound) in formulas.items():
                yield Cost(name, mode, measure, text, bound(sizes), counted[measure])


def _count(kg: KG) -> dict[str, int]:
    """Nodes, edges and the relations that edges use."""
    return {
        "nodes": kg.num_nodes,
        "edges": len(kg),
        "relations": len(np.unique(kg.edge_type)),
    }
