"""Parquet files that other tools wrote: what cannot be a fact is refused, and counted."""

from pathlib import Path

import duckdb
import pytest

from hyperfact.data import load
from hyperfact.errors import FormatError


@pytest.mark.parametrize(
    "row",
    [
        "NULL, 'r', 'b', ['q'], ['x']",
        "'a', 'r', 'b', NULL, ['x']",
        "'a', 'r', 'b', ['q'], ['x', 'y']",
        "'a', 'r', 'b', ['q', NULL], ['x', 'y']",
        "'a', 'r', 'b', ['q', 'p'], ['x', NULL]",
    ],
)
def test_a_row_with_an_empty_field_is_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    with duckdb.connect() as db:
        db.execute(
            "CREATE TABLE t (subject VARCHAR, relation VARCHAR, object VARCHAR, "
            'attributes VARCHAR[], "values" VARCHAR[])'
        )
        db.execute(f"INSERT INTO t VALUES ('c', 'r', 'd', ['q'], ['x']), ({row})")
        db.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    with pytest.raises(FormatError, match="1 rows have an empty field"):
        load(path)


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '"r"'])
def test_damaged_metadata_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    with duckdb.connect() as db:
        db.execute(
            "COPY (SELECT 'a' AS subject, 'r' AS relation, 'b' AS object, ['q'] AS attributes, "
            f"['x'] AS \"values\") TO '{path}' (FORMAT parquet, KV_METADATA "
            f"{{'hyperfact.derived': '{text}'}})"
        )
    with pytest.raises(FormatError, match="no list of names"):
        load(path)
