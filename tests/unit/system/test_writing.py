"""Files that appear whole or not at all."""

import os
from pathlib import Path

import pytest

from hyperfact.errors import StorageError
from hyperfact.system import writing
from hyperfact.system.writing import (
    remove_leftovers,
    staged,
    staged_file,
    write_atomically,
    write_texts,
)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_staged_folder_moves_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with staged(tmp_path) as stage:
        (stage / "deep" / "er").mkdir(parents=True)
        (stage / "a").write_text("new")
        (stage / "deep" / "er" / "b").write_text("b")
        assert contents(tmp_path)["a"] == "old"
    assert contents(tmp_path) == {"a": "new", "deep/er/b": "b"}


def test_a_failure_inside_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")

    def fill(path: Path) -> None:
        path.write_text("new")
        raise ValueError

    with pytest.raises(ValueError), staged_file(tmp_path / "a") as path:  # noqa: PT011 -- ours
        fill(path)
    assert contents(tmp_path) == {"a": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_every_content_is_flushed_before_the_first_name_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        calls.append("fsync")
        fsync(descriptor)

    def note_replace(old: Path, new: Path) -> None:
        calls.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_texts(tmp_path, {"a": "1", "b": "2"})
    folder = ["fsync"] if os.name == "posix" else []
    assert calls == ["fsync", "fsync", "replace", "replace", *folder]


def test_a_system_whose_folders_cannot_be_opened_writes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_FOLDERS_OPEN", False)
    opened = os.open

    def refuse_folders(path: Path, *rest: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", refuse_folders)
    write_atomically(tmp_path / "a", b"1")
    write_texts(tmp_path, {"b": "2"})
    assert contents(tmp_path) == {"a": "1", "b": "2"}


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.17.tmp").write_text("half")
    (tmp_path / ".x.tmp" / "deep").mkdir(parents=True)
    (tmp_path / ".x.tmp" / "deep" / "b").write_text("half")
    (tmp_path / "a").write_text("whole")
    assert remove_leftovers(tmp_path) == [".a.17.tmp", ".x.tmp"]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_target_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file: cannot be written: "):
        write_texts(tmp_path / "file", {"a": "1"})
    with pytest.raises(StorageError, match="a: cannot be written: "):
        write_atomically(tmp_path / "absent" / "a", b"1")


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    with staged_file(link) as path:
        path.write_text("newer")
    assert (link.is_symlink(), target.read_text()) == (True, "newer")
    write_texts(tmp_path, {"link": "newest"})
    assert (link.is_symlink(), target.read_text()) == (True, "newest")
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["target"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files on this system")
def test_what_is_no_plain_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    try:
        write_atomically(pipe, b"one ")
        with staged_file(pipe) as path:
            path.write_bytes(b"two")
        assert os.read(descriptor, 100) == b"one two"
        assert pipe.is_fifo()
    finally:
        os.close(descriptor)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device on this system")
def test_a_full_device_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="/dev/full: cannot be written: No space left"):
        write_atomically(Path("/dev/full"), b"1")
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(StorageError, match="No space left"), staged_file(link) as path:
        path.write_bytes(b"1")
