"""Facts that a person adds to what a run knows: read, checked and refused as a whole."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.facts import Fact, Vocabulary, show
from hyperfact.graph.hkg import Splits
from hyperfact.graph.queries import read_fact

#: How much may be added to one run, all together.
MOST_FACTS, MOST_NAMES, MOST_QUALIFIERS = 100_000, 5_000, 64
_NEAR = 3  # known names that are offered for one that is not

#: A fact, or one in the syntax `s | r | o | a = v`.
FactLike = Fact | str


@dataclass(frozen=True)
class Addition:
    """What came of adding facts."""

    facts: tuple[Fact, ...]  # that joined
    repeated: int  # that the graph had already
    names: tuple[str, ...]  # of entities that nobody had named before
    near: tuple[str | None, ...]  # for each of them the known name that it is most like, if any
    relations: tuple[str, ...] = ()  # that nobody had named before

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        both = zip(self.names, self.near, strict=True)
        return {
            "added": [str(fact) for fact in self.facts],
            "repeated": self.repeated,
            "new_entities": [{"name": str(name), "near": near} for name, near in both],
            "new_relations": [str(name) for name in self.relations],
        }

    @property
    def notes(self) -> Iterator[str]:
        """What a person should know, a sentence each."""
        if self.repeated:
            yield f"known already, which changes nothing: {self.repeated:,}"
        for name, near in zip(self.names[:_NEAR], self.near, strict=False):
            yield f"{show(name)} is a new entity" + (f" (not {show(near)})" if near else "")
        if len(self.names) > _NEAR:
            yield f"{len(self.names) - _NEAR:,} further entities are new"
        for name in self.relations:
            yield f"{show(name)} is a new relation, known by those that share entities with it"


def addition_of(
    joined: Iterable[Fact], given: int, names: Iterable[str], before: Vocabulary
) -> Addition:
    """What came of adding facts.

    Args:
        joined: Those that joined.
        given: How many different ones were given.
        names: Entities that training did not have.
        before: Those that were known before.
    """
    facts = tuple(sorted(joined, key=str))
    new = tuple(name for name in names if name not in before)
    near = [before.search.nearest(name) for name in new[:_NEAR]]
    shown = [None if i is None else before[i] for i in near]
    shown += [None] * (len(new) - len(shown))
    return Addition(facts, given - len(facts), new, tuple(shown))


def read_facts(
    facts: FactLike | Iterable[FactLike], splits: Splits, *, new_relations: bool = False
) -> list[Fact]:
    """The facts by the names of a run; names of entities that it does not know are new ones.

    Args:
        facts: One or several.
        splits: Of the run.
        new_relations: Relations that it does not know are new ones too.

    Raises:
        FactSyntaxError: Text that is no fact.
        UnknownNameError: A relation or attribute that the run does not know; says the nearest.
        UserError: A label that several names have, or a fact that is too long.
    """
    given = [facts] if isinstance(facts, Fact | str) else facts
    read = (read_fact(f) if isinstance(f, str) else f for f in given)
    return [_named(fact, splits, new_relations=new_relations) for fact in read]


def _named(fact: Fact, splits: Splits, *, new_relations: bool) -> Fact:
    if len(fact.qualifiers) > MOST_QUALIFIERS:
        raise UserError(
            f"a fact of {show(fact.subject)[:80]} has {len(fact.qualifiers):,} qualifiers, "
            f"and may have {MOST_QUALIFIERS}"
        )
    labels, relations = splits.labels, splits.relations

    def entity(name: str) -> str:
        if not name:
            raise UserError("an entity without a name cannot be added")
        return labels.find(name, "entity") or name

    def relation(name: str) -> str:
        found = labels.find(name, "relation")
        return found or (name if new_relations and name else _refused(name, relations))

    pairs = tuple((relation(a), entity(v)) for a, v in fact.qualifiers)
    return Fact(entity(fact.subject), relation(fact.relation), entity(fact.object), pairs)


def _refused(name: str, relations: Vocabulary) -> str:
    """Most encoders have a vector of each relation, and none for one that training did not show."""
    near = [relations[i] for _, i in relations.search.alike(name, least=0.0)[:_NEAR]]
    error = UnknownNameError("relation", name, near=near[0] if near else None)
    rest = f" The nearest known ones are {', '.join(map(show, near))}." if near else ""
    error.args = (
        f"unknown relation {name!r}: facts of a relation that training did not show cannot be "
        f"added to this run.{rest} A run of the encoder ingram "
        "with encoder.strangers takes new ones.",
    )
    raise error


def check_size(facts: int, names: int) -> None:
    """Refuse more than may be added to a run.

    Raises:
        UserError: Too many facts, or too many new entities.
    """
    if facts > MOST_FACTS:
        raise UserError(f"{facts:,} facts would be added, at most {MOST_FACTS:,} can be: train")
    if names > MOST_NAMES:
        raise UserError(
            f"these facts name {names:,} entities that the run does not know, "
            f"at most {MOST_NAMES:,} can be new: train on them"
        )
