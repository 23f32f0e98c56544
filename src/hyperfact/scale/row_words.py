"""The hashes of `graph.fingerprints` and `graph.mediator_hashes` as SQL.

`mix` cannot be one expression: each of its three steps uses the last one twice, so nested it would
grow eightfold. Each step is a column of a query around the last one; engines compute it once.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from hyperfact.graph.fingerprints import Words, rising
from hyperfact.graph.ragged import mix
from hyperfact.system.dialects import Dialect

_GOLDEN, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
LANES = ("x", "y")  # the two words of a row


def mixed(d: Dialect, query: str, columns: Mapping[str, tuple[str, int]]) -> str:
    """The query with further columns: name -> (what to mix, salt)."""

    def layer(inner: str, step: int, texts: Iterable[str]) -> str:
        named = ", ".join(
            f"{text} AS {name}_{step}" for name, text in zip(columns, texts, strict=True)
        )
        return f"SELECT *, {named} FROM ({inner})"

    query = layer(
        query,
        1,
        [d.plus(what, d.constant(_GOLDEN * (salt + 1))) for what, salt in columns.values()],
    )
    query = layer(query, 2, [d.times(d.folded(f"{n}_1", 30), _MIX_1) for n in columns])
    query = layer(query, 3, [d.times(d.folded(f"{n}_2", 27), _MIX_2) for n in columns])
    named = ", ".join(f"{d.folded(f'{name}_3', 31)} AS {name}" for name in columns)
    return f"SELECT *, {named} FROM ({query})"


def fact_words(d: Dialect, fact: str = "fact", pair: str = "pair") -> str:
    """`n, x, y`: the words of every fact of a table (n, s, r, o) with pairs (n, a, v)."""
    pairs = (
        f"SELECT p.n, k.x AS ax, k.y AS ay, w.x AS vx, w.y AS vy FROM {pair} p "
        "JOIN relation_word k ON k.id = p.a JOIN entity_word w ON w.id = p.v"
    )
    pairs = mixed(d, pairs, {f"k{c}": (f"a{c}", salt) for c, salt in _salts(0)})
    pairs = mixed(d, pairs, {f"m{c}": (d.plus(f"k{c}", f"v{c}"), s) for c, s in _salts(1)})
    totals = ", ".join(f"{d.total('m' + c)} AS t{c}" for c in LANES)
    sums = f"SELECT n, {totals} FROM ({pairs}) GROUP BY n"
    zero = d.constant(0)
    query = (
        "SELECT f.n, e.x AS sx, e.y AS sy, k.x AS rx, k.y AS ry, w.x AS ox, w.y AS oy, "
        f"coalesce(t.tx, {zero}) AS ux, coalesce(t.ty, {zero}) AS uy FROM {fact} f "
        "JOIN entity_word e ON e.id = f.s JOIN relation_word k ON k.id = f.r "
        f"JOIN entity_word w ON w.id = f.o LEFT JOIN ({sums}) t ON t.n = f.n"
    )
    total = "u{}"
    for place, part in ((2, "s"), (3, "r"), (4, "o")):
        both = {f"g{place}{c}": (total.format(c), salt) for c, salt in _salts(place)}
        both |= {f"h{place}{c}": (f"{part}{c}", salt) for c, salt in _salts(place)}
        query = mixed(d, query, both)
        sums = ", ".join(f"{d.plus(f'g{place}{c}', f'h{place}{c}')} AS u{place}{c}" for c in LANES)
        query, total = f"SELECT *, {sums} FROM ({query})", f"u{place}{{}}"
    query = mixed(d, query, {c: (total.format(c), salt) for c, salt in _salts(0)})
    return f"SELECT n, x, y FROM ({query})"


def _salts(place: int) -> Iterator[tuple[str, int]]:
    return ((c, 100 * (lane + 1) + place) for lane, c in enumerate(LANES))


def label_words(relations: Words, tags: Iterable[int]) -> dict[str, np.ndarray]:
    """The words of every edge label: `tag, r, lx, ly`, for each tag (kind + 16 * place)."""
    tables = []
    for tag in tags:
        one = np.array([tag])
        lanes = [mix(relations[:, c] + mix(one, 100 + c), 200 + c) for c in (0, 1)]
        tables.append((np.full(len(relations), tag), np.arange(len(relations)), *lanes))
    columns = [np.concatenate(column) for column in zip(*tables, strict=True)]
    return dict(zip(("tag", "r", "lx", "ly"), columns, strict=True))


def star_words(d: Dialect, role_edge: str = "role_edge") -> str:
    """`m, x, y`: the words of every mediator by its edges (tag, m, r, t)."""
    query = (
        f"SELECT g.m, l.lx, l.ly, w.x AS tx, w.y AS ty FROM {role_edge} g "
        "JOIN label l ON l.tag = g.tag AND l.r = g.r JOIN entity_word w ON w.id = g.t"
    )
    query = mixed(d, query, {f"n{c}": (f"t{c}", 1) for c in LANES})
    lanes = {f"z{c}": (d.plus(f"l{c}", f"n{c}"), 10 + i) for i, c in enumerate(LANES)}
    query = mixed(d, query, lanes)
    sums = ", ".join(f"{d.total(f'z{c}')} AS u{c}" for c in LANES)
    query = f"SELECT m, {sums} FROM ({query}) GROUP BY m"
    query = mixed(d, query, {c: (f"u{c}", 20 + i) for i, c in enumerate(LANES)})
    return f"SELECT m, x, y FROM ({query})"


def edge_words(d: Dialect, base_edge: str, role_edge: str, star: str) -> str:
    """`x, y` of every edge: of entities (tag, s, r, o), edges of mediators (tag, m, r, t)."""
    source = (
        "SELECT l.lx, l.ly, e.x AS sx, e.y AS sy, w.x AS tx, w.y AS ty "
        f"FROM {base_edge} g JOIN label l ON l.tag = g.tag AND l.r = g.r "
        "JOIN entity_word e ON e.id = g.s JOIN entity_word w ON w.id = g.o "
        "UNION ALL SELECT l.lx, l.ly, b.x AS sx, b.y AS sy, w.x AS tx, w.y AS ty "
        f"FROM {role_edge} g JOIN label l ON l.tag = g.tag AND l.r = g.r "
        f"JOIN {star} b ON b.m = g.m JOIN entity_word w ON w.id = g.t"
    )
    ends = {f"p{c}": (f"s{c}", 3) for c in LANES} | {f"q{c}": (f"t{c}", 4) for c in LANES}
    query = mixed(d, source, ends)
    sums = {c: d.plus(f"l{c}", d.plus(f"p{c}", f"q{c}")) for c in LANES}
    query = mixed(d, query, {c: (sums[c], 5 + lane) for lane, c in enumerate(LANES)})
    return f"SELECT x, y FROM ({query})"


def digest_of_pages(title: str, blocks: Iterable[tuple[int, Iterable[Words]]]) -> str:
    """`graph.fingerprints.digest_of` of blocks that come as a number of rows and pages."""
    total = hashlib.sha256(title.encode())
    for rows, pages in blocks:
        total.update((16 * rows).to_bytes(8, "little"))
        for words in pages:
            total.update(words[rising(words)].astype("<u8").tobytes())
    return total.hexdigest()
