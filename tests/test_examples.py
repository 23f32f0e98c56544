"""What the documentation shows runs as it stands."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import hyperfact

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: What blocks may load; those that speak of the reader's own files are only compiled.
HERE = {"baseball", "world", "statements.txt"}


def _blocks() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), block)
        for page in PAGES
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
        if "load(" in block
    ]


@pytest.mark.parametrize(("page", "code"), _blocks(), ids=lambda x: x if x.endswith(".md") else "")
def test_code_of_the_documentation_runs(
    page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "statements.txt").write_text("Ada Lovelace,wrote,Note G,year,1843\n")
    program = compile(code, page, "exec")
    if set(re.findall(r'load\("([^"]+)"', code)) <= HERE:
        exec(program, {"__name__": "__docs__"})


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")


def _modules() -> list[str]:
    found = pkgutil.walk_packages(hyperfact.__path__, "hyperfact.")
    return sorted(m.name for m in found if "__main__" not in m.name)


def test_docstrings_run() -> None:
    tried = 0
    for name in _modules():
        result = doctest.testmod(importlib.import_module(name))
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 0


def test_pages_link_to_pages_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), f"{page}: {target}"
