"""Data flows one way: imports point down the levels and the order of a room; few touch the world.

Rooms on one level never import each other. Inside a room (and inside a folder of a room) the order
stands in the docstring of its `__init__` as `Order: a, b, c.`; a module may import those before it.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import hyperfact

ROOT = Path(hyperfact.__file__).parent

#: Bottom first.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("config", "system"),
    ("graph", "kernels"),
    ("data", "transforms"),
    ("models", "scale"),
    ("training", "evaluation"),
    ("runs",),
    ("predict", "draw"),
    ("cli", "serve"),
    ("__main__",),
)
#: Imports that point up or sideways on purpose: (module, what it imports) -> why.
EXCEPTIONS = {
    ("graph.facts", "draw"): "a fact draws itself in a notebook; loaded when it is asked to",
    ("graph.hkg", "draw"): "facts draw themselves in a notebook; loaded when they are asked to",
    ("cli.serve", "serve.start"): "the command that starts the service",
}


def modules() -> dict[str, Path]:
    """Every module by its name below the package; a folder by its `__init__`."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()
ROOMS = sorted({name.partition(".")[0] for name in MODULES})
FOLDERS = [name for name, path in MODULES.items() if path.name == "__init__.py"]


@cache
def parsed(path: Path) -> ast.Module:
    """The code of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> set[str]:
    """The modules of the package that a module imports: at its top, in a function, by a string."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            names = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
        else:
            continue
        found |= {known for name in names if (known := _module(name)) is not None}
    return found


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def _module(name: str) -> str | None:
    """The module below the package that an imported name is, or lies in."""
    package, _, inside = name.partition(".")
    if package != "hyperfact" or not inside:
        return None
    while inside and inside not in MODULES:
        inside = inside.rpartition(".")[0]
    return inside or None


def level(room: str) -> int:
    """The height of a room."""
    return next(height for height, rooms in enumerate(LEVELS) if room in rooms)


