"""The KG format `parquet` written from and read to tables of an engine."""

from pathlib import Path

import numpy as np

from hyperfact.data.manifest import Manifest
from hyperfact.errors import DataError
from hyperfact.graph.kg import TYPED, Kind
from hyperfact.scale.disk_edges import PLACE
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_restore import refuse_if_any
from hyperfact.scale.row_numbers import number_rows
from hyperfact.system.engine import Engine
from hyperfact.transforms import NotInImageError
from hyperfact.transforms.interchange.edge_table import MEDIATOR, OBJ, RELATION, SUB, Tables
from hyperfact.transforms.interchange.edge_table import PLACE as PLACED
from hyperfact.transforms.interchange.folders import read_about, write_about

_TYPES = ("entity", "literal", "derived")


def write_edges(facts: DiskFacts, stage: Path, transformation: str, mode: str | None) -> None:
    """Write the edges that were made; the files hold what `write_kg` writes of the same facts."""
    e, d = facts.engine, facts.engine.dialect
    nothing = np.zeros((0, 3), dtype=np.int64)
    write_about(stage, Tables((), (), nothing, transformation, mode))
    number_rows(
        e,
        "mediator_number",
        "SELECT m, x, y FROM star_word",
        bucket=d.top("x", 12),
        order=f"{d.rising('t.x')}, {d.rising('t.y')}, t.m",
    )
    count = facts.manifest.entities
    name = f"concat({d.hexadecimal('x')}, {d.hexadecimal('y')})"
    again = f"row_number() OVER (PARTITION BY {d.top('x', 12)}, x, y ORDER BY m)"
    mediators = (
        f"SELECT number + {count} AS k, '{MEDIATOR}' AS type, CASE WHEN again > 1 "
        f"THEN concat({name}, '.', CAST(again AS STRING)) ELSE {name} END AS name "
        f"FROM (SELECT *, {again} AS again FROM mediator_number)"
    )
    e.copy(
        "SELECT type, name FROM (SELECT CAST(id AS BIGINT) AS k, kind AS type, name FROM entity "
        f"UNION ALL {mediators}) ORDER BY k",
        stage / "nodes.parquet",
    )
    _write_labels(facts, stage, transformation)
    e.copy(
        "SELECT source, relation, target FROM ("
        "SELECT g.tag, CAST(g.s AS BIGINT) AS source, g.r, CAST(l.number AS BIGINT) AS relation, "
        "CAST(g.o AS BIGINT) AS target FROM base_edge g "
        "JOIN edge_label l ON l.tag = g.tag AND l.r = g.r UNION ALL "
        f"SELECT g.tag, b.number + {count} AS source, g.r, CAST(l.number AS BIGINT) AS relation, "
        "CAST(g.t AS BIGINT) AS target FROM role_edge g JOIN mediator_number b ON b.m = g.m "
        "JOIN edge_label l ON l.tag = g.tag AND l.r = g.r) "
        f"ORDER BY tag % {PLACE}, source, r, target, tag",
        stage / "triples.parquet",
    )


