"""The page of queries with several blanks: its form, its answers, and the graph of the query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperfact.draw.query_graph import draw_query, hue_of
from hyperfact.errors import QuerySyntaxError, UserError
from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.language.formula import And, Atom, Formula, Not, Or, Query, Term, Variable
from hyperfact.predict.logic.replying import QueryAnswers
from hyperfact.serve.addresses import address, entity_address, frame, home_of
from hyperfact.serve.opened import QueryRequest, Served

FACTS, PAIRS = 6, 3  # fields of the form
HOW = ("and", "and not", "or", "or not")
_VARIABLES = ("x", "y", "z", "w")


@dataclass(frozen=True)
class Line:
    """The fields of one fact."""

    number: int
    how: str  # how it is joined to those before
    subject: str = ""
    relation: str = ""
    object: str = ""
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written in it."""
        fields = (self.subject, self.relation, self.object, *(f for p in self.pairs for f in p))
        return not any(field.strip() for field in fields)


def lines_of(params: Mapping[str, str]) -> list[Line]:
    """The facts that the fields of the form hold."""
    found = []
    for i in range(1, FACTS + 1):
        how = params.get(f"how{i}", "and")
        s, r, o = (params.get(f"{letter}{i}", "") for letter in "sro")
        pairs = tuple(
            (params.get(f"a{i}_{j}", ""), params.get(f"v{i}_{j}", "")) for j in range(1, PAIRS + 1)
        )
        line = Line(i, how if how in HOW else "and", s, r, o, pairs)
        found += [] if line.is_empty else [line]
    return found


def query_of_lines(lines: Sequence[Line], asked: str) -> Query:
    """The query of the form: facts joined by `and`, and by `or` between groups of them.

    Raises:
        UserError: A field that must hold something is empty.
    """
    groups: list[list[Formula]] = [[]]
    for line in lines:
        if line.how.startswith("or") and groups[-1]:
            groups.append([])
        fact = _atom(line)
        groups[-1].append(Not(fact) if line.how.endswith("not") else fact)
    parts = [And(tuple(some)) if len(some) > 1 else some[0] for some in groups if some]
    if not parts:
        raise UserError("there is no fact in the query; fill in subject, relation and object")
    return Query(Variable(asked or "x"), Or(tuple(parts)) if len(parts) > 1 else parts[0])


def _atom(line: Line) -> Atom:
    names = {"subject": line.subject, "relation": line.relation, "object": line.object}
    for field, text in names.items():
        if not text.strip():
            raise UserError(f"the {field} of fact {line.number} is empty; a name, or a ?variable")
    kept = [(a, v) for a, v in line.pairs if a.strip() or v.strip()]
    if any(not (a.strip() and v.strip()) for a, v in kept):
        raise UserError(f"a qualifier of fact {line.number} needs an attribute and a value")
    s, r, o = map(_term, names.values())
    return Atom(s, r, o, tuple((_term(a), _term(v)) for a, v in kept))


def _term(text: str) -> Term:
    text = text.strip()
    word = text[1:]
    return Variable(word) if text[:1] == "?" and word.isidentifier() else text


def lines_of_query(query: Query) -> list[Line] | None:
    """The fields that hold a query; None where it says more than they can."""
    groups = query.where.parts if isinstance(query.where, Or) else (query.where,)
    found: list[Line] = []
    for group in groups:
        for place, part in enumerate(group.parts if isinstance(group, And) else (group,)):
            atom = part.part if isinstance(part, Not) else part
            if not isinstance(atom, Atom) or len(atom.qualifiers) > PAIRS:
                return None
            how = "or" if found and not place else "and"
            how += " not" if isinstance(part, Not) else ""
            s, r, o = (str(term) for term in (atom.subject, atom.relation, atom.object))
            pairs = tuple((str(a), str(v)) for a, v in atom.qualifiers)
            found.append(Line(len(found) + 1, how, s, r, o, pairs))
    return found if len(found) <= FACTS else None