def order(folder: str) -> list[str]:
    """The modules of a folder as its docstring lists them."""
    text = ast.get_docstring(parsed(MODULES[folder])) or ""
    found = re.search(r"^Order: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    return re.split(r",\s+", found[1]) if found else []


def children(folder: str) -> set[str]:
    """The modules and folders directly in a folder."""
    inside = (name.removeprefix(f"{folder}.") for name in MODULES if name.startswith(f"{folder}."))
    return {name for name in inside if "." not in name}


def test_the_top_holds_the_rooms_of_the_table_and_nothing_else() -> None:
    rooms = {name for name in MODULES if "." not in name}
    assert rooms == {room for rooms in LEVELS for room in rooms}


def members(room: str) -> list[str]:
    """The modules of a room."""
    return [name for name in MODULES if name.partition(".")[0] == room]


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_down(room: str) -> None:
    for module in members(room):
        for other in imports(MODULES[module]) - {module}:
            there = other.partition(".")[0]
            if room != there and (module, other) not in EXCEPTIONS:
                assert level(there) < level(room), f"{module} imports {other}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_room_states_its_order_and_keeps_it(folder: str) -> None:
    inside, stated = children(folder), order(folder)
    if len(inside) < 2:
        return
    assert sorted(stated) == sorted(inside), f"{folder}: `Order:` lists other modules than it has"
    for name in inside:
        here = f"{folder}.{name}"
        for module in (m for m in MODULES if m == here or m.startswith(f"{here}.")):
            for other in imports(MODULES[module]):
                assert other != folder, f"{module} imports its own room, not the module it needs"
                neighbour = other.removeprefix(f"{folder}.").partition(".")[0]
                if other.startswith(f"{folder}.") and neighbour != name:
                    assert stated.index(neighbour) < stated.index(name), f"{module}: {other}"


def test_exceptions_are_needed() -> None:
    for module, other in EXCEPTIONS:
        assert other in imports(MODULES[module]), f"{module} no longer imports {other}"


def test_names_of_modules_say_where_one_is() -> None:
    """No two modules share a name, but for those that mirror a room or a member of a family."""
    seen: dict[str, list[str]] = {}
    for module in MODULES:
        if not module.startswith("cli."):  # commands are named after what they are about
            seen.setdefault(module.rpartition(".")[2], []).append(module)
    assert {name: places for name, places in seen.items() if len(places) > 1} == {}


#: Only these touch files, streams, clock and environment; the rest is pure.
WORLD = ("system", "data", "runs", "draw.pages", "cli", "serve")
FILES = {"read_text", "write_text", "read_bytes", "write_bytes"}
STREAMS = {"open", "print", "input"}
CLOCK_AND_ENVIRONMENT = {
    *(("time", name) for name in ("time", "monotonic", "perf_counter", "sleep", "process_time")),
    *(("datetime", name) for name in ("now", "today", "utcnow")),
    *(("os", name) for name in ("environ", "getenv", "getpid", "cpu_count", "urandom")),
    *(("sys", name) for name in ("stdout", "stderr", "stdin", "argv")),
}
WORLDLY_MODULES = {"time", "tempfile", "shutil", "subprocess", "socket", "resource", "platform"}


def worldly(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of everything in a module that touches the world."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in STREAMS:
                yield line, node.func.id
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in FILES or (owner, node.attr) in CLOCK_AND_ENVIRONMENT:
                yield line, f"{owner}.{node.attr}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            module = getattr(node, "module", None)
            heads = {module.partition(".")[0]} if module else {n.partition(".")[0] for n in names}
            yield from ((line, name) for name in heads & WORLDLY_MODULES)
            yield from ((line, n) for n in names if (module, n) in CLOCK_AND_ENVIRONMENT)


@pytest.mark.parametrize("room", ROOMS)
def test_pure_rooms_do_not_touch_the_world(room: str) -> None:
    for module in members(room):
        if not any(module == part or module.startswith(f"{part}.") for part in WORLD):
            assert not list(worldly(parsed(MODULES[module]))), module


FORBIDDEN = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec"}
ATTRIBUTES = {("torch", "load"), ("torch", "save"), ("yaml", "load")}


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_pickled_or_evaluated(room: str) -> None:
    for module in members(room):
        for node in ast.walk(parsed(MODULES[module])):
            assert not _is_dangerous(node), f"{module}:{getattr(node, 'lineno', '')}"


def _is_dangerous(node: ast.AST) -> bool:
    """Whether code is run that was read, or could be."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return bool({name.split(".")[0] for name in _imported(node)} & FORBIDDEN)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in CALLS
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return (node.value.id, node.attr) in ATTRIBUTES
    return isinstance(node, ast.keyword) and node.arg == "allow_pickle"


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}


#: Modules that exist on POSIX only: imported where they are used, behind a check.
POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "pty"}


@pytest.mark.parametrize("room", ROOMS)
def test_importing_works_on_every_system(room: str) -> None:
    for module in members(room):
        for node in parsed(MODULES[module]).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not _imported(node) & POSIX, module


def test_the_check_sees_what_it_forbids(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "from importlib import import_module\n"
        "from hyperfact.cli import app\nimport hyperfact.data.source\n"
        "def f():\n    return import_module('hyperfact.draw')\n"
        "from hyperfact import graph\n"
    )
    assert imports(file) == {"cli", "data", "draw", "graph"}
    for line in ("import pickle", "eval('1')", "torch.load(x)", "np.load(x, allow_pickle=True)"):
        assert any(map(_is_dangerous, ast.walk(ast.parse(line)))), line
    text = "import time, os\nfrom os import environ\nopen('x')\nprint()\nos.environ['A']\n"
    assert {name for _, name in worldly(ast.parse(text))} == {
        *("time", "environ", "open", "print", "os.environ")
    }
