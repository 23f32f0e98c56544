"""A minute of coverage-guided fuzzing for each reader."""

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

from hyperfact.data import write
from hyperfact.data.formats import FORMATS
from tests.support.graphs import nary_graph

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FORMATS)
def test_a_minute_of_bytes_breaks_nothing(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed (extra 'night')")
    corpus, findings = tmp_path / "corpus", tmp_path / "findings"
    corpus.mkdir()
    findings.mkdir()
    for seed in range(3):
        target = corpus / f"{seed}{FORMATS[name].suffix}"
        try:
            write(nary_graph(random.Random(seed)), target, format=name)
        except Exception:  # a format that cannot hold these names starts from nothing
            (corpus / f"{seed}").write_bytes(b"{}\n")
    options = [
        f"-max_total_time={SECONDS}",
        "-timeout=5",
        "-rss_limit_mb=1024",
        "-max_len=4096",
        f"-artifact_prefix={findings}/",
        "-verbosity=0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.fuzz", name, str(corpus), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [path.read_bytes()[:200] for path in findings.iterdir()]
    assert done.returncode == 0, f"{done.stderr[-3000:]}\n{found}"
