"""What the documentation shows runs as it stands: blocks of Python, scripts, the notebook."""

import ast
import doctest
import importlib
import inspect
import json
import pkgutil
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hyperfact
import tests.contracts.test_decoders as contract
from hyperfact.models.decoders import DECODERS
from tests.support import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: What blocks may load; those that speak of the reader's own files are only compiled.
HERE = {"baseball", "world", "statements.txt", "test.parquet"}
#: The blocks of these pages go on from each other.
PROGRAMS = {"docs/reference/python.md"}


def _programs() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        name, blocks = str(page.relative_to(ROOT)), BLOCK.findall(page.read_text(encoding="utf-8"))
        blocks = ["".join(blocks)] if name in PROGRAMS else blocks
        found += [(name, block) for block in blocks]
    return found


@pytest.mark.parametrize(("page", "code"), _programs(), ids=lambda x: x if x[-3:] == ".md" else "")
def test_code_of_the_documentation_runs(
    page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "statements.txt").write_text("Ada Lovelace,wrote,Note G,year,1843\n")
    program = compile(code, page, "exec")
    loaded = set(re.findall(r'load\("([^"]+)"', code))
    if loaded and loaded - {"runs/mine"} <= HERE:
        exec(program, {"__name__": "__docs__"})


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")


# -- the notebook --------------------------------------------------------------------------------


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last line is worth, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.name)
def test_notebooks_run_and_are_stored_without_outputs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [run_cell("".join(cell["source"]), names) for cell in cells]
    pictures = [value._repr_svg_() for value in shown if hasattr(value, "_repr_svg_")]
    assert len(pictures) >= 3
    assert all(picture.startswith("<svg ") for picture in pictures)


# -- a decoder of one's own ----------------------------------------------------------------------


def _promises() -> list[str]:
    """Those of the contract suite that ask for nothing but the name of a decoder."""
    found = inspect.getmembers(contract, inspect.isfunction)
    return [
        n
        for n, f in found
        if n[:5] == "test_" and list(inspect.signature(f).parameters) == ["name"]
    ]


@pytest.mark.parametrize("promise", _promises())
def test_the_decoder_of_the_examples_keeps_the_contract(
    promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = runpy.run_path(str(ROOT / "examples" / "own_decoder.py"))
    monkeypatch.setitem(sys.modules, "hyperfact.models.decoders.own", SimpleNamespace(**names))
    monkeypatch.setitem(DECODERS.members, "roles", "own.Roles")
    getattr(contract, promise)("roles")


# -- docstrings ----------------------------------------------------------------------------------


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
