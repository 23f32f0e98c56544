"""hyperfact's own JSON lines, as people write them by hand."""

from pathlib import Path

import pytest

from hyperfact import load
from hyperfact.errors import FormatError

_HEAD = '{"subject": "Hank Aaron", "relation": "played for", "object": "Milwaukee Braves", '


def read(tmp_path: Path, qualifiers: str) -> list[str]:
    path = tmp_path / "facts.jsonl"
    path.write_text(f'{_HEAD}"qualifiers": {qualifiers}}}\n', encoding="utf-8")
    return [str(fact) for fact in load(path).train]


@pytest.mark.parametrize(
    ("as_object", "as_pairs"),
    [
        ('{"position": "OF"}', '[["position", "OF"]]'),
        ('{"position": ["OF", "LF"]}', '[["position", "OF"], ["position", "LF"]]'),
        ('{"paid": {"literal": "+7"}}', '[["paid", {"literal": "+7"}]]'),
        ("{}", "[]"),
    ],
)
def test_qualifiers_may_be_an_object(tmp_path: Path, as_object: str, as_pairs: str) -> None:
    assert read(tmp_path, as_object) == read(tmp_path, as_pairs)


@pytest.mark.parametrize(
    "qualifiers", ['"position"', '[["position"]]', '{"position": 3}', '{"a": "b", "a": "c"}']
)
def test_what_is_neither_is_refused_with_its_line(tmp_path: Path, qualifiers: str) -> None:
    with pytest.raises(FormatError, match=r"facts.jsonl:1: "):
        read(tmp_path, qualifiers)
