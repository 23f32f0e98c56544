"""Files of sampled queries: a line about the dataset, then a query on each line, as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperfact.errors import DataError, FormatError, UserError
from hyperfact.graph.hkg import Splits
from hyperfact.predict.logic.sampling import SampledQuery, Wanted
from hyperfact.system.source import Source

KIND = "queries 1"


def header_of(splits: Splits, wanted: Wanted) -> dict[str, Any]:
    """What the first line says: which facts, which split is missing, and how it was drawn."""
    return {
        "hyperfact": KIND,
        "dataset": splits.name,
        "facts": splits.all.fingerprint,
        "split": wanted.split,
        "shapes": list(wanted.shapes),
        "count": wanted.count,
        "most": wanted.most,
        "seed": wanted.seed,
    }


def read_queries(path: Path, splits: Splits) -> tuple[Mapping[str, Any], list[SampledQuery]]:
    """The first line of a file, and its queries.

    Raises:
        FormatError: A line that is no such query.
        DataError: The queries are about other facts.
    """
    head: Mapping[str, Any] = {}
    found = []
    for number, line in Source(path).lines():
        try:
            value = json.loads(line)
            if number == 1:
                head = _checked(value)
            elif line.strip():
                found.append(SampledQuery.from_dict(value))
        except (ValueError, KeyError, TypeError, RecursionError, UserError) as error:
            raise FormatError(path, number, f"not a query of sample-queries ({error})") from None
    if not found:
        raise FormatError(path, None, "there is no query in this file")
    if head["facts"] != splits.all.fingerprint:
        raise DataError(f"{path}: its queries are about other facts than those of the run")
    return head, found


def _checked(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or value.get("hyperfact") != KIND:
        raise ValueError(f"expected the first line to say {KIND!r}")
    if not isinstance(value.get("split"), str) or "facts" not in value:
        raise ValueError("the first line does not say which split is missing")
    return value
