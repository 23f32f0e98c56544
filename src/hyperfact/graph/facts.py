"""Facts as people write them: names, facts, slots and vocabularies in plain Python.

Three kinds of name exist. A `str` names an entity or a relation. A `Literal` is a value that is
not a thing (a date, a quantity, a text). A `Derived` is a relation made from an n-ary one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Self, overload

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.graph.name_search import NameIndex
from hyperfact.graph.syntax import Token, quote, quote_literal


class Literal(str):
    """A value that is not an entity; never equal to the entity with the same text.

    The text is the bare lexical form (`+7.07`), or, where a datatype or a language is known, the
    N-Triples form (`"3.73"^^<km2>`, `"chat"@fr`).
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("literal", str(self)))

    def __repr__(self) -> str:
        return f"Literal({str(self)!r})"

    def __str__(self) -> str:
        return str.__str__(self)


class Derived(str):
    """A relation derived from an n-ary one: `r_so` joins the first two places, `r_1` the third.

    The suffix holds no underscore, so base and role can always be read back from the text.
    """

    __slots__ = ()

    @classmethod
    def primary(cls, base: str) -> Self:
        """The relation between the first two places of `base`."""
        return cls(f"{base}_so")

    @classmethod
    def attribute(cls, base: str, place: int) -> Self:
        """The attribute of the place-th further place of `base`, counted from 1."""
        return cls(f"{base}_{place}")

    @property
    def base(self) -> str:
        """The n-ary relation."""
        return self.rpartition("_")[0]

    @property
    def role(self) -> str:
        """`so`, or the number of the place."""
        return self.rpartition("_")[2]


@dataclass(frozen=True, order=True)
class Slot:
    """A place an entity can be missing from: subject, object, value 1, value 2 and so on."""

    index: int  # 0 subject, 1 object, 2 the first value

    SUBJECT: ClassVar["Slot"]
    OBJECT: ClassVar["Slot"]

    @classmethod
    def value(cls, number: int) -> "Slot":
        """The slot of the number-th value, counted from 1."""
        return cls(1 + number)

    @property
    def kind(self) -> str:
        """`subject`, `object` or `value`."""
        return ("subject", "object", "value")[min(self.index, 2)]

    def __str__(self) -> str:
        return self.kind if self.index < 2 else f"value {self.index - 1}"


Slot.SUBJECT = Slot(0)
Slot.OBJECT = Slot(1)

Qualifier = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Fact:
    """A primary triple and its qualifiers, by name; equal to the same fact in another order."""

    subject: str
    relation: str
    object: str
    qualifiers: tuple[Qualifier, ...] = ()

    @property
    def primary(self) -> tuple[str, str, str]:
        """The primary triple."""
        return self.subject, self.relation, self.object

    @property
    def arity(self) -> int:
        """The number of slots."""
        return 2 + len(self.qualifiers)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (*self.primary, frozenset(self.qualifiers))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Fact) and bool(self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def _repr_svg_(self) -> str:
        # A notebook asks for a picture; the room that draws lies above and is called by name.
        return str(import_module("hyperfact.draw").draw_fact(self))

    def __str__(self) -> str:
        parts = [show(self.subject), show(self.relation), show(self.object)]
        parts += [f"{show(a)} = {show(v)}" for a, v in self.qualifiers]
        return " | ".join(parts)


def show(name: str) -> str:
    """A name as the fact syntax writes it: quoted only when it must be."""
    return quote_literal(name) if isinstance(name, Literal) else quote(name)


def name_of(token: Token) -> str:
    """The name that a token of the fact syntax writes."""
    return Literal(token.text) if token.quote == "'" else token.text


def name_or_blank(token: Token) -> str | None:
    """The same, or None for a blank."""
    return None if token.is_blank else name_of(token)


class Vocabulary(Sequence[str]):
    """The names of a graph's entities or relations; the id of a name is its place."""

    __slots__ = ("_index", "_names", "_search")

    def __init__(self, names: Iterable[str] = ()):
        self._names: tuple[str, ...] = tuple(names)
        self._index: dict[str, int] = {name: i for i, name in enumerate(self._names)}
        self._search: NameIndex | None = None
        if len(self._index) != len(self._names):
            twice = next(n for i, n in enumerate(self._names) if self._index[n] != i)
            raise DataError(f"the name {twice!r} stands twice in a vocabulary")

    @classmethod
    def of(cls, names: Iterable[str]) -> "Vocabulary":
        """Of these names; a vocabulary is its own."""
        return names if isinstance(names, cls) else cls(names)

    def with_names(self, names: Sequence[str]) -> "Vocabulary":
        """These names behind the others, which keep their ids; quicker than all of them anew."""
        if not names:
            return self
        other = Vocabulary()
        other._names = (*self._names, *names)
        other._index = self._index | {name: len(self) + i for i, name in enumerate(names)}
        if len(other._index) != len(other._names):
            raise DataError("a name stands twice in a vocabulary")
        return other

    def id(self, name: str, kind: str = "name") -> int:
        """The id of a name; an unknown one is an error that names the nearest."""
        found = self.get(name)
        if found is None:
            near = self.search.nearest(name)
            raise UnknownNameError(kind, name, near=None if near is None else self[near])
        return found

    @property
    def search(self) -> NameIndex:
        """An index of the names by how they read; made when first needed."""
        if self._search is None:
            self._search = NameIndex(self._names)
        return self._search

    def get(self, name: str) -> int | None:
        """The id of a name, or of the literal with this text, or None."""
        found = self._index.get(name)
        return self._index.get(Literal(name)) if found is None else found

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self._names[place]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Vocabulary) and self._names == other._names)

    def __hash__(self) -> int:
        return hash(self._names)

    def __repr__(self) -> str:
        head = ", ".join(map(repr, self._names[:3]))
        return f"Vocabulary({len(self)} names: {head}{', …' if len(self) > 3 else ''})"


def name_order(name: str) -> tuple[int, str]:
    """The key by which readers order names: entities before literals, then by code point."""
    return isinstance(name, Literal), str(name)
