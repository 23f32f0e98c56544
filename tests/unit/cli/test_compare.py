"""hyperfact compare with more than two rankings."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from hyperfact.cli import main
from hyperfact.evaluation import Policy
from hyperfact.system.tables import write_table


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_any_number_of_runs_in_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    about = {"facts": "x", "policy": asdict(Policy()), "candidates": 50}
    base = rng.integers(0, 40, 60)
    for name, worse in (("a", 5), ("b", 0), ("c", 1)):
        columns = {
            "fact": np.repeat(np.arange(30), 2),
            "slot": np.tile([0, 1], 30),
            "arity": np.full(60, 2),
            "greater": np.minimum(base + worse, 48),
            "equal": np.zeros(60, dtype=np.int64),
            "candidates": np.full(60, 50),
            "score": np.zeros(60),
        }
        write_table(tmp_path / f"{name}.parquet", columns, about)
    files = [f"{name}.parquet" for name in "abc"]
    code, out, _ = call(capsys, "compare", *files, "--json")
    found = json.loads(out)["runs"]
    assert code == 0
    assert [run["name"] for run in found] == ["b.parquet", "c.parquet", "a.parquet"]
    assert found[0]["against_best"] is None
    reciprocal = {
        n: (1 / (np.minimum(base + w, 48) + 1)).mean()
        for n, w in zip("abc", (5, 0, 1), strict=True)
    }
    for run in found:
        assert run["mrr"] == pytest.approx(reciprocal[run["name"][0]])
    assert found[2]["against_best"]["difference"] == pytest.approx(
        reciprocal["a"] - reciprocal["b"]
    )
    for ending, words in ((".csv", "run,MRR"), (".md", "| run | MRR"), (".tex", "\\toprule")):
        assert call(capsys, "compare", *files, "--out", f"t{ending}")[0] == 0
        text = (tmp_path / f"t{ending}").read_text()
        assert words in text
        assert text.count("parquet") == 3
    assert call(capsys, "compare", *files, "--out", "t.csv")[0] == 2  # it exists
    assert call(capsys, "compare", *files, "--out", "t.png")[0] == 2
    assert call(capsys, "compare", files[0])[0] == 2
