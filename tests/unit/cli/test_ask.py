"""The commands that ask a run, as a person uses them."""

import json
from pathlib import Path

import pytest
import torch

from hyperfact.cli import main
from hyperfact.evaluation import evaluating
from hyperfact.predict import Predictor
from hyperfact.predict.export import store_with_added
from hyperfact.runs.run import evaluate_split, open_run
from tests.support.runs import league, league_run

QUESTION = "player 1 | plays for | ? | position = wing"


@pytest.fixture(scope="module")
def path() -> str:
    """A run whose facts lie in its cache."""
    Predictor.load(league_run(), splits=league()).calibration()
    return str(league_run())


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_predict_prints_a_table_and_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("predict", path, QUESTION, "-k", "4") == 0
    out = capsys.readouterr()
    assert len(out.out.splitlines()) == 5
    assert out.out.startswith("rank  answer")
    assert "8 candidates; probabilities are calibrated" in out.err
    assert "guess" not in out.err
    words = ("predict", path, QUESTION, "-k", "4", "--known", "remove", "--any-name", "--json")
    assert run(*words) == 0
    found = json.loads(capsys.readouterr().out)
    single = Predictor.load(path).ask(QUESTION, 4, known="remove", restrict_range=False)
    assert found["candidates"] > 8
    assert found["question"] == QUESTION
    assert [a["name"] for a in found["answers"]] == [a.name for a in single]
    assert set(found["answers"][0]) == {
        *("rank", "name", "label", "score", "probability", "known", "where"),
    }


def test_predict_asks_for_an_attribute(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("predict", path, "player 1 | plays for | club 1 | ? = wing", "--json") == 0
    names = [a["name"] for a in json.loads(capsys.readouterr().out)["answers"]]
    assert sorted(names) == ["position", "since"]
    words = ("predict", path, "player 1 | plays for | club 1 | ? = wing", "--any-name", "--json")
    assert run(*words) == 0
    names = [a["name"] for a in json.loads(capsys.readouterr().out)["answers"]]
    assert sorted(names) == ["in", "lives in", "plays for", "position", "since"]


def test_a_question_like_none_in_training_is_said_beside_the_answers(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", path, "player 1 | since | ?", "-k", "2") == 0
    out = capsys.readouterr()
    assert len(out.out.splitlines()) == 3
    assert "no fact with this relation and these attributes" in out.err
    assert "everybody is a candidate" in out.err
    assert run("predict", path, "player 1 | lives in | ? | position = wing", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["seen_shape"], found["seen_role"]) == (False, True)
    assert run("whatif", path, "player 1 | lives in | ?", "+ position = wing") == 0
    assert "this is a guess" in capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("--any-name",), ("--known", "remove")])
