"""A ledger of looks at test facts: who ranked the test facts of a benchmark, when, with what.

Test figures that are looked at again and again become figures to choose by. In a project that keeps
`results/test-looks.tsv`, every stored run of a benchmark adds a line when it ranks test facts; this
repository does. Where no folder above a run has such a file, nothing is written.
"""

import csv
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hyperfact.config import ExperimentConfig
from hyperfact.data.benchmarks import BENCHMARKS
from hyperfact.evaluation import Evaluation
from hyperfact.runs.build import resolve
from hyperfact.runs.configurations import read_config, recipes
from hyperfact.runs.ensemble_members import is_ensemble
from hyperfact.runs.provenance import fingerprint

LEDGER = Path("results") / "test-looks.tsv"
COLUMNS = (
    *("date", "dataset", "recipe", "configuration", "seed", "command", "run"),
    *("looks", "queries"),  # how often all test facts were ranked, and queries ranked in all
)


def note_results(
    run: Path, config: ExperimentConfig, command: str, results: Mapping[str, Evaluation]
) -> None:
    """Add a line where these results, by split, hold ranked test facts."""
    if "test" in results:
        note_looks(run, config, command, queries=results["test"].metrics.ranks)


def note_looks(
    run: Path, config: ExperimentConfig, command: str, *, queries: int, looks: int = 1
) -> None:
    """Add a line to the ledger of the project that a run lies in, if there is one.

    Args:
        run: Its directory.
        config: Of the run.
        command: What ranked.
        queries: Ranked by one look.
        looks: How many there were.
    """
    root = project_of(run)
    if root is None or config.data.dataset not in BENCHMARKS:
        return
    where = run.absolute().relative_to(root).as_posix()
    day = datetime.now(UTC).date().isoformat()
    what = (config.data.dataset, recipe_of(config), fingerprint(config), config.training.seed)
    line = io.StringIO()
    fields = (day, *what, command, where, looks, looks * queries)
    csv.writer(line, delimiter="\t", lineterminator="\n").writerow(fields)
    with (root / LEDGER).open("a", encoding="utf-8") as ledger:  # one write: lines stay whole
        ledger.write(line.getvalue())


def project_of(run: Path) -> Path | None:
    """The nearest folder above a run that keeps a ledger."""
    return next((p for p in run.absolute().parents if (p / LEDGER).is_file()), None)


def recipe_of(config: ExperimentConfig) -> str:
    """The recipe with the same settings but for the seed; "-" where there is none."""
    if is_ensemble(config):
        return "-"
    mine = _without_seed(config)
    same = (name for name in recipes() if _without_seed(read_config(Path(name))) == mine)
    return next(same, "-")


def _without_seed(config: ExperimentConfig) -> ExperimentConfig:
    """With what decides figures alone, every option filled in."""
    config = resolve(config)
    training = config.training.model_copy(update={"seed": 0})
    data = config.data.model_copy(update={"data_dir": None})
    defaults = type(config)()
    return config.model_copy(
        update={"training": training, "data": data, "checkpoint": defaults.checkpoint}
    )
