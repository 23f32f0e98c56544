"""The documentation is true: what it names exists, what is made from the code is current."""

import csv
import json
import re
import shlex
import sys
import tomllib
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import pytest

import hyperfact
from hyperfact.cli import main
from tests.support import ROOT
from tests.test_architecture import LEVELS
from tools import results_page
from tools.orders import order
from tools.reference import DOCS, FACT, GENERATED, commands
from tools.together import together

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(DOCS.rglob("*.md")),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELLS = {"", "console", "sh", "text"}
#: Looks like a module, but is a file, or a group of entry points.
NO_MODULES = {"hyperfact.json", "hyperfact.decoders", "hyperfact.encoders"}


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_made_from_the_code_is_current(name: str) -> None:
    made = (DOCS / name).read_text(encoding="utf-8")
    assert made == GENERATED[name](), "run: python -m tools.reference"


def test_the_page_of_results_is_current() -> None:
    assert results_page.PAGE.read_text(encoding="utf-8") == results_page.page(), (
        "run: python -m tools.results_page"
    )


def test_every_stored_training_stands_in_the_table_of_its_study() -> None:
    for path in results_page.tables():
        with path.open(newline="", encoding="utf-8") as table:
            told = {
                (line.get("dataset"), line["row"])
                for line in csv.DictReader(table)
                if line.get("mrr") or line.get("seeds")
            }
        stored = {(c["dataset"], c["row"]) for c in results_page.cells_of(path.parent)}
        assert not stored - told, f"run: hyperfact reproduce {path.stem} --table"


def test_an_order_is_told_with_its_figures() -> None:
    rows = (("a", ".9", ".5"), ("b", ".8", ".7"), ("c", ".7", ".499"), ("d", "", ".1"))
    lines = [{"row": row, "mrr paper": paper, "mrr": ours} for row, paper, ours in rows]
    text = order(lines)
    assert "not confirmed" in text
    assert "Here: b 0.700, a 0.500, c 0.499." in text
    assert "1 have the paper's order, 1 differ by at most 0.002 here, 1 have the other" in text
    assert "(the paper has a before b)" in text
    assert "is confirmed" in order(lines[1:])
    assert not order(lines[2:])


def test_an_order_is_that_of_rows_with_one_budget() -> None:
    rows = (("a", ".9", ".5", "full"), ("b", ".8", ".7", "quick"), ("c", ".7", ".4", "full"))
    names = ("row", "mrr paper", "mrr", "budget")
    lines = [dict(zip(names, row, strict=True)) for row in rows]
    text = order(lines)
    assert "is confirmed" in text
    assert "Here: a 0.500, c 0.400." in text
    assert "1 rows of other budgets are left out" in text
    assert not order(lines[:2])


def test_an_ensemble_is_a_row_of_its_own(tmp_path: Path) -> None:
    assert not together(tmp_path)
    members = [
        {"run": f"results/main/runs/toy-{row}-0", "weight": 0.5, "test_mrr": mrr}
        for row, mrr in (("HypE", 0.4), ("GRAN", 0.6))
    ]
    test = {"mrr": 0.7, "hits@1": 0.6, "hits@10": 0.9, "leak_free": {"mrr": 0.3}}
    told = {"dataset": "toy", "members": members, "test": test, "valid": {"mrr": 0.65}}
    (tmp_path / "toy.json").write_text(json.dumps(told), encoding="utf-8")
    row = together(tmp_path).splitlines()[-1]
    assert row == (
        "| toy | `main: HypE`, `main: GRAN` | 0.50, 0.50 | 0.600 | **0.700** | 0.600 | 0.900 "
        "| 0.300 | 0.650 |"
    )


# -- commands ------------------------------------------------------------------------------------


def _typed(text: str) -> list[list[str]]:
    """The words of every hyperfact command in the code of a page."""
    lines = [
        line.removeprefix("$ ")
        for kind, block in FENCED.findall(text)
        if kind in SHELLS
        for line in block.replace("\\\n", " ").splitlines()
    ]
    spans = re.findall(r"`(hyperfact [^`]+)`", FENCED.sub("", text))
    typed = [line for line in [*lines, *spans] if line.startswith("hyperfact ")]
    return [shlex.split(line.replace("…", ""), comments=True)[1:] for line in typed]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    known = commands()
    groups = {name.partition(" ")[0] for name in known if " " in name}
    for words in _typed(page.read_text(encoding="utf-8")):
        if words[0].startswith("-") or words[0].isupper():
            continue
        name = " ".join(words[:2]) if words[0] in groups else words[0]
        assert name in known, f"no command {name!r}"
        options = {opt for p in known[name].params for opt in [*p.opts, *p.secondary_opts]}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= options | {"--help"}, f"{name}: no option {used - options}"