def _write_labels(facts: DiskFacts, stage: Path, transformation: str) -> None:
    """The relation map, and the table `edge_label` (tag, r, number) of what is in use."""
    e, size = facts.engine, facts.manifest.relations
    used = {
        (int(tag), int(r))
        for table in ("base_edge", "role_edge")
        for tag, r in e.rows(f"SELECT DISTINCT tag, r FROM {table}")
    }
    extra = sorted((_variant(tag, transformation), r) for tag, r in used)
    extra = [(variant, r) for variant, r in extra if variant]
    number = {pair: size + i for i, pair in enumerate(extra)}
    rows = [(tag, r, number.get((_variant(tag, transformation), r), r)) for tag, r in sorted(used)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    e.drop("edge_label", "label_row")
    e.load("edge_label", {"tag": table[:, 0], "r": table[:, 1], "number": table[:, 2]})
    roles = [(r, RELATION, r) for r in range(size)]
    roles += [(number[v, r], _role(v, transformation), r) for v, r in extra]
    e.load(
        "label_row",
        {
            "number": np.array([row[0] for row in roles], dtype=np.int64),
            "role": np.array([row[1] for row in roles], dtype=object),
            "r": np.array([row[2] for row in roles], dtype=np.int64),
        },
    )
    e.copy(
        "SELECT l.role, CASE WHEN k.kind = 'relation' THEN 'entity' ELSE k.kind END AS type, "
        "k.name FROM label_row l JOIN relation k ON k.id = l.r ORDER BY l.number",
        stage / "relations.parquet",
    )


def _variant(tag: int, transformation: str) -> int:
    """0 for the relation itself, 1 and 2 for its roles, or the place in a clique."""
    if transformation in TYPED:
        return tag if tag in (Kind.SUB, Kind.OBJ) else 0
    return tag // PLACE


def _role(variant: int, transformation: str) -> str:
    return (SUB, OBJ)[variant - 1] if transformation in TYPED else f"{PLACED}{variant}"


def read_edges(folder: Path, engine: Engine) -> tuple[DiskFacts, str, str | None]:
    """Make `mediator`, `base_edge` and `role_edge` of a KG, and the names of its facts.

    Returns the names, the transformation and the mode.

    Raises:
        DataError: Not a KG in the format `parquet`.
        NotInImageError: No HKG is transformed to such edges.
    """
    for file in ("nodes.parquet", "relations.parquet", "triples.parquet"):
        if not (folder / file).is_file():
            raise DataError(f"{folder}: no KG of the format parquet; {file} is missing")
    transformation, mode = read_about(folder)
    if transformation not in TYPED:
        raise NotInImageError("lossy_transformation", transformation)
    e = engine
    e.view("node", f"SELECT * FROM {e.numbered_file(str(folder / 'nodes.parquet'))}")
    e.view("label_line", f"SELECT * FROM {e.numbered_file(str(folder / 'relations.parquet'))}")
    entities = _entities(folder, e)
    relations = _relations(folder, e)
    nodes = int(e.value("SELECT count(*) FROM node"))
    _check_triples(folder, e, nodes)
    edge = "raw_edge g JOIN role l ON l.number = g.relation WHERE g.source"
    e.view("mediator", f"SELECT place AS m FROM node WHERE place >= {entities}")
    _check_edges(e, entities, edge)
    e.table(
        "base_edge",
        "SELECT 0 AS tag, CAST(g.source AS INTEGER) AS s, l.r, CAST(g.target AS INTEGER) AS o "
        f"FROM {edge} < {entities}",
    )
    e.table(
        "role_edge",
        "SELECT l.tag, g.source AS m, l.r, CAST(g.target AS INTEGER) AS t "
        f"FROM {edge} >= {entities}",
    )
    return DiskFacts(e, Manifest(folder, {}, entities, relations, ())), transformation, mode


def _entities(folder: Path, e: Engine) -> int:
    """Make the view `entity`; nodes are entities and behind them mediators."""
    strange = e.rows(
        f"SELECT DISTINCT type FROM node WHERE type NOT IN {(*_TYPES, MEDIATOR)} OR type IS NULL"
    )
    if strange:
        raise DataError(f"{folder}: unknown type {strange[0][0]!r} of a node")
    count, last = e.rows(f"SELECT count(*), max(place) FROM node WHERE type <> '{MEDIATOR}'")[0]
    if count and last != count - 1:
        raise DataError(f"{folder}: a mediator stands before an entity; restore it in memory")
    e.view(
        "entity",
        f"SELECT CAST(place AS INTEGER) AS id, type AS kind, name FROM node WHERE place < {count}",
    )
    twice = e.rows("SELECT name FROM entity GROUP BY kind, name HAVING count(*) > 1 LIMIT 1")
    if twice:
        raise DataError(f"{folder}: entity: the name {twice[0][0]!r} stands twice in a vocabulary")
    return int(count)


def _relations(folder: Path, e: Engine) -> int:
    """Make the view `relation` and the table `role` (number, tag, r) of the relation map."""
    rows = e.rows("SELECT place, role, type, name FROM label_line ORDER BY place")
    plain = [(kind, name) for _, role, kind, name in rows if role == RELATION]
    if [role for _, role, *_ in rows[: len(plain)]] != [RELATION] * len(plain):
        raise DataError(f"{folder}: a role stands before a relation; restore it in memory")
    known = {key: i for i, key in enumerate(plain)}
    if len(known) != len(plain):
        raise DataError(f"{folder}: relation: a name stands twice in a vocabulary")
    tags = {RELATION: Kind.QUALIFIER, SUB: Kind.SUB, OBJ: Kind.OBJ}
    for _, role, kind, name in rows:
        if (kind, name) not in known:
            raise DataError(f"{folder}: a role of a relation that is not there: {name!r}")
        if role not in tags:
            raise NotInImageError("wrong_kind", f"relation map: {role}")
    table = np.array(
        [(place, tags[role], known[kind, name]) for place, role, kind, name in rows], dtype=np.int64
    ).reshape(-1, 3)
    e.load("role", {"number": table[:, 0], "tag": table[:, 1], "r": table[:, 2].astype(np.int32)})
    e.view(
        "relation",
        "SELECT CAST(place AS INTEGER) AS id, CASE WHEN type = 'entity' THEN 'relation' ELSE type "
        f"END AS kind, name FROM label_line WHERE place < {len(plain)}",
    )
    return len(plain)


def _check_triples(folder: Path, e: Engine, nodes: int) -> None:
    e.view("raw_edge", f"SELECT * FROM {e.files([str(folder / 'triples.parquet')])}")
    low, high, label_low, label_high, empty = e.rows(
        "SELECT min(least(source, target)), max(greatest(source, target)), min(relation), "
        "max(relation), sum(CASE WHEN source IS NULL OR relation IS NULL OR target IS NULL "
        "THEN 1 ELSE 0 END) FROM raw_edge"
    )[0]
    labels = int(e.value("SELECT count(*) FROM role"))
    if empty:
        raise DataError(f"{folder}: a field of a triple is empty (NULL)")
    if high is not None and (low < 0 or high >= nodes):
        raise DataError(f"{folder}: a triple names node {high} of {nodes}")
    if label_high is not None and (label_low < 0 or label_high >= labels):
        raise DataError(f"{folder}: a triple names relation {label_high} of {labels}")


def _check_edges(e: Engine, entities: int, edge: str) -> None:
    refuse_if_any(
        e, "incoming_edge", f"SELECT source FROM raw_edge WHERE target >= {entities}", "from node"
    )
    wrong = f"SELECT g.source FROM {edge} < {entities} AND l.tag <> {int(Kind.QUALIFIER)}"
    refuse_if_any(e, "role_edge_from_entity", wrong, "from node")
