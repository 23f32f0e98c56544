"""What is known, without a run: queries answered by DuckDB, exactly, within bounds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any

import numpy as np

from hyperfact.errors import HyperfactError, UserError
from hyperfact.graph.hkg import Splits
from hyperfact.graph.labels import Labels
from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.language.formula import Query
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.predict.logic.program import ASKED, Program, compiled
from hyperfact.predict.logic.query_sql import ways_sql
from hyperfact.system.clock import seconds
from hyperfact.system.tables import database

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class Limits:
    """What a query may cost."""

    seconds: float = 10.0
    ways: int = 1_000_000  # choices of all variables together
    memory: str = "2GB"
    threads: int | None = None


@dataclass(frozen=True)
class KnownAnswer:
    """An entity that known facts make an answer."""

    name: str
    label: str
    ways: int  # choices of the other variables
    bindings: tuple[tuple[str, str], ...]  # one of these ways


@dataclass(frozen=True)
class KnownReply:
    """Every answer that the facts give."""

    query: Query
    labels: Labels
    answers: tuple[KnownAnswer, ...]  # those with more ways first, then by name
    ways: int
    facts: int
    seconds: float

    def as_dict(self, k: int | None = None) -> dict[str, Any]:
        """For JSON, the first k of them."""
        return {
            "query": str(self.query),
            "facts": self.facts,
            "total": len(self.answers),
            "ways": self.ways,
            "seconds": self.seconds,
            "answers": [
                {
                    "name": a.name,
                    "label": a.label,
                    "ways": a.ways,
                    "bindings": {
                        v: {"name": name, "label": self.labels.show(name)} for v, name in a.bindings
                    },
                }
                for a in self.answers[:k]
            ],
        }


class FactDatabase:
    """The facts of a dataset as tables.

    Args:
        splits: Whose facts are known.
        db: An open connection.
        limits: What a query may cost.
    """

    def __init__(self, splits: Splits, db: "DuckDBPyConnection", limits: Limits) -> None:
        self.splits, self._db, self.limits = splits, db, limits
        self.facts = len(splits.all)
        c = splits.all.columns
        fact = np.arange(len(c), dtype=np.int32)
        tables: dict[str, dict[str, Array]] = {
            "facts": {"fact": fact, "s": c.subject, "r": c.relation, "o": c.object},
            "pairs": {"fact": owners_of(c.offsets), "a": c.attributes, "v": c.values},
            "entities": {"e": np.arange(len(splits.entities), dtype=np.int32)},
        }
        for name, columns in tables.items():
            plain = {key: np.ascontiguousarray(column) for key, column in columns.items()}
            db.register("columns", plain)
            db.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
            db.unregister("columns")

    @classmethod
    @contextmanager
    def opened(cls, splits: Splits, limits: Limits | None = None) -> "Iterator[FactDatabase]":
        """A database in memory, gone afterwards."""
        limits = limits or Limits()
        with database(lambda why: _refusal(why, limits), threads=limits.threads) as db:
            db.execute(f"SET memory_limit = '{limits.memory}'")
            db.execute("SET enable_external_access = false")
            yield cls(splits, db, limits)

    def compiled(self, query: Query | str) -> Program:
        """A query with the ids of its names."""
        read = any_query(query) if isinstance(query, str) else query
        if read.asks_relation:
            raise UserError("known facts are asked for entities; a run ranks relations too")
        names = self.splits.entities, self.splits.relations
        return compiled(read, *names, self.splits.labels)

    def ask(self, query: Query | str) -> KnownReply:
        """Every known answer.

        Raises:
            UserError: The query would take longer, or make more rows, than the limits allow.
        """
        start, program = seconds(), self.compiled(query)
        rows = self._ways(program)
        names, labels = self.splits.entities, self.splits.labels
        answers = [
            KnownAnswer(names[e], labels.show(names[e]), ways, self._chosen(program, some))
            for e, ways, some in rows
        ]
        ways = sum(answer.ways for answer in answers)
        answers.sort(key=lambda answer: (-answer.ways, answer.name))
        took = seconds() - start
        return KnownReply(program.query, labels, tuple(answers), ways, self.facts, took)

    def ids(self, query: Query | str) -> list[int]:
        """The ids of every known answer, rising."""
        return sorted(e for e, _, _ in self._ways(self.compiled(query)))

    def _ways(self, program: Program) -> list[tuple[int, int, list[int]]]:
        """Answers, how many choices make each, and the first of them."""
        found, most = ways_sql(program), self.limits.ways
        others = ", ".join(f"v{column}" for column in found.columns if column != ASKED)
        inner = f"SELECT * FROM ({found.sql}) LIMIT {most + 1}"
        text = f"SELECT v{ASKED}, count(*), min([{others}]::INT[]) FROM ({inner}) GROUP BY 1"
        timer = Timer(self.limits.seconds, self._db.interrupt)
        timer.daemon = True
        timer.start()
        try:
            rows = self._db.execute(text).fetchall()
        finally:
            timer.cancel()
        if sum(ways for _, ways, _ in rows) > most:
            raise UserError(f"more than {most:,} combinations fit; say more about the variables")
        return [(int(e), int(ways), some) for e, ways, some in rows]

    def _chosen(self, program: Program, some: list[int]) -> tuple[tuple[str, str], ...]:
        columns = [column for column in ways_sql(program).columns if column != ASKED]
        names = self.splits.entities
        return tuple(
            (program.names[column].name, names[entity])
            for column, entity in zip(columns, some, strict=True)
        )


def _refusal(why: str, limits: Limits) -> HyperfactError:
    """Our line for theirs."""
    if "INTERRUPT" in why.upper():
        return UserError(f"the query took more than {limits.seconds:g} seconds; say more in it")
    if "OUT OF MEMORY" in why.upper() or "MEMORY" in why.upper():
        return UserError(f"the query needs more than {limits.memory} of memory; say more in it")
    return HyperfactError(f"the database refused a query: {why}")
