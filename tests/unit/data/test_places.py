"""Which files a name or a folder means, and what is said of the others."""

import os
from pathlib import Path

import pytest

from hyperfact.data import absolute, load, read, split_files, write
from hyperfact.errors import DataError, FormatError, UserError

LINE = '{"subject": "a", "relation": "r", "object": "b"}\n'


def folder(path: Path, *names: str) -> Path:
    path.mkdir(exist_ok=True)
    for name in names:
        (path / name).write_text(LINE)
    return path


def test_a_local_folder_goes_before_a_known_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "baseball").mkdir()
    assert len(load("baseball").train) > 1  # a folder without facts is none
    folder(tmp_path / "baseball", "train.jsonl")
    splits, report = read("baseball")
    assert len(splits.train) == 1
    told = f"baseball is the folder {tmp_path / 'baseball'}, not the known dataset of this name"
    assert report.guesses == (told,)


def test_a_plain_name_goes_before_a_numbered_one(tmp_path: Path) -> None:
    path = folder(tmp_path, "train.jsonl", "test.jsonl", "test_2.jsonl", "notes.txt")
    assert split_files(path)["test"].name == "test.jsonl"
    assert read(path)[1].guesses == (f"{path}: not read: test_2.jsonl",)
    (path / "test.jsonl").unlink()
    folder(path, "test_3.jsonl")
    with pytest.raises(DataError, match=r"both test_2.jsonl and test_3.jsonl are test files"):
        load(path)


@pytest.mark.parametrize("name", ["aux", "msg", "support", "inference"])
def test_support_facts_are_a_split_of_their_own(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path, "train.jsonl", "test.jsonl", f"{name}.jsonl", "entities.txt")
    assert list(load(path)) == ["train", "test", "aux"]
    folder(path, "aux.jsonl")
    if name != "aux":
        with pytest.raises(DataError, match=rf"both aux.jsonl and {name}.jsonl are aux files"):
            load(path)


def test_a_folder_of_other_entities_is_supported_by_its_own_training_facts(tmp_path: Path) -> None:
    for name, subject in (("fb_v1", "a"), ("fb_v1_ind", "x")):
        path = folder(tmp_path / name, "train.jsonl", "valid.jsonl", "test.jsonl")
        for file in path.iterdir():
            file.write_text(LINE.replace('"a"', f'"{subject} {file.stem}"'))
    splits, report = read(tmp_path / "fb_v1_ind")
    assert {name: part[0].subject for name, part in splits.items()} == {
        **{"train": "a train", "valid": "a valid"},
        **{"test": "x test", "aux": "x train"},
    }
    assert report.guesses == (f"{tmp_path / 'fb_v1_ind'}: not read: valid.jsonl",)
    assert list(load(tmp_path / "fb_v1")) == ["train", "valid", "test"]


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "mine", "train.jsonl")
    assert absolute("mine") == str(tmp_path / "mine")
    assert absolute(f"mine{os.sep}train.jsonl") == str(tmp_path / "mine" / "train.jsonl")
    assert [absolute(name) for name in ("baseball", "", "none")] == ["baseball", "", "none"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (LINE[:-3] + "\n", r":1: not JSON: .* at column"),
        (LINE + '{"subject": "a" "relation"}\n', r":2: not JSON: .* at column 17"),
        ('{"a": 1,\n "b" 2\n}\n', r":2: not JSON: Expecting ':' delimiter at column 6"),
        ('{"a": 1}\n', r":1: the format is not recognised.*\(jsonl, gran, nalp, hinge, wiki"),
        ("<x> nonsense\n", r"\(ntriples, nquads, turtle, trig\)"),
        ("nonsense\n", r"\(parquet, jsonl"),
    ],
)
def test_an_unknown_file_says_what_could_be_meant(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.xyz"
    path.write_text(text)
    with pytest.raises(FormatError, match=place):
        load(path)


def test_an_ending_that_means_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no format ends in '.xyz'; name one with --to \(parquet"):
        write(load("baseball"), tmp_path / "facts.xyz")
