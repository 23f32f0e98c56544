"""Which entities stand in which role in the facts of a graph.

A role is to be the subject or the object of a relation, or the value of an attribute.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, offsets_of

SUBJECT, OBJECT, VALUE = range(3)


def role_number(kind: Any, relation: Any, relations: int) -> Any:
    """The number of a role: those of subjects first, then of objects, then of values.

    Args:
        kind: SUBJECT, OBJECT or VALUE; one, or an array or tensor of them.
        relation: The relation or attribute; one, or an array or tensor of them.
        relations: How many there are.
    """
    return kind * relations + relation


@dataclass(frozen=True)
class RoleIndex:
    """The distinct entities of each role, ragged."""

    offsets: Places  # (3 * relations + 1,)
    entities: Places  # (pairs,) rising inside a role
    counts: Places  # (pairs,) how often each stands there

    @classmethod
    def of(cls, hkg: HKG) -> "RoleIndex":
        """The roles of these facts."""
        if isinstance(hkg, FactsInParts):
            return cls(*hkg.roles)
        c, relations, width = hkg.columns, len(hkg.relations), max(1, len(hkg.entities))
        columns = {
            SUBJECT: (c.relation, c.subject),
            OBJECT: (c.relation, c.object),
            VALUE: (c.attributes, c.values),
        }
        codes = [
            role_number(kind, relation.astype(np.int64), relations) * width + entity
            for kind, (relation, entity) in columns.items()
        ]
        pairs, counts = np.unique(np.concatenate(codes), return_counts=True)
        role, entity = np.divmod(pairs, width)
        return cls(offsets_of(np.bincount(role, minlength=3 * relations)), entity, counts)

    def entities_of(self, role: int) -> Array:
        """The entities of a role, each once, rising."""
        return self.entities[self.offsets[role] : self.offsets[role + 1]]
