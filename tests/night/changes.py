"""Mutants: each changes one place of a source, so that some test should fail."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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

_NO_KEYS = "a filter that knows nothing finds nothing at any key"
_AT_ONCE = "how much exists at once changes memory and time, not the result"
_WIDE = "any width above the largest slot tells queries apart"
_NOWHERE = "any negative number stands for nowhere"
_LONGER = "a longer table begins with the same entries"
_EDGE = "on the very edge of what is left to rounding, either is right"
_EQUALLY_LONG = "both sides come from one list, so that their lengths cannot differ"
_LAWS = (
    "_insist({'Hits@1 <= Hits@3 <= Hits@10': one <= three <= ten, '0 < MRR <= 1': "
    "0.0 < found.mrr <= 1.0 + _SLACK, 'Hits@1 <= MRR <= Hits@1 + (1 - Hits@1) / 2': "
    "one - _SLACK <= found.mrr <= one + (1.0 - one) / 2 + _SLACK})"
)
_FULL = "return np.full(len(queries), -1, dtype=np.int64)"
_NONE = "return (np.full(len(ranked.ranks), -1, dtype=np.int64), [])"
_WIDTH = "width = int(max(queries.slot.max(initial=0), given.slot.max(initial=0))) + 1"
_ROWS = "return np.where(there, at, -1)"
_TOP = "top = int((self.greater + self.equal).max(initial=0)) + 1"
_NAMED = "return (arity, [str(i) for i in range(int(arity.max(initial=0)) + 1)])"

#: Changes that no test can see, by file and change, and why.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("evaluation/background.py", f"one more than 1 in {_FULL}"): _NO_KEYS,
    ("evaluation/background.py", f"no sign of -1 in {_FULL}"): _NO_KEYS,
    ("evaluation/bootstrap.py", "one more than 2 in _CELLS = 2 ** 22"): _AT_ONCE,
    ("evaluation/ranking.py", "one more than 2 in _CELLS = 2 ** 25"): _AT_ONCE,
    (
        "evaluation/ranking.py",
        "Gt for chunk >= width in if chunk >= width:",
    ): "one piece as wide as all is all",
    ("evaluation/foreign.py", f"one more than 0 in {_WIDTH}"): _WIDE,
    ("evaluation/foreign.py", f"one more than 0 in {_WIDTH} (2)"): _WIDE,
    ("evaluation/foreign.py", f"one more than 1 in {_WIDTH}"): _WIDE,
    ("evaluation/foreign.py", f"one more than 1 in {_ROWS}"): _NOWHERE,
    (
        "evaluation/foreign.py",
        "Sub for row * filtered.size + entity in "
        "if len(np.unique(row * filtered.size + entity)) < len(row):",
    ): "less an entity, multiples of the number of entities are as distinct as with it",
    ("evaluation/ranks.py", f"one more than 0 in {_TOP}"): _LONGER,
    ("evaluation/ranks.py", f"one more than 1 in {_TOP}"): _LONGER,
    (
        "evaluation/ranks.py",
        "one more than 1 in "
        "harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, top + 1))]) (2)",
    ): _LONGER,
    ("evaluation/ranks.py", f"Lt2 for 0.0 < found.mrr <= 1.0 + _SLACK in {_LAWS}"): _EDGE,
    (
        "evaluation/ranks.py",
        f"Lt for one - _SLACK <= found.mrr <= one + (1.0 - one) / 2 + _SLACK in {_LAWS}",
    ): _EDGE,
    (
        "evaluation/ranks.py",
        f"Lt2 for one - _SLACK <= found.mrr <= one + (1.0 - one) / 2 + _SLACK in {_LAWS}",
    ): _EDGE,
    (
        "evaluation/result.py",
        "not True in return {name: interval(column, level) "
        "for name, column in zip(names, means.T, strict=True)}",
    ): _EQUALLY_LONG,
    ("evaluation/slices.py", f"one more than 0 in {_NAMED}"): _LONGER,
    ("evaluation/slices.py", f"one more than 1 in {_NAMED}"): _LONGER,
    (
        "evaluation/slices.py",
        "one more than 1 in code = np.full(len(ranks), -1, dtype=np.int64)",
    ): _NOWHERE,
    ("evaluation/slices.py", f"one more than 1 in {_NONE}"): _NOWHERE,
    ("evaluation/slices.py", f"one more than 1 in {_NONE} (2)"): _NOWHERE,
    (
        "evaluation/slices.py",
        "not True in return {labels[c]: rows "
        "for c, rows in zip(present.tolist(), parts, strict=True) if c >= 0}",
    ): _EQUALLY_LONG,
    (
        "evaluation/slices.py",
        "one more than 0 in none = np.zeros(0, dtype=np.int32)",
    ): "a qualifier that no fact owns is never read",
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
    number, times = 0, Counter[str]()
    while True:
        tree, mutator = ast.parse(source), Mutator(number)
        changed = ast.fix_missing_locations(mutator.visit(tree))
        if not mutator.where:
            return
        found = Mutant(mutator.where, ast.unparse(changed))
        times[found.change] += 1
        if times[found.change] > 1:
            found = replace(found, where=f"{found.where} ({times[found.change]})")
        if excused or (file, found.change) not in EQUIVALENT:
            yield found
        number += 1
