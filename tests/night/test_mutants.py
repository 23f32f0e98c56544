"""Mutants: every small change of the source of ranking and objective must fail some test."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hyperfact"
SOURCES = (
    "evaluation/background.py",
    "evaluation/bootstrap.py",
    "evaluation/comparison.py",
    "evaluation/evaluator.py",
    "evaluation/foreign.py",
    "evaluation/ranking.py",
    "evaluation/ranks.py",
    "evaluation/slices.py",
    "objective.py",
)
TESTS = (
    "tests/unit/evaluation/test_ranking.py",
    "tests/unit/evaluation/test_result.py",
    "tests/unit/test_evaluation.py",
    "tests/unit/test_objective.py",
    "tests/unit/evaluation/test_oracle.py",
)
SHARE = 0.95  # of killed mutants
EVERY = int(os.environ.get("HYPERFACT_MUTANTS", "1"))  # try every n-th mutant only
COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutator(ast.NodeTransformer):
    """Changes the n-th place that can be changed, and says where."""

    def __init__(self, number: int) -> None:
        self.number, self.seen, self.where = number, 0, ""

    def _hit(self, node: ast.expr, what: str) -> bool:
        self.seen += 1
        if self.seen - 1 != self.number:
            return False
        self.where = f"line {node.lineno}: {what} in {ast.unparse(node)}"
        return True

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = COMPARE.get(type(node.ops[0]))
        if other is not None and self._hit(node, other.__name__):
            node.ops[0] = other()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = ARITHMETIC.get(type(node.op))
        if other is not None and not _is_type(node) and self._hit(node, other.__name__):
            node.op = other()
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """What stands for nothing stays: an empty array, the maximum of nothing."""
        node.keywords = [k if k.arg == "initial" else self.visit(k) for k in node.keywords]
        if not ast.unparse(node).startswith("np.zeros(0"):
            node.func = self.visit(node.func)
            node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return node  # -1 stands for nowhere, and so would -2
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert | ast.Not) and self._hit(node, "no negation"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        small = type(node.value) is int and node.value in (0, 1, 2)
        if small and self._hit(node, "one more"):
            return ast.copy_location(ast.Constant(int(node.value) + 1), node)  # type: ignore[arg-type]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def _is_type(node: ast.BinOp) -> bool:
    """Whether this is a union of types, which no test can see."""
    text = ast.unparse(node)
    return isinstance(node.op, ast.BitOr) and ("None" in text or text[0].isupper())


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """What was changed, and the changed source; annotations and messages stay."""
    number = 0
    while True:
        tree, mutator = ast.parse(source), Mutator(number)
        changed = ast.fix_missing_locations(mutator.visit(tree))
        if not mutator.where:
            return
        yield mutator.where, ast.unparse(changed)
        number += 1


def survives(folder: Path, name: str, text: str) -> bool:
    """Whether all tests pass with the changed file."""
    target = folder / "src" / "hyperfact" / name
    original = target.read_text()
    target.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS]
    try:
        done = subprocess.run(
            [*command, "-k", "not ten_thousand or 0"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            timeout=600,
            check=False,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(original)


def copy_to(folder: Path) -> Path:
    for part in ("src", "tests", "pyproject.toml"):
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    return folder


def chosen() -> list[tuple[str, str, str]]:
    found = [
        (name, where, text)
        for name in SOURCES
        for where, text in mutants((PACKAGE / name).read_text())
    ]
    return found[::EVERY]


def test_mutants_differ_from_the_source() -> None:
    for name in SOURCES:
        source = ast.unparse(ast.parse((PACKAGE / name).read_text()))
        texts = [text for _, text in mutants(source)]
        assert texts, name
        assert source not in texts


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
def test_mutants_are_killed(tmp_path: Path) -> None:
    folders = [copy_to(tmp_path / str(i)) for i in range(2)]
    tree = (PACKAGE / SOURCES[0]).read_text()
    assert survives(folders[0], SOURCES[0], tree), "the tests fail without a mutant"
    cases = chosen()
    with ThreadPoolExecutor(2) as pool:
        shards = [pool.submit(_survivors, f, cases[i::2]) for i, f in enumerate(folders)]
        alive = [line for shard in shards for line in shard.result()]
    assert 1 - len(alive) / len(cases) >= SHARE, "\n".join(alive)


def _survivors(folder: Path, cases: list[tuple[str, str, str]]) -> list[str]:
    return [f"{name}: {where}" for name, where, text in cases if survives(folder, name, text)]
