"""Facts from and to tables in memory."""

from typing import Any

import pytest

from hyperfact import HKG, Fact, load
from hyperfact.errors import DataError, UnknownNameError

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
