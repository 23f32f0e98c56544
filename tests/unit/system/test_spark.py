"""Spark as an engine: what can be said before it starts."""

import socket

import pytest

from hyperfact.errors import StorageError, UserError
from hyperfact.system.dialects import FULL, SparkDialect
from hyperfact.system.spark import check_master


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StorageError, match="does not answer") as stop:
        check_master(f"spark://127.0.0.1:{port}")
    assert stop.value.exit_code == 3
    with pytest.raises(UserError, match="host:port"):
        check_master("spark://somewhere")


def test_a_master_that_answers_or_is_this_machine_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")
    check_master("local[2]")


def test_words_are_signed_there() -> None:
    dialect = SparkDialect()
    assert dialect.constant(FULL) == "CAST(-1 AS BIGINT)"
    assert dialect.constant(2**63) == f"CAST({-(2**63)} AS BIGINT)"
    assert dialect.constant(5) == "CAST(5 AS BIGINT)"
