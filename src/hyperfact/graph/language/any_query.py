"""A query in whichever form it comes: our own text, JSON, or SPARQL."""

import json
from typing import Any

from hyperfact.errors import FactSyntaxError, UserError
from hyperfact.graph.language.formula import Query
from hyperfact.graph.language.query_json import query_from_json
from hyperfact.graph.language.query_text import LONGEST, read_query
from hyperfact.graph.language.sparql import is_sparql, read_sparql


def any_query(text: str) -> Query:
    """Read a query; JSON begins with a brace, SPARQL with PREFIX or SELECT.

    Raises:
        FactSyntaxError: With the place and what was expected there.
        UserError: A query that is too large.
    """
    if text.lstrip()[:1] == "{":
        return query_from_json(_json(text))
    return read_sparql(text) if is_sparql(text) else read_query(text)


def _json(text: str) -> Any:
    if len(text) > 4 * LONGEST:
        raise UserError(f"a query has at most {4 * LONGEST:,} characters, this has {len(text):,}")
    try:
        return json.loads(text)
    except RecursionError:
        raise FactSyntaxError("the query is nested too deeply") from None
    except ValueError as error:
        raise FactSyntaxError(f"the query begins as JSON, but is none: {error}") from None
