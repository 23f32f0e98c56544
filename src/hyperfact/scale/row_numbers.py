"""Number the rows of a large table in an order, without one window over all of them."""

from hyperfact.system.engine import Engine

BUCKETS = 4096


def number_rows(engine: Engine, name: str, query: str, *, bucket: str, order: str) -> None:
    """Make a table of the rows with their `number` in this order, from 0 on.

    Args:
        engine: Where.
        name: Of the table.
        query: The rows.
        bucket: SQL of a small number that rises with the order.
        order: SQL behind ORDER BY.
    """
    unsorted = f"{name}_unsorted"
    engine.table(unsorted, f"SELECT *, {bucket} AS bucket FROM ({query})")
    starts = (
        "SELECT bucket, CAST(sum(size) OVER (ORDER BY bucket) - size AS BIGINT) AS start FROM "
        f"(SELECT bucket, count(*) AS size FROM {unsorted} GROUP BY bucket)"
    )
    engine.table(
        name,
        f"SELECT t.*, c.start + row_number() OVER (PARTITION BY t.bucket ORDER BY {order}) - 1 "
        f"AS number FROM {unsorted} t JOIN ({starts}) c ON c.bucket = t.bucket",
    )
    engine.drop(unsorted)


def id_bucket(column: str, size: int) -> str:
    """The bucket of an id below `size`."""
    width = 1 + size // BUCKETS
    return f"CAST(floor({column} / {width}) AS INTEGER)"
