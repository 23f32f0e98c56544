"""Facts to edges by SQL: the transformations of `transforms.stars` and `transforms.cliques`.

An edge has a tag, kind + 16 * place, as in `graph.mediator_hashes`. Edges between entities are in
`base_edge` (tag, s, r, o), those of mediators in `role_edge` (tag, m, r, t); a mediator is called
by the row of its fact.
"""

from collections.abc import Iterable

from hyperfact.errors import ConfigError, UnknownNameError
from hyperfact.graph.kg import TYPED, Kind
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.row_words import digest_of_pages, edge_words, label_words, star_words
from hyperfact.transforms import MODES, TRANSFORMS

_TRIPLE = "s, r, o"
PLACE = 16


def check_way(transformation: str, mode: str | None) -> str | None:
    """The mode that holds for a transformation; refuses what `transforms.transform` refuses."""
    if transformation not in TRANSFORMS:
        raise UnknownNameError("transformation", transformation, TRANSFORMS)
    if transformation != "equivalent":
        if mode is not None:
            raise ConfigError(f"the transformation {transformation!r} has no modes, got {mode!r}")
        return None
    if mode is not None and mode not in MODES:
        raise UnknownNameError("mode", mode, MODES)
    return mode or MODES[0]


def make_edges(facts: DiskFacts, transformation: str, mode: str | None) -> None:
    """Make `mediator` (m, r), `base_edge` and `role_edge` of the chosen facts."""
    e = facts.engine
    mediated = _mediated(transformation, mode)
    e.table("mediated", f"SELECT n, s, r, o FROM fact WHERE {mediated}")
    e.view("mediator", "SELECT n AS m, r FROM mediated")
    e.table("base_edge", _base_edges(transformation))
    e.table("role_edge", _role_edges(transformation))


def _mediated(transformation: str, mode: str | None) -> str:
    """Which facts get a mediator."""
    if transformation.startswith("clique") or mode == "literal":
        return "1 = 1" if mode == "literal" else "1 = 0"
    if mode == "compact":
        triples = f"SELECT {_TRIPLE} FROM fact WHERE q > 0"
        return f"q > 0 OR ({_TRIPLE}) IN ({triples})"
    return "q > 0"


def _base_edges(transformation: str) -> str:
    base = int(Kind.BASE)
    if transformation in ("no_distinction", "plain"):
        return f"SELECT {base} AS tag, {_TRIPLE} FROM fact WHERE q = 0"
    if transformation == "equivalent":
        return f"SELECT DISTINCT {base} AS tag, {_TRIPLE} FROM fact"
    if transformation == "clique_plain":
        return (
            f"SELECT DISTINCT {base} AS tag, {_TRIPLE} FROM (SELECT {_TRIPLE} FROM fact "
            f"UNION ALL SELECT x AS s, r, y AS o FROM ({_PAIRS}))"
        )
    place = f"{int(Kind.QUALIFIER)} + {PLACE} * (CASE WHEN i < 1 THEN 1 ELSE i END)"
    return (
        f"SELECT DISTINCT {base} AS tag, {_TRIPLE} FROM fact UNION ALL "
        f"SELECT DISTINCT CAST({place} AS INTEGER) AS tag, x AS s, a AS r, y AS o FROM ({_PAIRS})"
    )


#: Slots of qualified facts: subject 0, object 1, values from 2 on in canonical order.
_SLOTS = (
    "SELECT n, 0 AS i, s AS x, -1 AS a FROM fact WHERE q > 0 "
    "UNION ALL SELECT n, 1 AS i, o AS x, -1 AS a FROM fact WHERE q > 0 UNION ALL "
    "SELECT n, 1 + row_number() OVER (PARTITION BY n ORDER BY a, v) AS i, v AS x, a FROM pair"
)
#: Each value with every slot before it, where that is another entity.
_PAIRS = (
    f"SELECT one.i, one.x, two.x AS y, two.a, f.r FROM ({_SLOTS}) one JOIN ({_SLOTS}) two "
    "ON two.n = one.n AND one.i < two.i AND two.i > 1 AND one.x <> two.x "
    "JOIN fact f ON f.n = one.n"
)


def _role_edges(transformation: str) -> str:
    if transformation == "plain":
        members = "UNION ALL ".join(f"SELECT n, r, {end} AS t FROM mediated " for end in ("s", "o"))
        members += "UNION ALL SELECT m.n, m.r, p.v AS t FROM pair p JOIN mediated m ON m.n = p.n"
        return f"SELECT DISTINCT {int(Kind.MEMBER)} AS tag, n AS m, r, t FROM ({members})"
    return (
        f"SELECT {int(Kind.SUB)} AS tag, n AS m, r, s AS t FROM mediated "
        f"UNION ALL SELECT {int(Kind.OBJ)} AS tag, n AS m, r, o AS t FROM mediated "
        f"UNION ALL SELECT {int(Kind.QUALIFIER)} AS tag, p.n AS m, p.a AS r, p.v AS t "
        "FROM pair p JOIN mediated m ON m.n = p.n"
    )


def make_words(facts: DiskFacts) -> None:
    """Make `label`, the words of every label in use, and `star_word`, those of mediators."""
    e = facts.engine
    facts.load_words()
    e.drop("label")
    e.load("label", label_words(facts.relation_words, _tags(facts)))
    e.table("star_word", star_words(e.dialect))


def _tags(facts: DiskFacts) -> Iterable[int]:
    rows = facts.engine.rows("SELECT DISTINCT tag FROM base_edge")
    return sorted({*range(len(Kind)), *(int(tag) for (tag,) in rows)})


def edges_fingerprint(facts: DiskFacts, transformation: str, mode: str | None) -> str:
    """That of `KG.fingerprint`, of the edges that were made."""
    e = facts.engine
    edges = sum(int(e.value(f"SELECT count(*) FROM {t}")) for t in ("base_edge", "role_edge"))
    mediators = int(e.value("SELECT count(*) FROM mediator"))
    blocks = [
        *facts.name_blocks(),
        (mediators, e.words("SELECT x, y FROM star_word")),
        (edges, e.words(edge_words(e.dialect, "base_edge", "role_edge", "star_word"))),
    ]
    return digest_of_pages(f"hyperfact edges 1 {transformation} {mode}", blocks)


def edge_counts(facts: DiskFacts) -> dict[str, int]:
    """Nodes, mediators and edges by kind, named as in a certificate."""
    e = facts.engine
    kinds = dict.fromkeys(range(len(Kind)), 0)
    for table in ("base_edge", "role_edge"):
        for tag, count in e.rows(f"SELECT tag, count(*) FROM {table} GROUP BY tag"):
            kinds[int(tag) % PLACE] += int(count)
    mediators = int(e.value("SELECT count(*) FROM mediator"))
    return {
        "nodes": facts.manifest.entities + mediators,
        "mediators": mediators,
        "edges": sum(kinds.values()),
        **{f"{kind.name.lower()}_edges": kinds[kind] for kind in Kind},
    }


def is_restorable(transformation: str) -> bool:
    """Whether the edges of a transformation say which facts they are of."""
    return transformation in TYPED
