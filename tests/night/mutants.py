"""Small changes of the source, and whether some test fails with each.

Starting Python and importing torch takes longer than most tests. One process therefore imports all
that no mutant changes, and forks a child for each mutant; the child imports the changed module
from memory and runs the tests until the first fails. As a program it writes a line for each mutant:

    python -m tests.night.mutants [--every N] [--only TEXT]
"""

import argparse
import importlib.abc
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from tests.night.changes import Mutant, mutants
from tests.support import ROOT

PACKAGE = ROOT / "src" / "hyperfact"
_RANKING = (
    "tests/unit/evaluation/test_edges.py",
    "tests/unit/evaluation/test_foreign.py",
    "tests/unit/evaluation/test_result.py",
    "tests/unit/evaluation/test_evaluation.py",
    "tests/unit/evaluation/test_ranking.py",
    "tests/unit/evaluation/test_oracle.py",
)
#: Each source with its tests; neither of ranking and objective imports the other.
SOURCES: dict[str, tuple[str, ...]] = {
    "training/objective.py": ("tests/unit/training/test_objective.py",),
    "evaluation/background.py": _RANKING,
    "evaluation/bootstrap.py": _RANKING,
    "evaluation/comparison.py": _RANKING,
    "evaluation/evaluator.py": _RANKING,
    "evaluation/foreign.py": _RANKING,
    "evaluation/ranking.py": _RANKING,
    "evaluation/ranks.py": _RANKING,
    "evaluation/result.py": _RANKING,
    "evaluation/slices.py": _RANKING,
}
#: Tests that take seconds; what the others do not kill goes through these too, of ten thousand
#: cases through the first thousand.
_LONG = (
    "ten_copies or pieces_and_threads or renaming_and or exact_fractions or ten_thousand "
    "or wrong_filter or right_filter or wrong_count"
)
STAGES = (f"not ({_LONG})", f"({_LONG}) and (not ten_thousand or 0)")
PRELOADED = (
    "torch",
    "numba",
    "duckdb",
    "hyperfact.runs.build",
    "hyperfact.data",
    "tests.support.models",
)
OPTIONS = (
    *("-q", "-x", "--assert=plain", "--tb=no", "-p", "no:cacheprovider"),
    *("-p", "pytest_timeout", "-o", "timeout=120"),  # the only plugin: see `preload`
)
SECONDS, BYTES = 300, 8 * 2**30  # of processor time and address space for one mutant


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    file: str
    where: str
    killer: str | None  # the first test that failed; None: it survives
    seconds: float


class Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from a text instead of its file."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def get_source(self, fullname: str) -> str:
        del fullname
        return self.text

    def is_package(self, fullname: str) -> bool:
        del fullname
        return False


class Witness:
    """Tells the first failure to whoever holds the other end of the pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.pipe, report.nodeid.encode())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os.write(self.pipe, f"import of {report.nodeid}".encode())


def module_of(file: str) -> str:
    return "hyperfact." + file.removesuffix(".py").replace("/", ".")


def _run_tests(file: str, text: str, stage: str, pipe: int) -> int:
    """In the child: the tests' exit code with this text in place of the file."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    sys.meta_path.insert(0, Changed(module_of(file), text))
    words = [*OPTIONS, "-k", stage, *SOURCES[file]]
    return int(pytest.main(words, plugins=[Witness(pipe)]))


def judge(file: str, mutant: Mutant) -> Verdict:
    """The quick tests, which kill most, and then the others."""
    start, killer = time.monotonic(), None
    for stage in STAGES if len(SOURCES[file]) > 1 else [""]:
        killer = killer or killer_of(file, mutant, stage)
    return Verdict(file, mutant.where, killer, round(time.monotonic() - start, 2))


def killer_of(file: str, mutant: Mutant, stage: str) -> str | None:
    """Run the tests of a stage against one mutant in a child of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 70
        try:
            code = _run_tests(file, mutant.text, stage, writer)
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        killer = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in {0, 1, 2} and code > 0:
        raise RuntimeError(f"{file}, {mutant.where}: the tests did not run (exit code {code})")
    return (f"signal {-code}" if code < 0 else killer or "?") if code else None


def preload() -> None:
    """Import what no mutant changes; what one changes must not be there yet."""
    sys.path.insert(0, str(PACKAGE.parent))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in PRELOADED:
        __import__(name)
    import torch

    torch.set_num_threads(1)
    loaded = [module_of(file) for file in SOURCES if module_of(file) in sys.modules]
    assert not loaded, f"imported before the fork: {loaded}"


def chosen(every: int = 1, only: str = "") -> list[tuple[str, Mutant]]:
    """Every n-th mutant of all sources, of those that `only` is part of."""
    found = [(file, m) for file in SOURCES for m in mutants(file, (PACKAGE / file).read_text())]
    return [(file, m) for file, m in found if only in f"{file}: {m.where}"][::every]


def verdicts(every: int = 1, only: str = "") -> Iterator[Verdict]:
    """The unchanged source first, which must survive; then each mutant."""
    os.chdir(ROOT)
    preload()
    for file in ("training/objective.py", "evaluation/ranks.py"):
        unchanged = judge(file, Mutant("nothing", (PACKAGE / file).read_text()))
        if unchanged.killer is not None:
            raise RuntimeError(f"the tests fail without a mutant: {unchanged.killer}")
    for file, mutant in chosen(every, only):
        yield judge(file, mutant)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--every", type=int, default=1)
    words.add_argument("--only", default="")
    given = words.parse_args()
    for verdict in verdicts(given.every, given.only):
        print(json.dumps(asdict(verdict)), flush=True)


if __name__ == "__main__":
    main()
