"""Queries in a part of SPARQL-star: basic patterns, qualifiers on quoted triples, union, negation.

    SELECT ?x WHERE { ?p :educatedAt ?x {| :degree :PhD |} . FILTER NOT EXISTS { ?p :bornIn :USA } }

Read are `PREFIX`, `SELECT [DISTINCT] ?x`, triples with `.` `;` `,`, qualifiers as `{| … |}`, as
`<< s p o >> a v`, or by `?f rdf:reifies <<( s p o )>> . ?f a v`, `{ … } UNION { … }`,
`FILTER NOT EXISTS { … }` and `MINUS { … }`. Everything else is refused by name. Qualifiers of
one triple are those of one fact.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from hyperfact.errors import QuerySyntaxError, UserError
from hyperfact.graph.facts import Literal
from hyperfact.graph.language.formula import (
    DEEPEST,
    And,
    Atom,
    Formula,
    Not,
    Or,
    Query,
    Term,
    Variable,
)
from hyperfact.graph.language.query_text import LONGEST
from hyperfact.graph.prefixes import PREFIXES

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*
    |(?P<sign><<\(|\)>>|<<|>>|\{\||\|\}|[{}.;,()])
    |(?P<iri><[^<>"{}|^`\s]*>)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
     (?:\^\^(?P<type><[^<>\s]*>|[\w.-]*:[\w.%-]+)|@(?P<language>[A-Za-z-]+))?
    |(?P<variable>[?$]\w+)
    |(?P<number>[+-]?\d+(?:\.\d+)?)
    |(?P<name>[\w.-]*:(?:[\w.%-]*[\w%-])?)
    |(?P<word>[A-Za-z]+)""",
    re.VERBOSE,
)
_REIFIES, _TYPE = (PREFIXES["rdf"] + word for word in ("reifies", "type"))
Triple = tuple[Term, Term, Term]


def is_sparql(text: str) -> bool:
    """Whether a text begins as SPARQL does."""
    return re.match(r"\s*(?:PREFIX|SELECT)\b", text, re.IGNORECASE) is not None


def read_sparql(text: str) -> Query:
    """Read a query in SPARQL.

    Raises:
        QuerySyntaxError: With the place in the text and what was expected there.
        UserError: A query that is too large.
    """
    if len(text) > LONGEST:
        raise UserError(f"a query has at most {LONGEST:,} characters, this has {len(text):,}")
    return _Reader(text).query()


@dataclass
class _Group:
    """What stands in a pair of braces."""

    facts: dict[Triple, list[tuple[Term, Term]]] = field(default_factory=dict)
    reifiers: dict[Term, Triple] = field(default_factory=dict)
    later: list[tuple[Term, Term, Term]] = field(default_factory=list)
    others: list[Formula] = field(default_factory=list)

    def formula(self) -> Formula | None:
        """All of it together; None where there is nothing."""
        for subject, relation, obj in self.later:
            if subject in self.reifiers:
                self.facts[self.reifiers[subject]].append((relation, obj))
            else:
                self.facts.setdefault((subject, relation, obj), [])
        parts = [Atom(*triple, tuple(pairs)) for triple, pairs in self.facts.items()]
        every = [*parts, *self.others]
        return And(tuple(every)) if len(every) > 1 else next(iter(every), None)


