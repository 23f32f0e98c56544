"""No operator whose result depends on the order of threads, by the code's and torch's own word.

`pytest --deterministic` runs any tests in the mode in which torch refuses such operators.
"""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import torch

import hyperfact
from hyperfact.config import ObjectiveConfig, OptimizerConfig, TrainingConfig
from hyperfact.evaluation import evaluate
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import ENCODER_FORMS, model_of, random_facts

ROOT = Path(hyperfact.__file__).parent
ROOMS = ("models", "kernels", "training", "graph/kg.py")
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


# -- as torch sees it ------------------------------------------------------------------------------


@pytest.fixture
def _refused() -> Iterator[None]:
    """Torch raises where an operator has no deterministic form, and fills new memory with NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


def two_steps(graph: HKG, encoder: str, decoder: str, negatives: int) -> list[torch.Tensor]:
    model = model_of(graph, ENCODER_FORMS[encoder], {"name": decoder})
    objective = make_objective(graph, ObjectiveConfig(negatives=negatives, label_smoothing=0.1))
    half = TrainingConfig(epochs=1, batch_size=(len(objective) + 1) // 2)
    trainer = Trainer(
        model,
        objective,
        training=half,
        optimizer=OptimizerConfig(),
        hide_targets="batch",
        generator=torch.Generator().manual_seed(5),
    )
    assert [event.epoch for event in trainer.run()] == [1, 1, 1]  # two steps, and the end
    evaluate(model, graph[:3], KnownAnswers.build(graph))
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.usefixtures("_refused")
@pytest.mark.parametrize(
    ("encoder", "decoder"),
    sorted(
        {*product(("lookup",), DECODERS), *product(ENCODER_FORMS, ("mdistmult",))}
        - {("anonymous", "mdistmult")}
        | {("anonymous", "hcnet")}
    ),
)
@pytest.mark.parametrize("negatives", [0, 4])
def test_training_and_ranking_use_none_that_torch_refuses(
    encoder: str, decoder: str, negatives: int
) -> None:
    graph = random_facts(12, entities=8)
    one, two = (two_steps(graph, encoder, decoder, negatives) for _ in range(2))
    assert all(
        bool(a.isfinite().all()) and torch.equal(a, b) for a, b in zip(one, two, strict=True)
    )
    assert {form["name"] for form in ENCODER_FORMS.values()} == set(ENCODERS)


@pytest.mark.usefixtures("_refused")
def test_torch_does_refuse_them() -> None:
    with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
        torch.zeros(3).put_(torch.tensor([0, 0]), torch.ones(2))
    assert torch.empty(5).isnan().all()
