"""No operator whose result depends on the order of threads, as far as the code shows it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hyperfact

ROOT = Path(hyperfact.__file__).parent
ROOMS = ("encoders", "decoders", "kernels", "objective.py", "training.py", "model.py", "kg.py")
UNSTABLE = {"index_put", "index_put_", "scatter_add", "scatter_add_", "put_"}
LOADERS = {"DataLoader"}
GLOBAL_CHANCE = {"seed", "rand", "randn", "randint", "shuffle", "permutation", "choice"}


def findings(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    parameters, slices = set(parameters_of(tree)), set(slices_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in UNSTABLE and of_tensor(node):
            yield f"{node.lineno}: {node.attr}"
        if isinstance(node, ast.Name | ast.Attribute) and name_of(node) in LOADERS:
            yield f"{node.lineno}: a loader with workers of its own"
        if is_global_chance(node):
            yield f"{line_of(node)}: NumPy's global generator"
        if is_gather(node, parameters, slices):
            yield f"{line_of(node)}: a parameter indexed by a tensor; use index_select"


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def is_gather(node: ast.AST, parameters: set[str], slices: set[str]) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and is_own(node.value, parameters)
        and not is_plain(node.slice, slices)
    )


def name_of(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def of_tensor(node: ast.Attribute) -> bool:
    return not (isinstance(node.value, ast.Name) and node.value.id == "np")


def parameters_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if name_of(node.value.func) == "Parameter":
            yield from (name_of(target) for target in node.targets)


def is_own(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and name_of(node.value) == "self" and node.attr in names


def slices_of(tree: ast.AST) -> Iterator[str]:
    """Arguments that are declared to be slices."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and name_of(node.annotation or node) == "slice":
            yield node.arg


def is_plain(index: ast.AST, slices: set[str]) -> bool:
    """A number, a slice or None: no gather, so that the backward is stable."""
    if isinstance(index, ast.Tuple):
        return all(is_plain(part, slices) for part in index.elts)
    plain = isinstance(index, ast.Constant | ast.Slice | ast.UnaryOp)
    return plain or name_of(index) in slices


def is_global_chance(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in GLOBAL_CHANCE
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
        and name_of(node.value.value) == "np"
    )


def files() -> Iterator[Path]:
    for room in ROOMS:
        path = ROOT / room
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("path", list(files()), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_unstable_operator(path: Path) -> None:
    assert list(findings(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "y = self.weight[rows]",
        "y = self.weight[:, rows]",
        "x.index_put_((i,), v, accumulate=True)",
        "x.scatter_add_(0, i, v)",
        "np.random.shuffle(x)",
        "DataLoader(x, num_workers=2)",
    ],
)
def test_the_rule_sees_each_of_them(line: str) -> None:
    head = "class A:\n    def f(self):\n        self.weight = nn.Parameter(x)\n        "
    assert list(findings(head + line))
    assert not list(findings(head + "y = self.weight[:3, 0] + self.weight.index_select(0, i)"))
