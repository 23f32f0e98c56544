"""Edges to facts by SQL: `transforms.restore`, with the same reasons to refuse."""

from hyperfact.graph.kg import Kind
from hyperfact.scale.row_words import fact_words
from hyperfact.system.engine import Engine
from hyperfact.transforms import NotInImageError

_KEY = "b.s = f.s AND b.r = f.r AND b.o = f.o"


def refuse_if_any(engine: Engine, reason: str, query: str, what: str = "mediator") -> None:
    """Refuse if a query, whose first column says where, has rows."""
    count = int(engine.value(f"SELECT count(*) FROM ({query})"))
    if count:
        first = engine.rows(f"SELECT * FROM ({query}) ORDER BY 1 LIMIT 1")[0][0]
        more = f" and {count - 1:,} more" if count > 1 else ""
        raise NotInImageError(reason, f"{what} {first}{more}")


def restore_tables(engine: Engine, transformation: str, mode: str | None) -> None:
    """Make `star_fact` and `bare_fact` (n, s, r, o) and `star_pair` (n, a, v) of the edges.

    Reads `mediator` (m), `base_edge` and `role_edge`, which must name known ids, and needs the
    words of names. A star keeps the name of its mediator as n; bare facts have -1.
    """
    _check_repeats(engine)
    _make_stars(engine)
    engine.table("star_fact_word", fact_words(engine.dialect, "star_fact", "star_pair"))
    refuse_if_any(
        engine,
        "same_fact_twice",
        "SELECT max(n) AS n FROM star_fact_word GROUP BY x, y HAVING count(*) > 1",
    )
    engine.drop("star_fact_word")
    _make_bare(engine, transformation, mode)


def _check_repeats(engine: Engine) -> None:
    for table, fields, ends in (
        ("base_edge", "s, r, o", "s"),
        ("role_edge", "tag, m, r, t", "m"),
    ):
        repeated = f"SELECT {ends} FROM {table} GROUP BY {fields} HAVING count(*) > 1"
        refuse_if_any(engine, "repeated_edge", repeated, "from node")


def _make_stars(engine: Engine) -> None:
    sub, obj = int(Kind.SUB), int(Kind.OBJ)
    sides = ", ".join(
        f"sum(CASE WHEN g.tag = {kind} THEN 1 ELSE 0 END) AS {name}s, "
        f"max(CASE WHEN g.tag = {kind} THEN g.t END) AS {name}_end, "
        f"max(CASE WHEN g.tag = {kind} THEN g.r END) AS {name}_relation"
        for kind, name in ((sub, "subject"), (obj, "object"))
    )
    engine.table(
        "star",
        f"SELECT b.m, {sides} FROM mediator b LEFT JOIN role_edge g ON g.m = b.m GROUP BY b.m",
    )
    for role in ("subject", "object"):
        refuse_if_any(engine, f"no_{role}", f"SELECT m FROM star WHERE {role}s = 0")
        refuse_if_any(engine, f"two_{role}s", f"SELECT m FROM star WHERE {role}s > 1")
    refuse_if_any(
        engine, "two_relations", "SELECT m FROM star WHERE subject_relation <> object_relation"
    )
    engine.view(
        "star_pair",
        f"SELECT m AS n, r AS a, t AS v FROM role_edge WHERE tag = {int(Kind.QUALIFIER)}",
    )
    engine.table(
        "star_fact",
        "SELECT b.m AS n, b.subject_end AS s, b.subject_relation AS r, b.object_end AS o, "
        "coalesce(p.q, 0) AS q FROM star b LEFT JOIN "
        "(SELECT n, count(*) AS q FROM star_pair GROUP BY n) p ON p.n = b.m",
    )
    engine.drop("star")


def _make_bare(engine: Engine, transformation: str, mode: str | None) -> None:
    """The facts that base edges stand for; checks what the mode says about mediators."""
    needless = "SELECT n FROM star_fact WHERE q = 0"
    if transformation == "no_distinction":
        refuse_if_any(engine, "needless_mediator", needless)
        engine.view("bare_fact", "SELECT CAST(-1 AS BIGINT) AS n, s, r, o, 0 AS q FROM base_edge")
        return
    missing = f"SELECT n FROM star_fact f WHERE NOT EXISTS (SELECT 1 FROM base_edge b WHERE {_KEY})"
    refuse_if_any(engine, "no_base_edge", missing)
    lonely = (
        f"SELECT s, r, o FROM base_edge b WHERE NOT EXISTS (SELECT 1 FROM star_fact f WHERE {_KEY})"
    )
    if mode == "literal":
        refuse_if_any(engine, "uncovered_base_edge", lonely, "from node")
    elif mode == "compact":
        twin = f"SELECT 1 FROM star_fact b WHERE b.q > 0 AND {_KEY}"
        needless = f"SELECT n FROM star_fact f WHERE f.q = 0 AND NOT EXISTS ({twin})"
        refuse_if_any(engine, "needless_mediator", needless)
    else:
        refuse_if_any(engine, "needless_mediator", needless)
    engine.table("bare_fact", f"SELECT CAST(-1 AS BIGINT) AS n, s, r, o, 0 AS q FROM ({lonely})")
