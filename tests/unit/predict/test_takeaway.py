"""Folders to take away: loadable, complete, exact; and files of questions."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import torch

from hyperfact.errors import FormatError, MissingExtraError, UnknownNameError, UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.predict import Predictor
from hyperfact.predict.answers import Request
from hyperfact.predict.export import answer_file, export_index, export_run, export_scorer
from hyperfact.predict.export.card import model_card
from tests.support.runs import league, league_run, stored, untrained

QUESTIONS = [
    "player 1 | lives in | ?",
    "player 1 | plays for | club 1 | ? = wing",
    "Player 1 | lives in | ?",
    "no question",
    "player 1 | lives in | ?",
    "? | plays for | club 1 | position = goal",
]


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load(league_run(), splits=league())


# -- the folder -----------------------------------------------------------------------------------


def test_an_exported_folder_is_a_run_with_a_card_and_vectors(
    predictor: Predictor, tmp_path: Path
) -> None:
    out = tmp_path / "exported"
    assert predictor.calibration() is not None
    files = export_run(predictor, out)
    again = Predictor.load(out)
    assert list(again.ask(QUESTIONS[0])) == list(predictor.ask(QUESTIONS[0]))
    vectors = np.load(out / "embeddings" / "entities.npy", mmap_mode="r")
    np.testing.assert_array_equal(vectors, predictor.scorer.z.entities.detach().numpy())
    parquet = str(out / "embeddings" / "entities.parquet")
    with duckdb.connect() as db:
        rows = db.execute("SELECT name, kind, vector FROM read_parquet($1)", [parquet]).fetchall()
    assert [name for name, _, _ in rows] == list(predictor.entities)
    assert {kind for _, kind, _ in rows} == {"name"}
    np.testing.assert_allclose(np.array([v for _, _, v in rows]), vectors)
    assert out / "README.md" in files
    with pytest.raises(UserError, match="exists already"):
        export_run(predictor, out)


def test_the_card_states_metrics_and_protocol(predictor: Predictor) -> None:
    card = model_card(predictor)
    metrics = json.loads((league_run() / "metrics.json").read_text())
    assert f"| test | {metrics['test']['mrr']:.3f} |" in card
    assert "ties realistic" in card
    assert "fitted on half" in card
    bare = model_card(Predictor.of(untrained(league())))
    assert "not evaluated" in bare


def test_only_a_stored_run_is_exported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="stored run"):
        export_run(Predictor.of(untrained(league())), tmp_path / "x")


@pytest.mark.parametrize(("decoder", "questions"), [("mdistmult", 30), ("tucker", 1)])
def test_the_exported_scorer_is_exact(tmp_path: Path, decoder: str, questions: int) -> None:
    result = untrained(league(), decoder={"name": decoder})
    asked = Predictor.of(result)
    path = export_scorer(asked, tmp_path / "scorer.pt2")
    program: Any = torch.export.load(path).module()
    rows = np.arange(questions) + len(result.splits.train) // 2
    facts = FactBatch.of(result.splits.train, np.append(rows, np.argmax(result.splits.train.arity)))
    facts = facts.each(lambda part: part[:-1])  # padded to the largest arity
    slots = torch.from_numpy(np.arange(questions) % result.splits.train.arity[rows])
    with torch.no_grad():
        expected = result.model.decoder.score_slot(facts, slots, asked.scorer.z)
        found = program(facts.entities, facts.relations, facts.mask, slots)
    assert torch.equal(found, expected)


def test_a_scorer_that_is_not_exact_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Predictor.of(untrained(league()))
    monkeypatch.setattr(torch, "equal", lambda *_: False)
    with pytest.raises(UserError, match="not exact"):
        export_scorer(asked, tmp_path / "scorer.pt2")
    assert not list(tmp_path.iterdir())


def test_a_scorer_that_torch_cannot_export_is_refused(tmp_path: Path) -> None:
    asked = Predictor.of(
        untrained(league(), decoder={"name": "gran", "heads": 2})
    )  # packs its tokens
    with pytest.raises(UserError, match="cannot be exported"):
        export_scorer(asked, tmp_path / "scorer.pt2")
    assert not list(tmp_path.iterdir())


def test_a_scorer_in_bfloat16_is_refused(tmp_path: Path) -> None:
    training = {"dim": 16, "precision": "bfloat16"}
    asked = Predictor.of(untrained(league(), training=training))
    with pytest.raises(UserError, match="bfloat16"):
        export_scorer(asked, tmp_path / "scorer.pt2")


def test_an_index_needs_its_extra(
    predictor: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingExtraError, match="usearch"):
        export_index(predictor, tmp_path / "x.usearch")


def test_the_index_finds_an_entity_by_its_own_vector(predictor: Predictor, tmp_path: Path) -> None:
    usearch = pytest.importorskip("usearch.index", reason="usearch is not installed")
    path = export_index(predictor, tmp_path / "x.usearch")
    index = usearch.Index.restore(str(path))
    vectors = predictor.scorer.z.entities.detach().numpy()
    assert int(index.search(vectors[7], 1).keys[0]) == 7


# -- files of questions ---------------------------------------------------------------------------


def write_questions(path: Path) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(
                [["id", "question"], *([i, q] for i, q in enumerate(QUESTIONS))]
            )
    elif path.suffix == ".jsonl":
        lines = [json.dumps({"question": q} if i % 2 else q) for i, q in enumerate(QUESTIONS)]
        path.write_text("\n".join(lines) + "\n\n")
    else:
        with duckdb.connect() as db:
            db.execute("CREATE TABLE q (question VARCHAR)")
            db.executemany("INSERT INTO q VALUES (?)", [[q] for q in QUESTIONS])
            db.execute(f"COPY q TO '{path}' (FORMAT parquet)")
    return path


def read_answers(path: Path) -> list[dict[str, Any]]:
    """One dict for each answer or error, whatever the file."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        found = []
        for line in path.read_text().splitlines():
            row = json.loads(line)
            for answer in row.get("answers") or [{}]:
                flat = {"row": row["row"], "rank": answer.get("rank"), "error": row.get("error")}
                flat |= {"answer": answer.get("name"), "probability": answer.get("probability")}
                found.append(flat)
        return found
    with duckdb.connect() as db:
        result = db.execute("SELECT * FROM read_parquet($1)", [str(path)])
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@pytest.mark.parametrize("source", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("target", [".csv", ".jsonl", ".parquet"])
def test_files_are_answered_as_questions_are(
    predictor: Predictor, tmp_path: Path, source: str, target: str
) -> None:
    out = tmp_path / f"answers{target}"
    report = answer_file(
        predictor, write_questions(tmp_path / f"q{source}"), out, request=Request(3, "remove")
    )
    assert (report.questions, report.failed) == (6, 2)
    rows = read_answers(out)
    for number, text in enumerate(QUESTIONS, start=1):
        mine = [row for row in rows if int(row["row"]) == number]
        if number in (3, 4):
            assert len(mine) == 1
            assert mine[0]["error"]
            continue
        single = predictor.ask(text, 3, known="remove")
        assert [row["answer"] for row in mine] == [answer.name for answer in single]
        assert [int(row["rank"]) for row in mine] == [1, 2, 3][: single.candidates]
        found = [float(row["probability"]) for row in mine]
        np.testing.assert_allclose(found, single.probabilities, rtol=1e-3)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([out.name, f"q{source}"])
    assert "did you mean 'player 1'" in str([row["error"] for row in rows])


def test_many_unknown_names_cost_no_search_each(predictor: Predictor, tmp_path: Path) -> None:
    source, out = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(f"playr {i} | lives in | ?") + "\n" for i in range(40)))
    assert answer_file(predictor, source, out).failed == 40
    errors = [json.loads(line)["error"] for line in out.read_text().splitlines()]
    assert ["did you mean" in error for error in errors] == [True] * 20 + [False] * 20
    assert errors[-1] == "unknown entity 'playr 39'"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("q.csv", "text\nx\n", r"q\.csv:1: the header has no column 'question'"),
        ("q.csv", "", r"q\.csv:1"),
        ("q.jsonl", '"a"\n{"q": 1}\n', r"q\.jsonl:2: expected a text"),
        ("q.jsonl", "{\n", r"q\.jsonl:1"),
        ("q.parquet", "nonsense", "not a usable Parquet file"),
    ],
)
def test_a_file_that_breaks_its_format_is_refused(
    predictor: Predictor, tmp_path: Path, name: str, content: str, reason: str
) -> None:
    source = tmp_path / name
    source.write_text(content)
    with pytest.raises(FormatError, match=reason):
        answer_file(predictor, source, tmp_path / "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_an_unknown_kind_of_file_is_refused(predictor: Predictor, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"\.csv"):
        answer_file(predictor, tmp_path / "q.xlsx", tmp_path / "out.csv")
    with pytest.raises(UnknownNameError, match=r"\.parquet"):
        answer_file(predictor, tmp_path / "q.csv", tmp_path / "out.parq")


def test_a_stored_untrained_run_has_an_honest_card(tmp_path: Path) -> None:
    result = untrained(league())
    loaded = Predictor.load(stored(result), splits=result.splits)
    export_run(loaded, tmp_path / "out")
    assert "This run was not evaluated." in (tmp_path / "out" / "README.md").read_text()
