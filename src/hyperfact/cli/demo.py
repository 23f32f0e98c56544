"""The command `demo`: facts, their audit, a small model, questions to it, without network."""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hyperfact.cli.audit import print_audit
from hyperfact.cli.common import app, spare_threads
from hyperfact.cli.printing import print_table, print_text
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.data.audit import audit_of, percent
from hyperfact.data.stats import stats_of

if TYPE_CHECKING:
    from hyperfact.graph.hkg import Splits

_PERSON = "Hank Aaron"
MODEL: dict[str, dict[str, Any]] = {  # small and quick; no setting for good results
    "data": {"dataset": "baseball"},
    "decoder": {"dropout": 0.0, "query_dropout": 0.3, "turn": "all", "offset": 0.5},
    "objective": {"partial": 0.9},  # people say less than a fact does
    "training": {
        **{"dim": 64, "batch_size": 4096, "average": 0.99},
        **{"validate_every": 4, "validate_facts": 300},
    },
    "optimizer": {"name": "adamw", "lr": 0.02, "lr_decay": 0.9, "weight_decay": 0.1},
}
QUESTIONS = (  # two that give no qualifier, and one whose blank is an attribute
    f"{_PERSON} | born in | ?",
    f"{_PERSON} | played for | ?",
    f"{_PERSON} | won award | Gold Glove | league = National League | season = 1958 | ? = RF",
)
_NEXT = (
    ('hyperfact show baseball "played for" -n 5', "more facts, of an entity or a relation"),
    ("hyperfact audit world --html audit.html", "the other bundled dataset, as a page"),
    ("hyperfact datasets", "the benchmarks that can be loaded by name"),
    ("hyperfact convert baseball facts --to parquet", "the same facts in another format"),
    ("hyperfact --help", "everything else"),
)


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option(help="A folder for the run; numbered if it exists.")] = Path(
        "hyperfact-demo"
    ),
    epochs: Annotated[int, typer.Option(min=1, help="How long to train.")] = 12,
) -> None:
    """Load the bundled dataset, audit it, train a small model, ask it: the first thing to try."""
    splits = load("baseball")
    _show_facts(splits)
    path = _free(out)
    page = _train(splits, path, epochs)
    _ask(splits, path)
    print_text("\n-- What to try next\n")
    for command, about in _NEXT:
        print_text(f"  {command:<48} {about}")
    print_text(f"\nThe report of the run is {page}; open it in a browser.")


def _show_facts(splits: "Splits") -> None:
    print_text(
        "Facts often need more than three slots. A hyper-relational fact is a primary triple\n"
        "(subject, relation, object) with qualifiers (attribute = value). For example:\n"
    )
    career = splits.train.of_entity(_PERSON)
    _, firsts = np.unique(career.columns.relation, return_index=True)
    for row in firsts[:6].tolist():
        print_text(f"  {career[row]}")
    print_text(f"\n{_PERSON} has {len(career)} facts in the training split of `baseball`.\n")
    print_text("-- How large is the dataset? (hyperfact stats)\n")
    found = stats_of(splits)
    print_text(f"{found.entities:,} entities, {found.relations:,} relations and attributes\n")
    print_table(
        ("split", "facts", "qualified", "max arity"),
        [(s.name, s.facts, percent(s.qualified_share), s.max_arity) for s in found.splits],
    )
    print_text("\n-- Can results on it be trusted? (hyperfact audit)\n")
    print_audit(audit_of(splits))


def _train(splits: "Splits", path: Path, epochs: int) -> Path:
    """Train, print metrics with their protocol, write the report; returns its place."""
    from hyperfact.cli.progress import progress
    from hyperfact.cli.results import print_results
    from hyperfact.cli.signals import interruptible
    from hyperfact.draw.pages.report import page
    from hyperfact.runs.catalog import look
    from hyperfact.runs.experiment import run
    from hyperfact.system.writing import write_atomically

    print_text(f"\n-- Train TransEQ on it for {epochs} epochs (hyperfact train)\n")
    spare_threads()
    tree = {**MODEL, "training": {**MODEL["training"], "epochs": epochs}}
    with interruptible(path) as signals, progress(epochs) as watch:
        config = ExperimentConfig.from_dict(tree)
        result = run(config, splits=splits, out=path, watch=watch, hold=signals.hold)
    print_results(result.results)
    print_text(f"\nThe run is stored in {path}. (hyperfact evaluate {path})")
    report = path / "report.html"
    write_atomically(report, page(look(path)).encode("utf-8"))
    return report.resolve()


def _ask(splits: "Splits", path: Path) -> None:
    """Three questions, and why the first of them is answered so."""
    from hyperfact.cli.answers import print_answers, print_explanation
    from hyperfact.predict import Predictor
    from hyperfact.predict.explain import explain

    print_text("\n-- Fill any blank (hyperfact predict)")
    predictor = Predictor.load(path, splits=splits)
    found = [predictor.ask(question, k=3) for question in QUESTIONS]
    for question, answers in zip(QUESTIONS, found, strict=True):
        print_text(f'\nhyperfact predict {path} "{question}" -k 3\n')
        print_answers(answers)
    first = found[0][0].name
    print_text("\n-- And why? (hyperfact explain)\n")
    print_text(f'hyperfact explain {path} "{QUESTIONS[0]}" "{first}"\n')
    print_explanation(explain(predictor, found[0].asked, first, count=3))


def _free(path: Path) -> Path:
    """This folder, or the first with a number that does not exist yet."""
    if not path.exists():
        return path
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(candidate for candidate in numbered if not candidate.exists())
