"""Packages that are not always there: each belongs to an extra, and its absence says which."""

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hyperfact.cli.progress import event_files
from hyperfact.cli.serve import serve
from hyperfact.config import ExperimentConfig
from hyperfact.errors import MissingExtraError
from hyperfact.graph.rdf_terms import oxigraph
from hyperfact.predict import Predictor
from hyperfact.predict.export.search import export_index
from hyperfact.runs.studies.plots import bars
from hyperfact.runs.studies.tsne import embedded
from hyperfact.runs.tune import tune
from hyperfact.system.source import Source
from hyperfact.system.spark import spark_engine
from hyperfact.transforms import equivalent
from hyperfact.transforms.interchange import to_networkx, to_pyg, to_pykeen
from tests.support import ROOT
from tests.support.disk import duck
from tests.support.runs import league, untrained
from tests.support.universe import HKG_EXAMPLE
from tests.unit.runs.test_experiment import splits_of

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def _watched(folder: Path) -> None:
    with event_files(folder):
        pass


def _predictor() -> Predictor:
    return Predictor.of(untrained(league(), training={"dim": 16}))


def _spark(folder: Path) -> None:
    with duck(folder) as local, spark_engine(folder, master="local[1]", local=local, tell=str):
        pass


#: Package -> the extra that brings it, and what needs it.
NEEDS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "h11": ("serve", lambda _: serve(["anything"])),
    "matplotlib": ("viz", lambda _: bars([], "nothing")),
    "networkx": ("graph", lambda _: to_networkx(equivalent(HKG_EXAMPLE))),
    "openTSNE": ("viz", lambda _: embedded(np.zeros((3, 2)))),
    "optuna": (
        "hpo",
        lambda folder: tune(ExperimentConfig(), splits_of(), space={}, trials=1, out=folder),
    ),
    "pandas": ("frames", lambda _: HKG_EXAMPLE.to_frame("pandas")),
    "polars": ("frames", lambda _: HKG_EXAMPLE.to_frame("polars")),
    "pykeen": ("pykeen", lambda _: to_pykeen(equivalent(HKG_EXAMPLE))),
    "pyspark": ("scale", _spark),
    "pyoxigraph": ("rdf", lambda _: oxigraph()),
    "starlette": ("serve", lambda _: serve(["anything"])),
    "tensorboard": ("tensorboard", _watched),
    "torch_geometric": ("pyg", lambda _: to_pyg(equivalent(HKG_EXAMPLE))),
    "usearch": ("search", lambda folder: export_index(_predictor(), folder / "index")),
    "zstandard": ("scale", lambda folder: Source(folder / "facts.json.zst").open()),
}
#: Packages that only make something faster: without them nothing is missing.
FASTER = {"msgspec": "scale"}


def test_every_extra_is_used_and_known_here() -> None:
    brought = {
        re.split(r"[^\w-]", words)[0]: extra
        for extra, packages in EXTRAS.items()
        if extra not in {"dev", "docs", "night"}
        for words in packages
    }
    assert brought == FASTER | {package: extra for package, (extra, _) in NEEDS.items()}


@pytest.mark.parametrize("absent", NEEDS)
def test_a_missing_package_is_told_with_its_extra(
    absent: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    extra, use = NEEDS[absent]
    for name in list(sys.modules):
        if name.startswith((f"{absent}.", "hyperfact.serve.", "torch.utils.tensorboard")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, absent, None)
    told = rf"needs {absent}: pip install 'hyperfact\[{extra}\]'"
    with pytest.raises(MissingExtraError, match=told):
        use(tmp_path)
