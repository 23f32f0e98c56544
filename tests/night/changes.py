"""Mutants: each changes one place of a source, so that some test should fail."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
AXES = {"axis", "dim"}

#: Changes that no test can see, by file and change, and why.
EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "evaluation/background.py",
        "one more than 1 in return np.full(len(queries), -1, dtype=np.int64)",
    ): "a filter that knows nothing finds nothing at any key",
    (
        "evaluation/background.py",
        "no sign of -1 in return np.full(len(queries), -1, dtype=np.int64)",
    ): "a filter that knows nothing finds nothing at any key",
}


@dataclass(frozen=True)
class Mutant:
    """A changed source, and where it differs."""

    where: str
    text: str

    @property
    def change(self) -> str:
        """What was changed, without the line."""
        return self.where.partition(": ")[2]


class Mutator(ast.NodeTransformer):
    """Changes the n-th place that can be changed, and says where."""

    def __init__(self, number: int) -> None:
        self.number, self.seen, self.where = number, 0, ""
        self.statement: ast.stmt | None = None

    def visit(self, node: ast.AST) -> Any:
        """Keeps the statement that is being changed."""
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node
        changed = super().visit(node)
        self.statement = outer
        return changed

    def _hit(self, node: ast.expr, what: str) -> bool:
        self.seen += 1
        if self.seen - 1 != self.number:
            return False
        assert self.statement is not None
        whole = ast.unparse(self.statement).partition("\n")[0]
        self.where = f"line {node.lineno}: {what} {ast.unparse(node)} in {whole}"
        return True

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for i, op in enumerate(node.ops):
            other = COMPARE[type(op)]
            if self._hit(node, f"{other.__name__}{i + 1 if i else ''} for"):
                node.ops[i] = other()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        if self._hit(node, f"{other.__name__} for"):
            node.op = other()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if _is_type(node):
            return node
        self.generic_visit(node)
        other = ARITHMETIC.get(type(node.op))
        if other is not None and self._hit(node, f"{other.__name__} for"):
            node.op = other()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert | ast.Not | ast.USub) and self._hit(node, "no sign of"):
            return node.operand
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Another axis that exists; `visit_Constant` would name one that does not."""
        value = node.value
        if node.arg in AXES and isinstance(value, ast.Constant) and value.value in (0, 1):
            if self._hit(value, f"other {node.arg}"):
                other = 0 if value.value == 1 else 1
                node.value = ast.copy_location(ast.Constant(other), value)
            return node
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if not isinstance(value, int | float) or value not in (0, 0.5, 1, 2):
            return node
        if isinstance(value, bool):
            other, what = ast.Constant(not value), "not"
        else:
            other, what = ast.Constant(value + 1), "one more than"
        return ast.copy_location(other, node) if self._hit(node, what) else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node  # annotations stay

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without its annotations and decorators."""
        node.args = self.visit(node.args)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """That nobody changes a frozen instance is for mypy to see."""
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def _is_type(node: ast.BinOp) -> bool:
    """Whether this is a union of types."""
    return isinstance(node.op, ast.BitOr) and ast.unparse(node)[0].isupper()


def mutants(file: str, source: str, *, excused: bool = False) -> Iterator[Mutant]:
    """Every change of a source, but for those that no test can see, unless these are asked for."""
    number = 0
    while True:
        tree, mutator = ast.parse(source), Mutator(number)
        changed = ast.fix_missing_locations(mutator.visit(tree))
        if not mutator.where:
            return
        found = Mutant(mutator.where, ast.unparse(changed))
        if excused or (file, found.change) not in EQUIVALENT:
            yield found
        number += 1
