"""Facts from and to tables in memory."""

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from hyperfact import HKG, Fact, Predictor, evaluate, load
from hyperfact.errors import DataError, UnknownNameError
from hyperfact.evaluation import align, compare
from tests.support.runs import league, untrained

ROWS: list[dict[str, Any]] = [
    {"who": "Ada", "firm": "Atlas", "since": 2019, "role": "lead"},
    {"who": "Ben", "firm": "Atlas", "since": None, "role": ""},
]
FACTS = HKG.from_facts(
    [
        Fact("Ada", "at", "Atlas", (("role", "lead"), ("since", "2019"))),
        Fact("Ben", "at", "Atlas"),
    ]
)
REPEATED = HKG.from_facts([Fact("a", "r", "b", (("x", "1"), ("x", "2"))), Fact("b", "r", "c")])


def frame(kind: str) -> Any:
    if kind == "rows":
        return ROWS
    package = pytest.importorskip("pyarrow" if kind == "arrow" else kind, reason=f"no {kind}")
    return package.Table.from_pylist(ROWS) if kind == "arrow" else package.DataFrame(ROWS)


@pytest.mark.parametrize("kind", ["rows", "pandas", "polars", "arrow"])
def test_a_row_is_a_fact_and_an_empty_cell_no_qualifier(kind: str) -> None:
    table = frame(kind)
    assert HKG.from_frame(table, subject="who", relation=":at", object="firm") == FACTS
    columns = "subject=who, relation=:at, object=firm, since=since"
    assert str(load(table, columns=columns).train[0]) == "Ada | at | Atlas | since = 2019"
    renamed = HKG.from_frame(
        table, subject="who", relation=":at", object="firm", qualifiers={"as": "role"}
    )
    assert str(renamed[0]) == "Ada | at | Atlas | as = lead"


@pytest.mark.parametrize("kind", ["rows", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("graph", [FACTS, REPEATED])
def test_a_frame_holds_the_facts(graph: HKG, kind: str) -> None:
    frame(kind)
    table = graph.to_frame(kind)
    assert HKG.from_frame(table) == graph
    assert load(table).train == graph


@dataclass(frozen=True)
class ArrowColumn:
    """What we use of pyarrow's ChunkedArray."""

    cells: list[Any]

    def to_pylist(self) -> list[Any]:
        return self.cells


class ArrowTable:
    """What we use of pyarrow's Table: `column_names`, and columns by name."""

    column_names = tuple(ROWS[0])

    def __getitem__(self, name: str) -> ArrowColumn:
        return ArrowColumn([row[name] for row in ROWS])


class ArrowStream:
    """Whatever speaks the Arrow C stream interface and nothing else."""

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return frame("polars").__arrow_c_stream__(schema)


@pytest.mark.parametrize("table", [ArrowTable(), ArrowStream()])
def test_arrow_is_taken_without_its_package(table: object) -> None:
    assert HKG.from_frame(table, subject="who", relation=":at", object="firm") == FACTS


def test_a_frame_is_of_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(FACTS.to_frame()).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(FACTS.to_frame()).__module__.startswith("polars")


def test_what_is_no_frame_of_facts_is_explained() -> None:
    with pytest.raises(UnknownNameError, match="unknown column 'subject'"):
        HKG.from_frame(ROWS)
    with pytest.raises(DataError, match="a int is no frame"):
        HKG.from_frame(5)
    with pytest.raises(DataError, match="row 1 of the frame"):
        HKG.from_frame(ROWS, subject="who", relation=":at", object="role")
    with pytest.raises(UnknownNameError, match="did you mean 'pandas'"):
        FACTS.to_frame("panda")
    with pytest.raises(DataError, match="name of another column"):
        HKG.from_facts([Fact("a", "r", "b", (("subject", "x"),))]).to_frame("rows")


def test_results_are_tables_too() -> None:
    run = untrained(league())
    found = evaluate(run)
    rows = found.to_frame("rows")
    assert sum(1 / row["rank"] for row in rows) / len(rows) == pytest.approx(found.metrics.mrr)
    assert all(row["answer"] in row["fact"] for row in rows)
    assert {row["slot"] for row in rows} == {"subject", "object", "value 1"}
    answers = Predictor.of(run).ask("player 1 | plays for | ?", k=3)
    listed = answers.to_frame("rows")
    assert [row["answer"] for row in listed] == [answer.name for answer in answers]
    (row,) = compare(*align(found.ranks, found.ranks)).to_frame("rows")
    assert (row["difference"], row["low"], row["ties"]) == (0.0, 0.0, len(found.ranks))
    for result in (found, answers):
        rows = result.to_frame("rows")
        assert result.to_frame("pandas").to_dict("records") == rows
        assert result.to_frame("polars").rows(named=True) == rows
