"""Queries as people write them: `?x : ?p | educated at | ?x | degree = PhD and not …`.

Facts stand in the fact syntax, with variables `?x` in any slot and `and`, `or`, `not` and
parentheses between them. Names may hold such words: `Trinidad and Tobago` ends a fact only where
the next field is a relation, because a fact has three fields and then pairs with `=`.
"""

import re

from hyperfact.errors import FactSyntaxError, QuerySyntaxError, UserError
from hyperfact.graph.facts import name_of
from hyperfact.graph.language.formula import DEEPEST, Atom, Formula, Not, Query, Term, Variable
from hyperfact.graph.syntax import Token, quoted

LONGEST = 16_384  # characters
_HEAD = re.compile(r"\s*\?([^\W\d]\w*)\s*:")
_VARIABLE = re.compile(r"\?(\w*)")
_JOINT = re.compile(r"\s+(?:and|or)(?=\s|\()")
_BEHIND = re.compile(r"\s+(?:and|or)\s*(?:not(?=\s|\()\s*|\(\s*)*")  # to where the next fact begins
_SPACE = re.compile(r"\s*")


def read_query(text: str) -> Query:
    """Read a query; a question with one blank `?` is one.

    Raises:
        QuerySyntaxError: With the place in the text and what was expected there.
        UserError: A query that is too large.
    """
    if len(text) > LONGEST:
        raise UserError(f"a query has at most {LONGEST:,} characters, this has {len(text):,}")
    return _Reader(text).query()