# -- names and links -----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_module_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bhyperfact(?:\.[A-Za-z_]+)+", text)) - NO_MODULES:
        if name.startswith("hyperfact.readthedocs"):
            continue
        module, _, attribute = name.rpartition(".")
        try:
            import_module(name)
        except ModuleNotFoundError:
            assert hasattr(import_module(module), attribute), name


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text):
        path, _, anchor = "".join(target).partition("#")
        if "://" in path:
            continue
        there = (page.parent / path) if path else page
        assert there.exists(), path
        if anchor:
            assert anchor in _anchors(there.read_text(encoding="utf-8")), f"{path}#{anchor}"


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def test_every_page_stands_in_the_nav_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\ntheme:")[0]
    listed = re.findall(r": (\S+\.md)$", nav, re.MULTILINE)
    models = (DOCS / "models" / "index.md").read_text(encoding="utf-8")  # has a link to each
    listed += [f"models/{page}" for page in re.findall(r"\]\((\S+\.md)\)", models)]
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


# -- pages with promises of their own ------------------------------------------------------------


def test_every_public_name_is_documented_with_an_example() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(parts) == set(hyperfact.__all__)
    for name, part in parts.items():
        assert re.search(rf"^::: hyperfact\.[\w.]*\b{name}$", part, re.MULTILINE), name
        example = "".join(block for kind, block in FENCED.findall(part) if kind == "python")
        assert re.search(rf"\bimport\b.*\b{name}\b", example), name


def test_the_map_of_rooms_is_that_of_the_architecture_test() -> None:
    text = (DOCS / "concepts" / "architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ (\d) {3}(\w+)(?: +(\w+))?", text, re.MULTILINE)
    rooms = {int(level): {room for room in pair if room} for level, *pair in drawn}
    rooms[6] = {"runs"}  # what follows it on the line is prose
    assert rooms == {level: set(names) for level, names in enumerate(LEVELS[:-1])}
    for names in LEVELS[:-1]:
        assert all(f"| `{room}` |" in text for room in names)


def test_the_own_decoder_of_the_page_is_that_of_the_examples() -> None:
    page = (DOCS / "howto" / "own-decoder.md").read_text(encoding="utf-8")
    code = (ROOT / "examples" / "own_decoder.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```\n" in page


def test_decisions_are_short() -> None:
    for path in (DOCS / "adr").glob("*.md"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 40, path


def test_the_readme_is_short_and_names_every_extra() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    reasons = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    extras = project["optional-dependencies"]
    mine = extras.keys() - {"dev", "docs", "night"}
    assert all(f"[{extra}]" in text for extra in mine)
    for package in [*project["dependencies"], *(p for extra in mine for p in extras[extra])]:
        name = re.split(r"[<>=;]", package)[0]
        assert re.search(rf"\b{name}\b", reasons), name


def test_the_picture_stands_alone_and_knows_two_colour_schemes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / "images" / "fact.svg").read_text(encoding="utf-8")
    assert len(text) < 20_000
    assert ET.fromstring(text).tag.endswith("svg")
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"<script|href=|url\(|@import", text)
    monkeypatch.chdir(tmp_path)
    assert _run(["draw", "baseball", FACT, "fact.svg"]) == 0
    assert (tmp_path / "fact.svg").read_text(encoding="utf-8") == text


# -- the tutorial --------------------------------------------------------------------------------


def _run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_the_tutorial_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "tutorial" / "own-data.md").read_text(encoding="utf-8")
    files = re.findall(r"`(\S+\.csv)`:\n\n```csv\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(files) == 2
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hyperfact"])
    shown = re.findall(r"^\$ hyperfact (.*)\n((?:(?!\$ |```).*\n)*)", text, re.MULTILINE)
    assert len(shown) == 11
    for command, expected in shown:
        capsys.readouterr()
        assert _run(shlex.split(command)) == 0, command
        printed = "".join(capsys.readouterr())  # results, then messages
        output, printed = (re.sub(" +", " ", part) for part in (expected, printed))  # columns move
        pattern = ".*?".join(re.escape(part) for part in output.rstrip("\n").split("…"))
        assert re.match(pattern, printed, re.DOTALL), f"{command}\n{printed}"