def test_predict_and_explain_give_one_answer_the_same_numbers(
    path: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", path, QUESTION, *words, "--json") == 0
    for answer in json.loads(capsys.readouterr().out)["answers"][:3]:
        assert run("explain", path, QUESTION, answer["name"], *words, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert [found[k] for k in ("rank", "score", "probability")] == [
            answer[k] for k in ("rank", "score", "probability")
        ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["player 1 | lives in | ?", "--known", "nobody"], "unknown way"),
        (["Player 1 | lives in | ?"], "did you mean 'player 1'"),
        (["player 1 | lives in"], "expected 's | r | o'"),
        (["player 1 | lives in | city 1"], "one blank"),
        ([], "give a QUESTION"),
        (["player 1 | lives in | ?", "--out", "x.csv"], "give a QUESTION"),
        (["--batch", "x.csv"], "give a QUESTION"),
        (["--batch", "none.csv", "--out", "x.csv"], "none.csv"),
    ],
)
def test_wrong_requests_say_what_is_wrong(
    path: str, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", path, *words) in (2, 3)
    out = capsys.readouterr()
    assert reason in out.err
    assert out.out == ""
    assert "Traceback" not in out.err


def test_a_missing_run_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("predict", str(tmp_path / "none"), QUESTION) == 2
    assert "no such run" in capsys.readouterr().err


def test_predict_answers_a_file(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "q.csv", tmp_path / "a.jsonl"
    source.write_text(f"question\n{QUESTION}\nnonsense\n")
    words = ("predict", path, "--batch", str(source), "--out", str(target), "-k", "2", "--json")
    assert run(*words) == 0
    out = capsys.readouterr()
    assert json.loads(out.out) == {"questions": 2, "failed": 1, "out": str(target)}
    assert "1 of them with an error" in out.err
    assert len(json.loads(target.read_text().splitlines()[0])["answers"]) == 2


def test_complete_proposes(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("complete", path, "--entity", "player 1", "-n", "3", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["proposals"]) == 3
    assert all("player 1" in p["fact"] for p in found["proposals"])
    assert run("complete", path, "--budget", "200", "--any") == 0
    assert "2 of" in capsys.readouterr().err


def test_explain_prints_every_kind_of_evidence(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", path, QUESTION, "club 1", "-n", "2", "--measure") == 0
    out = capsys.readouterr()
    for text in ("rank", "Without each known part", "position = wing", "Near training", "Paths"):
        assert text in out.out
    assert "approximate" in out.err
    assert run("explain", path, QUESTION, "club 1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["approximate"] is True
    assert {"parts", "support", "paths", "rank", "probability"} <= set(found)
    assert run("explain", path, QUESTION, "no club") == 2


def test_whatif_takes_all_three_changes(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("whatif", path, QUESTION, "- position = wing", "+ since = 2001", "-k", "2", "--json")
    assert run(*words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"] == "player 1 | plays for | ? | since = 2001"
    assert {"name", "before", "after", "rise"} <= set(found["moves"][0])
    assert run("whatif", path, QUESTION, "position = goal") == 0
    out = capsys.readouterr().out
    assert "before: player 1 | plays for | ? | position = wing" in out
    assert "after:  player 1 | plays for | ? | position = goal" in out
    assert run("whatif", path, QUESTION, "position : goal") == 2
    assert run("whatif", path, QUESTION) == 2


def test_export_writes_a_folder(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run("export", path, str(out), "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert str(out / "README.md") in files
    assert run("export", path, str(out)) == 2
    assert "exists already" in capsys.readouterr().err


def test_facts_join_for_one_question_and_for_good(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question, fact = "player 99 | lives in | ?", "player 99 | plays for | club 1 | position = wing"
    rows = [{"subject": "club 1", "relation": "in", "object": "city 2"}]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    new = str(tmp_path / "new.jsonl")
    assert run("predict", path, question, "--with", fact, "--with", new, "--json") == 0
    out = capsys.readouterr()
    assert "facts added to those of the run: 2" in out.err
    assert "player 99 is a new entity" in out.err
    other = str(tmp_path / "run2")
    assert run("add", path, fact, new, "--out", other, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (len(said["added"]), said["repeated"]) == (2, 0)
    assert run("predict", other, question, "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.out)
    assert run("explain", other, question, "city 1") == 0
    assert fact in capsys.readouterr().out
    assert run("predict", path, question) == 2
    for wrong in ("nothing.jsonl", "player 1 | is | club 1", "player 1 | in"):
        assert run("predict", path, question, "--with", wrong) == 2
    assert run("add", path, fact, "--out", other) == 2  # exists


def test_known_facts_below_the_list_are_told(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    fact, question = "player 99 | plays for | {} | position = wing", "player 99 | plays for | ?"
    told = [word for i in range(3) for word in ("--with", fact.format(f"club {i}"))]
    assert run("predict", path, question, *told, "-k", "1") == 0
    out = capsys.readouterr()
    (line,) = [line for line in out.err.splitlines() if "known facts also say" in line]
    clubs = {f"club {i}" for i in range(3)}
    below = {club for club in clubs if f"{club} (added)" in line}
    assert below == {club for club in clubs if club not in out.out}
    assert run("predict", path, question, *told, "-k", "1", "--known", "hide") == 0
    assert "also say" not in capsys.readouterr().err


def test_a_run_with_added_facts_is_evaluated_like_any_other(path: str, tmp_path: Path) -> None:
    predictor = Predictor.load(path).given("player 99 | plays for | club 1 | position = wing")
    store_with_added(predictor, tmp_path / "run2")
    run2 = open_run(tmp_path / "run2", splits=league())
    assert [*run2.splits] == ["train", "valid", "test", "added"]
    with evaluating(run2.model):
        z = run2.model.encode()
    torch.testing.assert_close(z.entities, predictor.scorer.z.entities, atol=1e-5, rtol=1e-5)
    assert len(evaluate_split(run2, "test").ranks) == len(predictor.splits.test.columns.values) + 26
    again = Predictor.load(tmp_path / "run2")
    assert again.added == predictor.added
    again.remove()
    assert again.entities == Predictor.load(path).entities