class _Reader:
    """A place in a text, and what has been read so far."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        found = _HEAD.match(text)
        self.head = None if found is None else Variable(found[1])
        self.at = 0 if found is None else found.end()
        self.blanks = 0

    def query(self) -> Query:
        where = self.either()
        if self.here():
            raise self.wrong("expected 'and', 'or', or the end")
        asked = self.head or self.asked(where)
        if asked not in where.variables:
            raise self.wrong(f"{asked} is asked for, but stands in no fact", place=0)
        return Query(asked, where)

    def asked(self, where: Formula) -> Variable:
        """Who is asked for where the query does not begin with it."""
        if self.blanks > 1:
            raise self.wrong(
                f"a question has one blank '?', this has {self.blanks}; name them, and begin with "
                "the one that is asked for, as in '?x :'",
                place=0,
            )
        if self.blanks:
            return Variable()
        if len(where.variables) != 1:
            found = ", ".join(map(str, where.variables)) or "no variable"
            raise self.wrong(f"begin with who is asked for, as in '?x :' (here: {found})", place=0)
        return where.variables[0]

    def either(self) -> Formula:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"more than {DEEPEST} formulas inside each other")
        found = self.both()
        while self.word("or"):
            found = found | self.both()
        self.depth -= 1
        return found

    def both(self) -> Formula:
        found = self.one()
        while self.word("and"):
            found = found & self.one()
        return found

    def one(self) -> Formula:
        denials = 0
        while self.word("not"):
            denials += 1
        found = self.group() if self.opens_group() else self.atom()
        for _ in range(denials):
            found = Not(found)
        return found

    def group(self) -> Formula:
        start = self.at
        self.at += 1
        found = self.either()
        if self.here() != ")":
            raise self.wrong(f"expected ')' for the '(' of character {start + 1}")
        self.at += 1
        return found

    def atom(self) -> Atom:
        subject = self.term("a subject")
        self.expect("|")
        relation = self.term("a relation")
        self.expect("|")
        obj, pairs = self.term("an object", last=True), []
        while self.here() == "|":
            self.at += 1
            attribute = self.term("an attribute")
            self.expect("=", "a qualifier is 'attribute = value'; ")
            pairs.append((attribute, self.term("a value", last=True)))
        return Atom(subject, relation, obj, tuple(pairs))

    # -- signs ------------------------------------------------------------------------------------

    def here(self) -> str:
        """The next sign behind any space, or nothing at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return self.text[self.at : self.at + 1]

    def expect(self, sign: str, reason: str = "") -> None:
        if self.here() != sign:
            raise self.wrong(f"{reason}expected '{sign}'")
        self.at += 1

    def word(self, word: str) -> bool:
        self.here()
        found = re.compile(rf"{word}(?=[\s(])").match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return found is not None

    def opens_group(self) -> bool:
        """Whether a parenthesis begins here that no name closes."""
        if self.here() != "(":
            return False
        name = self.text[self.at : self.bar(self.at)]
        return name.count("(") > name.count(")")

    def bar(self, start: int) -> int:
        """Where the next `|` or `=` is, or the end."""
        found = re.compile(r"[|=]").search(self.text, start)
        return len(self.text) if found is None else found.start()

    # -- fields -----------------------------------------------------------------------------------

    def term(self, what: str, *, last: bool = False) -> Term:
        """A name or a variable; the last one of a fact ends where another fact may begin."""
        sign, start = self.here(), self.at
        if sign and sign in "\"'":
            token, self.at = self.quote(start)
            return name_of(token)
        end = self.last_end(start) if last else self.bar(start)
        bare = self.text[start:end].rstrip()
        while last and bare.endswith(")") and bare.count(")") > bare.count("("):
            bare = bare[:-1].rstrip()
        if not bare:
            raise self.wrong(f'{what} is missing (an empty name is "")')
        self.at = start + len(bare)
        return self.variable(bare, start) if bare[0] == "?" else bare

    def variable(self, bare: str, start: int) -> Variable:
        found = _VARIABLE.fullmatch(bare)
        if found is None:
            reason = "a variable is '?' and a word; quote a name that begins with '?'"
            raise self.wrong(reason, place=start)
        if not found[1]:
            self.blanks += 1
            return Variable() if self.head is None else Variable(f"_{self.blanks}")
        return Variable(found[1])

    def quote(self, start: int) -> tuple[Token, int]:
        try:
            return quoted(self.text, start)
        except FactSyntaxError as error:
            reason = str(error).removeprefix(f"{self.text!r}: ")
            raise self.wrong(reason, place=start) from None

    def last_end(self, start: int) -> int:
        """Where the last field of a fact ends: at a bar, the end, or before `and` or `or`."""
        end = self.bar(start)
        joints = list(_JOINT.finditer(self.text, start, end))
        for joint in joints:
            behind = _BEHIND.match(self.text, joint.start())
            if behind is not None and self.text[behind.end() : behind.end() + 1] in ("'", '"'):
                return joint.start()
        if self.text[end : end + 1] != "|" or self.is_pair(end + 1):
            return end
        if not joints:
            self.at = end
            raise self.wrong("expected 'and' or 'or' and a fact before it, or 'attribute = value'")
        return self.chosen(joints, start, end)

    def chosen(self, joints: list[re.Match[str]], start: int, end: int) -> int:
        """The joint between two facts, where names around it may hold such words too."""
        if len(joints) == 1:
            return joints[0].start()
        for joint in joints:
            behind = _BEHIND.match(self.text, joint.start())
            left = self.text[start : joint.start()].rstrip(") ")
            right = self.text[behind.end() if behind else end : end].strip()
            if _VARIABLE.fullmatch(left) or _VARIABLE.fullmatch(right):
                return joint.start()
        reason = "there is more than one 'and' or 'or' here; put the name that holds one in quotes"
        raise self.wrong(reason, place=start)

    def is_pair(self, place: int) -> bool:
        """Whether the field that begins here is `attribute = value`."""
        found = _SPACE.match(self.text, place)
        start = place if found is None else found.end()
        if self.text[start : start + 1] in ("'", '"'):
            start = self.quote(start)[1]
        end = self.bar(start)
        return self.text[end : end + 1] == "="

    def wrong(self, reason: str, place: int | None = None) -> QuerySyntaxError:
        return QuerySyntaxError(self.text, self.at if place is None else place, reason)
