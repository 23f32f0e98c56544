"""What a new user meets: quick errors, remedies, no surprise on disk or on the terminal."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hyperfact import HKG, Fact, Splits, write
from hyperfact.cli.visible import visible
from hyperfact.runs import artifacts
from tests.unit.cli.test_learn import SMALL, call
from tools.reference import commands

Capture = pytest.CaptureFixture[str]
HOSTILE = "a\x1b[31mb\x07\x9bc\u202ed\x7f"
FOLDERS = ("convert", "split", "export", "transform")  # commands that make one
RUN = f"run{HOSTILE}"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts with hostile names, in the working folder."""
    monkeypatch.chdir(tmp_path)
    names = [f"{HOSTILE}{i}" for i in range(8)]
    facts = [
        Fact(s, f"r{HOSTILE}", o, ((f"q{HOSTILE}", names[0]),))
        for s in names
        for o in names
        if s != o
    ]
    graph = HKG.from_facts(facts)
    splits = {"train": graph[:40], "valid": graph[40:48], "test": graph[48:]}
    write(Splits(splits, name="hostile"), tmp_path / "data", format="jsonl")
    return tmp_path / "data"


# -- what is printed -------------------------------------------------------------------------------


def test_controls_are_shown_and_lines_stay() -> None:
    assert visible("a\x1b\u202eb\n\tc\x85") == "a\\u001b\\u202eb\n\tc\\u0085"


QUESTION = f"{HOSTILE}0 | r{HOSTILE} | ?"
#: Every command that prints a name, in an order in which they can follow each other.
NAMING = (
    ("train", "--dataset", "data", *SMALL, "--out", RUN),
    ("train", f"--{HOSTILE}"),
    ("train", "--dataset", HOSTILE),
    ("train", "--dataset", "data", "--set", f"training.{HOSTILE}=1"),
    ("plan", "--dataset", "data", *SMALL, "--seconds", "0"),
    ("plan", HOSTILE),
    ("tune", "--dataset", "data", *SMALL, "--trials", "1", "--out", f"tuned{HOSTILE}"),
    ("tune", "--dataset", "data", *SMALL, "--space", HOSTILE, "--out", "x"),
    ("config", "show", "--set", f"data.dataset={HOSTILE}"),
    ("datasets", "--data-dir", HOSTILE),
    ("stats", "data"),
    ("show", "data", f"{HOSTILE}0"),
    ("show", "data", f"{HOSTILE}nobody"),
    ("audit", "data"),
    ("convert", "data", f"converted{HOSTILE}"),
    ("split", "data", f"parts{HOSTILE}"),
    ("transform", "data", f"kg{HOSTILE}"),
    ("transform", "--table", "data"),
    ("restore", f"kg{HOSTILE}", f"facts{HOSTILE}.jsonl"),
    ("verify", "data", "--mode", "paper-text"),
    ("verify", "data", "--transformation", "plain"),
    ("draw", "data", f"{HOSTILE}0", f"{HOSTILE}.svg"),
    ("evaluate", RUN, "--by", "relation", "--by", "attribute"),
    ("evaluate", RUN, "--by", HOSTILE),
    ("evaluate", RUN, "--ranks", f"ranks{HOSTILE}.parquet"),
    ("evaluate", HOSTILE),
    ("compare", RUN, RUN, "--by", "relation"),
    ("score-predictions", f"{HOSTILE}.csv", "--dataset", "data"),
    ("runs", "."),
    ("report", RUN),
    ("resume", RUN),
    ("predict", RUN, QUESTION),
    ("predict", RUN, f"{HOSTILE} | r | ?"),
    ("predict", RUN, HOSTILE),
    ("predict", RUN, "--batch", "asked.jsonl", "--out", f"answers{HOSTILE}.csv"),
    ("ask", RUN, f"?x : {HOSTILE}0 | r{HOSTILE} | ?x", "--explain"),
    ("ask", RUN, f"?x : {HOSTILE} | r | ?x"),
    ("ask", "data", f"?x : {HOSTILE}0 | r{HOSTILE} | ?x"),
    ("sample-queries", "data", f"queries{HOSTILE}.jsonl", "--count", "2"),
    ("add", RUN, f"{HOSTILE}new | r{HOSTILE} | {HOSTILE}1", "--out", f"more{HOSTILE}"),
    ("add", RUN, f"{HOSTILE}new | {HOSTILE} | {HOSTILE}1", "--out", "no"),
    ("complete", RUN, "-n", "2"),
    ("complete", RUN, "--entity", HOSTILE),
    ("explain", RUN, QUESTION, f"{HOSTILE}1"),
    ("whatif", RUN, QUESTION, f"+ q{HOSTILE} = {HOSTILE}1"),
    ("export", RUN, f"exported{HOSTILE}"),
    ("ensemble", RUN, "--out", f"both{HOSTILE}"),
    ("models", HOSTILE),
    ("check", HOSTILE),
    ("serve", HOSTILE),
    ("reproduce", HOSTILE),
    ("demo", "--epochs", HOSTILE),
)