class _Reader:
    """The tokens of a text, and how far they are read."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth, self.blanks = text, 0, 0, 0
        self.prefixes: dict[str, str] = {}
        self.next: re.Match[str] | None = None
        self.advance()

    def advance(self) -> None:
        while self.at < len(self.text):
            found = _TOKEN.match(self.text, self.at)
            if found is None:
                raise QuerySyntaxError(self.text, self.at, "no sign of this SPARQL")
            self.at = found.end()
            if found.lastgroup is not None:
                self.next = found
                return
        self.next = None

    def query(self) -> Query:
        while self.takes_word("PREFIX"):
            prefix = self.take("name", "a prefix such as ex:")
            iri = self.take("iri", "an IRI")
            self.prefixes[prefix.partition(":")[0]] = iri[1:-1]
        if not self.takes_word("SELECT"):
            raise self.wrong("expected SELECT")
        self.takes_word("DISTINCT")
        asked = Variable(self.take("variable", "one variable")[1:])
        self.takes_word("WHERE")
        where = self.group()
        if self.next is not None:
            raise self.wrong("expected the end; ORDER, LIMIT and the like are not read")
        if where is None or asked not in where.variables:
            raise QuerySyntaxError(self.text, 0, f"{asked} is asked for, but stands in no triple")
        return Query(asked, where)

    def group(self) -> Formula | None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"more than {DEEPEST} groups inside each other")
        self.expect("{")
        group = _Group()
        while not self.takes("}"):
            self.part(group)
            self.takes(".")
        self.depth -= 1
        return group.formula()

    def part(self, group: _Group) -> None:
        if self.takes_word("FILTER"):
            if not (self.takes_word("NOT") and self.takes_word("EXISTS")):
                raise self.wrong("of filters only NOT EXISTS is read")
            group.others.append(Not(self.whole_group()))
        elif self.takes_word("MINUS"):
            group.others.append(Not(self.whole_group()))
        elif self.sign() == "{":
            parts = [self.whole_group()]
            while self.takes_word("UNION"):
                parts.append(self.whole_group())
            group.others.append(Or(tuple(parts)) if len(parts) > 1 else parts[0])
        elif self.next is not None and self.next["word"] not in (None, "a"):
            raise self.wrong(f"{self.next['word']} is not read")
        else:
            self.triples(group)

    def whole_group(self) -> Formula:
        found = self.group()
        if found is None:
            raise self.wrong("an empty group says nothing")
        return found

    def triples(self, group: _Group) -> None:
        """A subject with its predicates and objects."""
        if self.takes("<<"):
            triple = self.triple(">>")
            pairs = group.facts.setdefault(triple, [])
            self.pairs(lambda relation, obj: pairs.append((relation, obj)))
            return
        subject = self.term()

        def add(relation: Term, obj: Term | None) -> None:
            if obj is None:
                group.reifiers[subject] = self.reified(group, relation)
                return
            if self.takes("{|"):
                notes = group.facts.setdefault((subject, relation, obj), [])
                self.pairs(lambda a, v: notes.append((a, v)))
                self.expect("|}")
                return
            group.later.append((subject, relation, obj))

        self.pairs(add)

    def pairs(self, add: Callable[[Term, Term], None]) -> None:
        """Predicates with `;` between them, objects with `,`."""
        while True:
            relation = self.relation()
            while True:
                add(relation, None if self.sign() == "<<(" else self.term())  # type: ignore[arg-type]
                if not self.takes(","):
                    break
            if not self.takes(";"):
                return
            if self.sign() in (".", "}", "|}"):
                return

    def reified(self, group: _Group, relation: Term) -> Triple:
        if relation != _REIFIES:
            raise self.wrong("a triple term stands behind rdf:reifies only")
        self.expect("<<(")
        triple = self.triple(")>>")
        group.facts.setdefault(triple, [])
        return triple

    def triple(self, end: str) -> Triple:
        found = (self.term(), self.relation(), self.term())
        self.expect(end)
        return found

    # -- terms ------------------------------------------------------------------------------------

    def relation(self) -> Term:
        if self.next is not None and self.next["word"] == "a":
            self.advance()
            return _TYPE
        if self.next is not None and self.next["variable"]:
            raise self.wrong("a predicate must be known, not a variable")
        return self.term()

    def term(self) -> Term:
        found = self.next
        reader = None if found is None else self._readers().get(self.kind())
        if found is None or reader is None:
            raise self.wrong("expected a variable, a name or a literal")
        term = reader(found)
        self.advance()
        return term

    def kind(self) -> str:
        kinds = ("iri", "text", "variable", "number", "name")
        return next((k for k in kinds if self.next is not None and self.next[k]), "")

    def _readers(self) -> Mapping[str, Callable[[re.Match[str]], Term]]:
        return {
            "iri": lambda found: self.iri(found["iri"][1:-1]),
            "variable": lambda found: Variable(found["variable"][1:]),
            "number": lambda found: str(found["number"]),
            "name": lambda found: self.name(found["name"]),
            "text": self.literal,
        }

    def literal(self, found: re.Match[str]) -> Term:
        text = re.sub(
            r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), found["text"][1:-1]
        )
        if found["type"]:
            kind = found["type"]
            iri = kind[1:-1] if kind[0] == "<" else self.name(kind)
            return Literal(f'"{text}"^^<{iri}>')
        return Literal(f'"{text}"@{found["language"]}') if found["language"] else text

    def name(self, text: str) -> Term:
        prefix, _, local = text.partition(":")
        if prefix == "_":
            return Variable(f"_{local}")
        space = self.prefixes.get(prefix, PREFIXES.get(prefix))
        if space is None and prefix:
            return unquote(text)
        return unquote(local) if not space else space + local

    def iri(self, text: str) -> str:
        return text if ":" in text else unquote(text)

    # -- tokens -----------------------------------------------------------------------------------

    def sign(self) -> str:
        return "" if self.next is None else self.next["sign"] or ""

    def takes(self, sign: str) -> bool:
        if self.sign() != sign:
            return False
        self.advance()
        return True

    def takes_word(self, word: str) -> bool:
        if self.next is None or (self.next["word"] or "").upper() != word:
            return False
        self.advance()
        return True

    def expect(self, sign: str) -> None:
        if not self.takes(sign):
            raise self.wrong(f"expected '{sign}'")

    def take(self, kind: str, what: str) -> str:
        if self.next is None or not self.next[kind]:
            raise self.wrong(f"expected {what}")
        text = str(self.next[kind])
        self.advance()
        return text

    def wrong(self, reason: str) -> QuerySyntaxError:
        place = len(self.text) if self.next is None else self.next.start()
        return QuerySyntaxError(self.text, place, reason)
