"""Somebody else's decoder: from a file that is named, never because a run says so."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.errors import DataError, UserError
from hyperfact.models.decoders import MDistMult
from hyperfact.runs import extensions
from hyperfact.runs.check import check_extension
from hyperfact.runs.extensions import TABLES, use
from tests.support import ROOT

EXAMPLE = ROOT / "examples" / "own_decoder.py"
DECODER = '''
from hyperfact.models.decoders import MDistMult

class Mine(MDistMult):
    """m-DistMult by another name."""
'''
FACTS = "".join(
    f'{{"subject": "s{i % 7}", "relation": "r{i % 2}", "object": "o{i % 5}"}}\n' for i in range(30)
)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """What a test loads is gone afterwards."""
    before = dict(extensions._used)
    yield
    extensions._used.clear()
    extensions._used.update(before)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "my_decoder.py"
    path.write_text(DECODER)
    return path


def test_a_class_is_found_by_its_name_in_lower_case(mine: Path) -> None:
    (found,) = use(mine)
    assert (found.kind, found.name, found.file) == ("decoder", "mine", "my_decoder.py")
    assert TABLES["decoder"]["mine"] is found.owner
    assert "mine" in set(TABLES["decoder"])
    assert "mine" not in TABLES["encoder"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\n", "defines no decoder and no encoder"),
        ("import math\n\nprint(nobody)\n", r"wrong.py:3: NameError"),
        ("def f(:\n", r"wrong.py:1: SyntaxError"),
        (DECODER.replace("Mine", "HypE"), "the name 'hype' belongs to a decoder of the package"),
        (DECODER + "    Settings = None\n", "has no `Settings`"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(code: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(code)
    with pytest.raises(UserError, match=message):
        use(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.py: cannot be read"):
        use(tmp_path / "none.py")


def test_installed_decoders_are_loaded_when_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"{MDistMult.__module__}:MDistMult"
    point = EntryPoint("theirs", target, "hyperfact.decoders")
    monkeypatch.setattr(
        extensions, "_installed", lambda kind: {"theirs": point} if kind == "decoder" else {}
    )
    assert TABLES["decoder"]["theirs"] is MDistMult
    assert "theirs" in set(TABLES["decoder"])


def test_the_example_keeps_every_promise() -> None:
    for extension in use(EXAMPLE):
        assert [v for v in check_extension(extension) if not v.kept] == []


def test_check_finds_a_broken_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "careless.py"
    path.write_text(
        DECODER.replace("Mine", "Careless")
        + "    def linear_form(self, facts, slots, z, *, candidates=slice(None), generator=None):\n"
        + "        form = super().linear_form(facts, slots, z, candidates=candidates)\n"
        + "        return form._replace(queries=form.queries + facts.answers(slots)[:, None])\n"
    )
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), "--json"])
    verdicts = json.loads(capsys.readouterr().out)
    assert end.value.code == 1
    broken = {v["promise"] for v in verdicts if not v["kept"]}
    assert "what stands in the asked slot does not matter" in broken
    assert "scores are finite" not in broken


def test_a_run_needs_its_code_to_be_named_again(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    data.mkdir()
    for split in ("train", "valid", "test"):
        (data / f"{split}.jsonl").write_text(FACTS)

    def call(*words: object, code: int = 0) -> str:
        """As a process of its own would: nothing is loaded before."""
        extensions._used.clear()
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        assert end.value.code == code, printed.err
        return printed.err

    small = ("--set", "training.dim=8", "--set", "training.epochs=2")
    train = ("train", "--dataset", data, "--decoder", "mine", *small, "--out", run)
    assert "unknown decoder 'mine'" in call(*train, code=2)
    call(*train, "--use", mine)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["extensions"]["decoder"]["file"] == "my_decoder.py"
    for words in (
        ("evaluate", run),
        ("predict", run, "s1 | r1 | ?"),
        ("export", run, tmp_path / "x"),
    ):
        refused = call(*words, code=2)
        assert "--use my_decoder.py" in refused
        assert len(refused.strip().splitlines()) == 1
        call(*words, "--use", mine)


def test_code_is_loaded_only_by_name(mine: Path) -> None:
    """A process that was told nothing knows nothing of it."""
    code = "from hyperfact.runs.extensions import TABLES; print(sorted(TABLES['decoder']))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=mine.parent, capture_output=True, text=True, check=True)
    assert "mine" not in done.stdout


def test_damaged_notes_of_code_are_refused(tmp_path: Path) -> None:
    for noted in ({"decoder": "mine"}, {"decoder": None}, {"encoder": ["x"]}):
        with pytest.raises(DataError, match="does not say which"):
            extensions.refuse_missing(noted, tmp_path)