def test_every_command_is_tried_with_hostile_names() -> None:
    words = {" ".join(line[:2]) if line[0] == "config" else line[0] for line in NAMING}
    assert words == set(commands()) - {"env", "formats"}, "these two print no name"


@pytest.mark.usefixtures("data")
def test_no_command_lets_a_name_steer_the_terminal(capsys: Capture) -> None:
    Path("asked.jsonl").write_text(json.dumps(QUESTION))
    for words in NAMING:
        code, out, err = call(capsys, *words)
        assert code in (0, 1, 2), (words, err)
        assert out or err, words
        assert not RAW.search(out + err), words
    _, out, _ = call(capsys, "show", "data", f"{HOSTILE}0", "--json")
    assert json.loads(out)["name"] == f"{HOSTILE}0"
    assert not RAW.search(out)


def test_a_name_stays_in_its_line(data: Path, capsys: Capture) -> None:
    """A newline in a name makes no line that looks like ours, and a long one no flood."""
    names = ["a\nerror: b", "c\td", "x" * 5000, "e\u2028f"]
    facts = [Fact(s, "r\nr", o) for s in names for o in names if s != o]
    write(HKG.from_facts(facts), data.with_name("lines.jsonl"))
    for words in (
        ("show", "lines.jsonl", names[0]),
        ("stats", "lines.jsonl"),
        ("audit", "lines.jsonl"),
        ("show", "lines.jsonl", "a\nnobody"),
        ("stats", "a\nerror: none"),
        ("evaluate", "a\nerror: none"),
    ):
        _, out, err = call(capsys, *words)
        lines = (out + err).splitlines()
        assert not any(line.startswith("error: b") or line == "nobody" for line in lines), words
        assert sum(line.startswith("error: ") for line in lines) <= 1, words


@pytest.mark.parametrize("command", ["train", "evaluate", "convert"])
def test_help_is_whole_on_a_narrow_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    code, text, _ = call(capsys, command, "--help")
    assert code == 0
    assert "…" not in text.replace("CHANGE…", "")
    assert "--data-dir" in text
    assert max(map(len, text.splitlines())) <= 40


# -- what is loaded --------------------------------------------------------------------------------

