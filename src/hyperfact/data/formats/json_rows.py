"""One JSON object a line, checked more strictly than JSON itself: nothing may be lost silently."""

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from hyperfact.system.source import Fault, Source, each_line

MAX_DEPTH = 64
_DEEP = re.compile(r"[\[{]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def strict_json(text: str) -> Any:
    """A JSON value without repeated keys, NaN, lone surrogates or great depth."""
    if len(_DEEP.findall(text)) > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise Fault(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Fault(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise Fault("nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise Fault(f"not usable JSON: {error}") from None
    if "\\u" in text and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise Fault("half of a surrogate pair (\\ud800 to \\udfff) is not text")
    return value


def each_object(source: Source, handle: Callable[[dict[str, Any]], None]) -> None:
    """Give the object of every line to `handle`."""

    def one(line: str) -> None:
        row = strict_json(line)
        if not isinstance(row, dict):
            raise Fault("expected a JSON object")
        handle(row)

    each_line(source, one)


def sample_objects(source: Source) -> list[dict[str, Any]]:
    """The first objects of a file, or none if it does not hold an object a line."""
    rows = []
    for line in source.sample[:20]:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            return []
    return rows if all(isinstance(row, dict) for row in rows) else []


def json_fault(source: Source) -> tuple[int, str] | None:
    """Line and reason why what begins like JSON is none: of an object a line, or one document."""
    try:
        json.loads(source.sample[0])
    except RecursionError:
        return None
    except ValueError:  # an object goes over several lines, or the first one is broken
        return _json_fault("\n".join(source.sample))
    faults = ((i, _json_fault(line)) for i, line in enumerate(source.sample, start=1))
    return next(((i, fault[1]) for i, fault in faults if fault is not None), None)


def _json_fault(text: str) -> tuple[int, str] | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno, f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError):
        return None
    return None


def text_of(value: object, what: str) -> str:
    """A JSON string, or a complaint."""
    if not isinstance(value, str):
        raise Fault(f"{what} must be a string, got {json.dumps(value)[:80]}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Fault(f"the key {twice!r} stands twice; the first value would be lost")
    return row


def _refuse_constant(text: str) -> NoReturn:
    raise Fault(f"{text} is not a JSON value")


def _depth(text: str) -> int:
    depth = deepest = 0
    inside = escaped = False
    for char in text:
        if inside:
            escaped, inside = (char == "\\" and not escaped), not (char == '"' and not escaped)
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest
