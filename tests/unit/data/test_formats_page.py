"""The page on formats shows every format, and its examples are read by the format they show."""

import re
from pathlib import Path

import pytest

from hyperfact.data import load
from hyperfact.data.formats import FORMATS, recognise
from hyperfact.system.source import Source
from tests.support import ROOT

PAGE = ROOT / "docs" / "reference" / "formats.md"
SECTION = re.compile(r"^##+ ([a-z-]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_format_has_its_section() -> None:
    assert set(SECTIONS) == {*FORMATS, "parts"}


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"parquet"}))
def test_an_example_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "entities.txt").write_text("0\ta\n1\tb\n2\tc\n3\td\n")
    (tmp_path / "relations.txt").write_text("0\tr\n1\ts\n")
    blocks = BLOCK.findall(SECTIONS[name])
    path = tmp_path / "example.txt"
    path.write_text(blocks[0], encoding="utf-8")
    assert recognise(Source(path)).name == name
    graph = load(path).train
    assert len(graph) >= 1