def query_view(served: Served, params: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the template of a query needs."""
    text, view = params.get("q", "").strip(), _frame(served)
    if not text:
        return {**view, "lines": _filled([]), "examples": _links(served)}
    try:
        query = any_query(text)
        with served.lock:
            found = served.query(text, QueryRequest())
    except QuerySyntaxError as error:
        wrong = {"before": text[: error.place], "after": text[error.place :]}
        return {**view, "text": text, "error": error.reason, "wrong": wrong, "status": 400}
    except UserError as error:
        return {**view, "text": text, "error": str(error), "status": 400}
    return {**view, **_answered(served, query, found, params)}


def refused_query(served: Served, params: Mapping[str, str], error: UserError) -> dict[str, Any]:
    """The same page with what is wrong, and the form as it was filled in."""
    lines = _filled(lines_of(params))
    asked = params.get("find", "x")
    return {**_frame(served), "lines": lines, "asked": asked, "error": str(error), "status": 400}


def _answered(
    served: Served, query: Query, found: QueryAnswers, params: Mapping[str, str]
) -> dict[str, Any]:
    lines, home = lines_of_query(query), home_of(served.name)
    number = params.get("show", "1")
    shown = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else 1
    chosen = next((answer for answer in found if answer.rank == shown), None)
    names = {} if chosen is None else {Variable(v): n for v, n in chosen.bindings}
    if chosen is not None:
        names[query.asked] = chosen.name
    variables = [v for v in query.where.variables if v != query.asked]
    return {
        "text": str(query),
        "asked": query.asked.name,
        "lines": _filled(lines or []),
        "found": found,
        "shown": shown,
        "chosen": chosen,
        "others": [(v.name, hue_of(query, v)) for v in variables],
        "variables": _palette([query.asked.name, *(v.name for v in variables)]),
        "picture": draw_query(query, names, labels=served.predictor.labels, styled=False),
        "links": {
            a.rank: address(f"{home}/query", [("q", str(query)), ("show", a.rank)]) for a in found
        },
        "pages": {
            a.name: entity_address(home, a.name, served.predictor.entities.get(a.name))
            for a in found
        },
        "examples": [],
    }


def _frame(served: Served) -> dict[str, Any]:
    return {
        **frame(served, "query"),
        **dict.fromkeys(("error", "wrong", "found", "chosen", "picture")),
        **{"text": "", "asked": "x", "lines": _filled([]), "examples": [], "status": 200},
        **{"how": HOW, "variables": _VARIABLES},
    }


def _palette(used: Sequence[str]) -> list[str]:
    """Those of the query in the order of their colours, and others to add."""
    named = [name for name in used if name]
    return [*named, *(name for name in _VARIABLES if name not in named)][: max(4, len(named))]


def _filled(lines: Sequence[Line]) -> list[Line]:
    """With empty ones behind them, and with room for one more qualifier in each."""
    more = [Line(i, "and") for i in range(len(lines) + 1, max(3, len(lines) + 2))]
    every = [*lines, *more][:FACTS]
    return [
        Line(i, line.how, line.subject, line.relation, line.object, _pairs(line))
        for i, line in enumerate(every, start=1)
    ]


def _pairs(line: Line) -> tuple[tuple[str, str], ...]:
    kept = tuple(pair for pair in line.pairs if any(pair))
    return (*kept, ("", ""))[:PAIRS]


def examples(served: Served) -> list[str]:
    """Queries about the first fact, to begin with."""
    graph = served.splits.train
    if not len(graph):
        return []
    fact, x, y = graph[0], Variable("x"), Variable("y")
    found = [Atom(fact.subject, fact.relation, y) & Atom(x, fact.relation, y)]
    if fact.qualifiers:
        bare = Atom(x, fact.relation, fact.object)
        found.append(bare & Not(Atom(x, fact.relation, fact.object, fact.qualifiers[:1])))
    return [str(Query(x, where)) for where in found]


def _links(served: Served) -> list[tuple[str, str]]:
    home = home_of(served.name)
    return [(text, address(f"{home}/query", [("q", text)])) for text in examples(served)]
