"""JSON read quickly, where msgspec is installed, and as strictly as `strict_json` but for depth.

A repeated key would vanish in a dict. It is noticed by counting: written again, a value without
repeats has as many `":` as its text, if no space stands before a colon. Whatever is unusual is left
to the strict reader, which also says what is wrong.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from hyperfact.data.formats.json_rows import strict_json

_SPACED = (b'" :', b'"\t:', b'"\r:', b'"\n:')


@cache
def _codec() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes], type[Exception]] | None:
    try:
        import msgspec
    except ImportError:
        return None
    return msgspec.json.Decoder().decode, msgspec.json.Encoder().encode, msgspec.MsgspecError


def read_json(raw: bytes) -> Any:
    """A JSON value, by the quickest reader that is certain of it.

    Raises:
        Fault: It is none, as `strict_json` says.
        UnicodeDecodeError: It is not UTF-8.
    """
    codec = _codec()
    if codec is not None and b"\\ud" not in raw.lower() and not any(s in raw for s in _SPACED):
        decode, encode, refused = codec
        try:
            value = decode(raw)
            if encode(value).count(b'":') == raw.count(b'":'):
                return value
        except (refused, RecursionError, ValueError):
            pass
    return strict_json(raw.decode())
