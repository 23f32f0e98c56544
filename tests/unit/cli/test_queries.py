"""Questions with several blanks on the command line."""

import json
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.data import write
from hyperfact.predict import Predictor
from tests.support.runs import league, league_run

QUERY = "?x : player 3 | plays for | ?y and ?y | in | ?x"


@pytest.fixture(scope="module")
def path() -> str:
    """A run whose facts lie in its cache."""
    Predictor.load(league_run(), splits=league()).calibration()
    return str(league_run())


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("league") / "league"
    write(league(), folder)
    return str(folder)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_a_run_is_asked(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ask", path, QUERY, "-k", "2", "--explain") == 0
    out = capsys.readouterr()
    assert out.out.startswith("rank  ?x      truth             ?y\n   1  city 3  1.000  known")
    assert "  1.000  train     club 3 | in | city 3" in out.out
    assert "product logic, calibrated" in out.err
    assert run("ask", path, QUERY, "--json", "--exact", "--logic", "godel") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answers"][0]["bindings"] == {"y": {"name": "club 3", "label": "club 3"}}
    assert found["logic"] == "godel"
    assert found["cuts"] == []


def test_a_blank_relation_is_ranked_as_predict_does(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for command in ("ask", "predict"):
        assert run(command, path, "player 3 | ? | club 3") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_a_dataset_is_asked(dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ask", dataset, QUERY) == 0
    out = capsys.readouterr()
    assert out.out == "?x      ways  ?y\ncity 3     1  club 3\n"
    assert "1 answers in 1 ways, known from 136 facts" in out.err
    assert run("ask", dataset, "?x : ?x | in | city 1 and not ?x | in | ?", "--json") == 0
    assert json.loads(capsys.readouterr().out)["answers"] == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?x : player 3 | plays", "character 22 of the query: expected '|'"),
        ("?x : playr 3 | plays for | ?x", "did you mean 'player 3'?"),
        ("?x : player 3 | plays for | ?x and", "character 29"),
    ],
)
def test_wrong_queries_say_what_is_wrong(
    path: str, query: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("ask", path, query) == 2
    assert words in capsys.readouterr().err


def test_queries_are_drawn_and_ranked(
    path: str, dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "queries.jsonl"
    words = ("sample-queries", dataset, str(file), "--shapes", "1p,2p,pi", "--count", "3")
    assert run(*words) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1p-2i")
    assert run(*words) == 2  # it exists
    capsys.readouterr()
    assert run("evaluate", path, "--queries", str(file), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["known"] == ["train", "valid"]
    assert set(found["shapes"]) == {"1p", "2p", "1p-2i"}
    assert all(0 < score["mrr"] <= 1 for score in found["shapes"].values())
    assert run("evaluate", path, "--queries", str(file)) == 0
    assert "Every query" in capsys.readouterr().out
    assert run("evaluate", path, "--queries", str(file), "--slots", "so") == 2
    assert "one policy" in capsys.readouterr().err


def test_a_file_of_other_queries_is_refused(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "queries.jsonl"
    head = {"hyperfact": "queries 1", "facts": "other", "split": "test"}
    one = {"id": "1p-0", "shape": "1p", "query": QUERY, "easy": [], "hard": []}
    for lines, words in (
        ([], "there is no query"),
        (["{}"], "queries.jsonl:1: not a query"),
        ([json.dumps(head), "nonsense"], "queries.jsonl:2: not a query"),
        ([json.dumps(head), json.dumps(one)], "about other facts"),
    ):
        file.write_text("\n".join(lines))
        assert run("evaluate", path, "--queries", str(file)) == 2
        assert words in capsys.readouterr().err
