"""Data flows one way: imports point down the table of rooms, and only the world's rooms do I/O."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hyperfact

ROOT = Path(hyperfact.__file__).parent

#: Level by level, bottom first. A room may import rooms of lower levels; on one line, only those
#: that stand before it in the same inner tuple.
LEVELS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("names", "errors", "settings", "config"), ("memory",)),
    (
        (
            *("ragged", "syntax", "facts", "columns", "fingerprints", "stars", "hkg"),
            *("queries", "batches", "kg", "roles"),
        ),
        ("kernels", "noise"),
    ),
    (("data",), ("transforms",), ("encoders",), ("decoders",)),
    (("model",), ("stats", "audit"), ("exports",)),
    (("objective",), ("evaluation",)),
    (
        ("averaging", "training"),
        ("storage", "artifacts", "checkpoints", "catalog", "sidecar"),
        ("predictions",),
    ),
    (
        (
            *("assembly", "fitting", "provenance", "runs", "experiment", "api", "plan"),
            *("tuning", "predict", "explain", "takeaway", "studies"),
        ),
        ("report",),
        ("draw",),
    ),
    (("serve", "cli", "__main__"),),
)


def place(room: str) -> tuple[int, int, int]:
    for level, lines in enumerate(LEVELS):
        for line, rooms in enumerate(lines):
            if room in rooms:
                return level, line, rooms.index(room)
    raise AssertionError(f"the room {room!r} is not in the table of levels")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imports(path: Path) -> set[str]:
    """The rooms that a module imports, at its top, in a function or for its types."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names = [module] + [f"{module}.{a.name}" for a in node.names if module == "hyperfact"]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("hyperfact.")}
    return found - {"__version__"}


@pytest.mark.parametrize(
    "path", [path for _, path in modules()], ids=lambda p: str(p.relative_to(ROOT))
)
def test_imports_point_down(path: Path) -> None:
    room = path.relative_to(ROOT).with_suffix("").parts[0]
    level, line, seat = place(room)
    for other in imports(path) - {room}:
        other_level, other_line, other_seat = place(other)
        below = other_level < level
        before = (other_level, other_line) == (level, line) and other_seat < seat
        assert below or before, f"{room} (level {level}) imports {other} (level {other_level})"


#: Only these touch files, clock, environment or streams.
WORLD = {
    *(
        "memory",
        "config",
        "data",
        "exports",
        "artifacts",
        "sidecar",
        "predictions",
        "experiment",
        "takeaway",
    ),
    *("storage", "checkpoints", "provenance", "tuning", "cli", "serve", "studies"),
}


@pytest.mark.parametrize(
    "path", [p for room, p in modules() if room not in WORLD], ids=lambda p: p.stem
)
def test_pure_rooms_do_not_touch_the_world(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}, f"{path}:{node.lineno}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"read_text", "write_text", "read_bytes", "write_bytes"}, (
                f"{path}:{node.lineno}"
            )


FORBIDDEN = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec"}
ATTRIBUTES = {("torch", "load"), ("torch", "save"), ("yaml", "load")}


@pytest.mark.parametrize("path", [path for _, path in modules()], ids=lambda p: p.stem)
def test_nothing_is_pickled_or_evaluated(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            assert not {name.split(".")[0] for name in names} & FORBIDDEN
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in ATTRIBUTES
        if isinstance(node, ast.keyword):
            assert node.arg != "allow_pickle"


def test_the_check_sees_an_upward_import(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("from hyperfact.cli import app\nimport hyperfact.system.source\n")
    assert imports(file) == {"cli", "data"}
    assert place("cli") > place("data")
