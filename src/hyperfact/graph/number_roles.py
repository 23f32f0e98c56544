"""The numbers of a graph: which entities are numbers, and in which roles numbers stand.

Numbers of one role are comparable: areas with areas, years of birth with years of birth. Each is
told by its place between the smallest and the largest that the training facts have in its role.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.facts import Literal, Vocabulary
from hyperfact.graph.hkg import HKG
from hyperfact.graph.quantities import Quantity, quantity_of, quantity_of_name
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, Ids, Places
from hyperfact.graph.role_index import OBJECT, VALUE, RoleIndex, role_number

_MOST = 0.95  # of the names in a role are numbers where it is one of numbers
_SOME = 8  # such names at least: three shirt numbers are names


@dataclass(frozen=True)
class NumberRoles:
    """Numbers of entities, and what training facts say of each role."""

    values: Array  # (entities,) NaN: no number
    low: Array  # (roles,) the smallest number; NaN: a role of names
    span: Array  # (roles,) the largest minus the smallest, or 1 where they are the same
    mean: Array  # (roles,)
    example: Ids  # (roles,) an entity that stands there, for the unit

    @classmethod
    def of(cls, train: HKG, *, names: bool = False) -> "NumberRoles":
        """A role is one of numbers where most entities that stand in it are.

        Args:
            train: The training facts.
            names: Names that are written as numbers count too, where nearly all in a role are.
        """
        found = (quantity_of_name(n) if names else quantity_of(n) for n in train.entities)
        values = np.array([np.nan if q is None else q.value for q in found])
        roles = RoleIndex.of(train)
        count = len(roles.offsets) - 1
        low, span, mean = np.full((3, count), np.nan)
        example = np.full(count, -1, dtype=np.int32)
        for role in np.flatnonzero(np.diff(roles.offsets)).tolist():
            members = roles.entities_of(role)
            numbers = members[np.isfinite(values[members])]
            literals = sum(isinstance(train.entities[i], Literal) for i in numbers.tolist())
            is_named = len(numbers) >= max(_SOME, _MOST * len(members))
            if 2 * literals > len(members) or is_named:
                some = values[numbers]
                low[role], mean[role], example[role] = some.min(), some.mean(), numbers[0]
                span[role] = (some.max() - some.min()) or 1.0
        return cls(values, low, span, mean, example)

    def __bool__(self) -> bool:
        return bool(np.isfinite(self.low).any())

    def ask(self, graph: HKG, queries: Queries) -> tuple[Places, Array]:
        """The role of each query, and whether it asks for a number: role and answer are one."""
        c, relations = graph.columns, len(graph.relations)
        kind = np.minimum(queries.slot, VALUE)
        relation = c.relation[queries.fact].astype(np.int64)
        asked = np.flatnonzero(queries.slot > OBJECT)
        places = c.offsets[queries.fact[asked]] + queries.slot[asked] - VALUE
        relation[asked] = c.attributes[places]
        role = role_number(kind, relation, relations)
        return role, np.isfinite(self.low[role]) & np.isfinite(self.values[queries.answer])

    def share(self, values: Array, role: Places) -> Array:
        """Where numbers lie between the smallest and the largest of their roles, 0 to 1."""
        shares: Array = (values - self.low[role]) / self.span[role]
        return shares

    def quantity(self, share: float, role: int, entities: Vocabulary) -> Quantity:
        """The inverse, with the unit of the role."""
        like = quantity_of_name(entities[int(self.example[role])])
        assert like is not None, "the example of a role of numbers is a number"
        return like._replace(value=float(self.low[role] + share * self.span[role]))