QUICK = (
    ("--version",),
    ("--help",),
    ("datasets",),
    ("formats",),
    ("stats", "world"),
    ("runs", "."),
    ("convert", "--help"),
    ("predict", "absent", "a | b | ?"),
    ("evaluate", "absent"),
    ("evaluate", "--absent"),
    ("plan", "absent"),
    ("config", "show", "--set", "training.absent=1"),
    ("train", "--dataset", "absent"),
    ("train", "--dataset", "world", "--set", "training.absent=1"),
    ("train", "--dataset", "world", "--set", "training.dim=1000000"),
    ("train", "--dataset", "world", "--threads", "100000"),
)
HEAVY = ("torch", "numba", "duckdb", "pandas", "polars", "jinja2", "scipy")


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_quick_commands_and_errors_load_nothing_heavy(words: tuple[str, ...]) -> None:
    code = (
        "import sys; from hyperfact.cli import main\n"
        "try: main(sys.argv[1:])\n"
        f"finally: print(sorted({set(HEAVY)} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2)


# -- what is stored --------------------------------------------------------------------------------


def test_a_run_is_stored_unless_it_shall_not_be(data: Path, capsys: Capture) -> None:
    code, _, notes = call(capsys, "train", "--dataset", str(data), *SMALL)
    assert code == 0, notes
    (stored,) = Path("runs").iterdir()
    assert re.fullmatch(r"data-mdistmult-\d{8}-\d{6}", stored.name)
    assert f"stored in {stored}" in notes
    assert "training queries: training.epochs" not in notes  # it was given
    assert call(capsys, "train", "--dataset", str(data), *SMALL, "--no-store")[0] == 0
    assert len(list(Path("runs").iterdir())) == 1
    both = ("--no-store", "--out", "x")
    assert call(capsys, "train", "--dataset", str(data), *SMALL, *both)[0] == 2


def test_nothing_is_written_over(data: Path, capsys: Capture) -> None:
    call(capsys, "train", "--dataset", str(data), *SMALL, "--out", "run")
    call(capsys, "transform", str(data), "kg")
    Path("asked.jsonl").write_text(json.dumps(f"{HOSTILE}0 | r{HOSTILE} | ?"))
    commands = (
        ("convert", str(data), "TAKEN", "--to", "jsonl"),
        ("split", str(data), "TAKEN"),
        ("export", "run", "TAKEN"),
        ("transform", str(data), "TAKEN"),
        ("draw", str(data), f"{HOSTILE}0", "taken.svg"),
        ("predict", "run", "--batch", "asked.jsonl", "--out", "TAKEN"),
        ("restore", "kg", "TAKEN", "--to", "jsonl"),
        ("verify", str(data), "--out", "TAKEN"),
        ("report", "run", "TAKEN"),
        ("audit", str(data), "--html", "TAKEN"),
        ("evaluate", "run", "--ranks", "TAKEN"),
    )
    for words in commands:
        given = [word.replace("TAKEN", "taken.csv") for word in words]
        taken = Path("taken.svg" if words[0] == "draw" else "taken.csv")
        taken.write_text("mine")
        code, _, notes = call(capsys, *given)
        assert (code, taken.read_text()) == (2, "mine"), words
        assert f"{taken}: exists already; another name, or --force" in notes, words
        if words[0] in FOLDERS:  # the others write files
            continue
        assert call(capsys, *given, "--force")[0] in (0, 1), words
        assert taken.read_text() != "mine", words


def test_a_folder_is_written_into_only_if_that_is_wanted(data: Path, capsys: Capture) -> None:
    call(capsys, "train", "--dataset", str(data), *SMALL, "--out", "run")
    Path("taken").mkdir()
    Path("taken/mine").write_text("mine")
    for words in (("split", str(data), "taken"), ("export", "run", "taken")):
        code, _, notes = call(capsys, *words)
        assert (code, "taken: exists already; another name, or --force" in notes) == (2, True)
        assert [path.name for path in Path("taken").iterdir()] == ["mine"]
    for words in (("split", str(data), "taken"), ("export", "run", "taken")):
        assert call(capsys, *words, "--force")[0] == 0
    assert Path("taken/mine").read_text() == "mine"


def test_endings_are_honest(data: Path, capsys: Capture) -> None:
    code, _, notes = call(capsys, "draw", str(data), f"{HOSTILE}0", "out.png")
    assert (code, "out.png: pictures are SVG" in notes) == (2, True)
    call(capsys, "train", "--dataset", str(data), *SMALL, "--out", "run")
    assert call(capsys, "evaluate", "run", "--ranks", "r.csv")[0] == 0
    assert Path("r.csv").read_text().splitlines()[0].count(",") > 2
    assert call(capsys, "evaluate", "run", "--ranks", "r.parquet")[0] == 0
    assert Path("r.parquet").read_bytes()[:4] == b"PAR1"
    code, _, notes = call(capsys, "evaluate", "run", "--ranks", "r.xlsx")
    assert (code, "ends in .parquet or .csv" in notes) == (2, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_device_is_an_error_and_stays(data: Path, capsys: Capture) -> None:
    code, _, notes = call(capsys, "draw", str(data), f"{HOSTILE}0", "/dev/full")
    assert (code, "/dev/full: cannot be written" in notes) == (3, True)
    assert Path("/dev/full").is_char_device()


# -- what is wrong, and the remedy -----------------------------------------------------------------


def test_a_damaged_run_is_listed_beside_the_others(data: Path, capsys: Capture) -> None:
    for name in ("good", "bad", "worse"):
        call(capsys, "train", "--dataset", str(data), *SMALL, "--out", f"runs/{name}")
    Path("runs/bad", artifacts.MANIFEST).write_text("{")
    Path("runs/worse", artifacts.CONFIG).unlink()
    code, text, _ = call(capsys, "runs", "runs")
    assert code == 0
    assert re.search(r"good .* finished", text)
    assert re.search(r"bad .* damaged \(", text)
    assert re.search(r"worse .* damaged \(", text)


def test_unfinished_and_finished_runs_name_the_remedy(data: Path, capsys: Capture) -> None:
    train = ("train", "--dataset", str(data), *SMALL, "--out", "run")
    call(capsys, *train)
    _, _, notes = call(capsys, "resume", "run")
    assert "`hyperfact evaluate run`" in notes
    Path("run", artifacts.MANIFEST).unlink()
    code, _, notes = call(capsys, *train)
    assert (code, "`hyperfact resume run` goes on" in notes) == (2, True)
    log = Path("run", artifacts.LOG).read_text()
    code, _, notes = call(capsys, "resume", "run")
    assert (code, "no checkpoint to go on from" in notes) == (4, True)
    assert "`hyperfact train run/config.toml --out NEW`" in notes
    assert Path("run", artifacts.LOG).read_text() == log
    for note, goes_on in (({"message": "x"}, False), ({"message": "x", "checkpoints": 0}, True)):
        Path("run", artifacts.FAILURE).write_text(json.dumps(note))
        assert (call(capsys, "resume", "run")[0] == 0) is goes_on, note  # it never had one


def test_a_comparison_across_datasets_names_them(data: Path, capsys: Capture) -> None:
    call(capsys, "train", "--dataset", str(data), *SMALL, "--out", "one")
    data.rename(data.with_name("other"))
    lines = Path("other/test.jsonl").read_text().splitlines(keepends=True)
    Path("other/test.jsonl").write_text("".join(lines[1:]))
    call(capsys, "train", "--dataset", "other", *SMALL, "--out", "two")
    code, _, notes = call(capsys, "compare", "one", "two")
    assert (code, "data test (one) and other test (two)" in notes) == (2, True)
