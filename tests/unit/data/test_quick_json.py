"""The quick reader of JSON says what the strict one says, of good and of bad text."""

import json

import pytest

from hyperfact.data.formats.json_rows import strict_json
from hyperfact.data.formats.quick_json import read_json
from hyperfact.system.source import Fault

GOOD = [
    {"a": [1, 2.5, -3e10, True, None, "x"], "b": {"c": {}}},
    {'":': 'a":b', '\\":': '" :'},
    [],
    "text",
    {"é\u2028": "ü😀", "n": 12345678901234567890},
]
BAD = [
    '{"a": 1, "a": 2}',
    '{"a" : 1, "b": {"a": 2, "a": 3}}',
    '{"a": {"b": 1}, "a": {"c" : 2}}',
    '{"a": NaN}',
    '{"a": "\\ud800"}',
    '{"a": "\\UD800"}',
    "{'a': 1}",
    '{"a": 1',
    '{"a": 1} x',
    "[" * 2000 + "]" * 2000,
    "",
]


@pytest.mark.parametrize("value", GOOD)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
def test_good_text(value: object, separators: tuple[str, str]) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=False)
    found = read_json(text.encode())
    assert found == strict_json(text)
    assert repr(found) == repr(strict_json(text))


@pytest.mark.parametrize("text", BAD)
def test_bad_text(text: str) -> None:
    with pytest.raises(Fault) as expected:
        strict_json(text)
    with pytest.raises(Fault) as found:
        read_json(text.encode())
    assert str(found.value) == str(expected.value)
