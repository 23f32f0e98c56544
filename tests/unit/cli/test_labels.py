"""Labels as a person meets them: in the terminal, in a drawing, on the page."""

import json
import re
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.predict import Predictor
from hyperfact.serve.app import create_app
from hyperfact.serve.opened import Models
from tests.support.asgi import get
from tests.support.runs import league, league_run

LABELS = {
    "player 1": "Ann <b>",
    "player 2": "Bo",
    "player 3": "Bo",
    "plays for": "member of\x1b[1m",
    "club 1": "First\nClub",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "names.json").write_text(json.dumps(LABELS))
    return str(tmp_path / "names.json")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def path() -> str:
    Predictor.load(league_run(), splits=league()).calibration()
    return str(league_run())


def test_predict_takes_and_shows_labels(
    path: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "Ann <b> | plays for | ? | position = wing"
    assert run("predict", path, question, "--labels", file, "--any-name", "-k", "99") == 0
    out = capsys.readouterr().out
    assert "First Club (club 1)" in out
    assert "Bo (player 2)" in out
    assert run("predict", path, question, "--labels", file, "--any-name", "-k", "99", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["question"] == "player 1 | plays for | ? | position = wing"
    labels = {answer["name"]: answer["label"] for answer in found["answers"]}
    assert labels["club 1"] == "First Club"
    assert labels["club 2"] == "club 2"
    assert labels["player 2"] == "Bo (player 2)"


def test_a_label_of_several_is_one_line(
    path: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", path, "Bo | plays for | ?", "--labels", file) == 2
    assert capsys.readouterr().err == ("error: 'Bo' may be player 2, player 3; name one of them\n")


def test_explain_shows_labels_and_escapes_them(
    path: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", path, "player 1 | plays for | ?", "First Club", "--labels", file) == 0
    out = capsys.readouterr().out
    assert "? = First Club (club 1)" in out
    assert "\x1b" not in out
    assert "member of" in out


def test_show_and_draw_take_labels(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"subject": "player 1", "relation": "in", "object": "club 1"}\n')
    assert run("show", str(facts), "First Club", "--labels", file) == 0
    assert capsys.readouterr().out == "Ann <b> | in | First Club\n"
    out = tmp_path / "fact.svg"
    assert run("draw", str(facts), "Ann <b> | in | First Club", str(out), "--labels", file) == 0
    svg = out.read_text()
    assert "<title>First Club (club 1)</title>" in svg
    assert ">First Club</text>" in svg
    assert ">Ann &lt;b&gt;</text>" in svg


def test_a_run_keeps_the_labels_that_it_was_trained_with(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = [
        {"subject": f"player {i}", "relation": "plays for", "object": f"club {i % 3}"}
        for i in range(1, 9)
    ]
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    out = str(tmp_path / "run")
    words = ("--set", "training.epochs=1", "--set", "training.dim=4", "--out", out)
    assert run("train", "--dataset", str(data), "--labels", file, *words) == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "labels.tsv" in manifest["files"]
    capsys.readouterr()
    assert run("predict", out, "Ann <b> | plays for | ?") == 0
    assert "First Club (club 1)" in capsys.readouterr().out
    (tmp_path / "run" / "labels.tsv").write_text("club 1\tother\n")
    assert run("predict", out, "Ann <b> | plays for | ?") == 2
    assert "labels.tsv" in capsys.readouterr().err


def test_the_page_shows_labels_and_its_form_reads_them_back(path: str, file: str) -> None:
    app = create_app(Models({"league": Predictor.load(path, labels=file)}))
    page = get(app, "/m/league", {"q": "player 1 | plays for | ?", "k": 50, "answer": "club 1"})
    assert 'value="Ann &lt;b&gt;"' in page.text
    assert re.search(r'title="club 1">First Club</bdi> <bdi[^>]*>club 1</bdi>', page.text)
    asked = get(app, "/m/league", {"s": "Ann <b>", "r": "plays for", "blank": "o"})
    assert asked.headers["location"].startswith("/m/league?q=player%201%20%7C%20plays%20for")
    entity = get(app, "/m/league/entity", {"name": "First Club"})
    assert "<title>First Club (club 1)</title>" in entity.text
    assert "Ann <b>" not in entity.text
    found = get(app, "/api/models/league/search", {"kind": "entity", "q": "first"})
    first = json.loads(found.text)["names"][0]
    assert (first["name"], first["label"]) == ("club 1", "First Club")
