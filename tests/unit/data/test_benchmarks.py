"""Benchmarks are found, verified, downloaded, and refused when they are not what they say."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hyperfact.data import benchmarks, load
from hyperfact.data.benchmarks import BENCHMARKS, Benchmark, RemoteFile, download, locate, present
from hyperfact.data.formats import FORMATS
from hyperfact.errors import DataError, StorageError
from tests.support.benchmarks import data_folder


def test_every_row_is_whole() -> None:
    assert len(BENCHMARKS) == 21
    for row in BENCHMARKS.values():
        assert row.files
        assert "train" in row.sizes
        assert row.format is None or row.format in FORMATS
        for file in row.files:
            assert len(file.commit) == 40
            assert file.sha256 is None or len(file.sha256) == 64
            assert file.url.startswith("https://raw.githubusercontent.com/")
    assert not BENCHMARKS["WikiPeople"].files[0].sha256


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A host that serves a folder, and an empty cache."""
    folder = tmp_path / "host"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        thread = threading.Thread(target=host.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setattr(benchmarks, "_HOST", f"http://127.0.0.1:{host.server_port}")
        monkeypatch.setenv("HYPERFACT_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("HYPERFACT_DATA", raising=False)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield folder
        host.shutdown()
        thread.join()


def _small(host: Path, text: str, sha256: str | None) -> Benchmark:
    (host / "r/p/c").mkdir(parents=True, exist_ok=True)
    (host / "r/p/c/train.txt").write_text(text)
    file = RemoteFile("train.txt", "r/p", "train.txt", "c", 1, None, sha256)
    return Benchmark("small", "", "", "", "stare", (file,))


def test_a_download_is_verified_and_placed(server: Path, tmp_path: Path) -> None:
    text = "Q1,P1,Q2\n"
    row = _small(server, text, hashlib.sha256(text.encode()).hexdigest())
    told: list[tuple[str, int, int]] = []
    files = locate(row, progress=lambda *event: told.append(event))
    assert files["train"] == tmp_path / "cache" / "small" / "train.txt"
    assert files["train"].read_text() == text
    assert told[-1] == ("train.txt", len(text), len(text))
    assert present(row) == tmp_path / "cache" / "small"


def test_a_wrong_download_leaves_nothing(server: Path, tmp_path: Path) -> None:
    row = _small(server, "other\n", "0" * 64)
    with pytest.raises(DataError, match="SHA-256"):
        download(row)
    assert not list((tmp_path / "cache").rglob("train.txt"))
    missing = replace(row, files=(replace(row.files[0], path="none.txt"),))
    with pytest.raises(StorageError, match=r"put train\.txt into"):
        download(missing)


def test_an_unknown_checksum_is_recorded_and_held_to(server: Path) -> None:
    row = _small(server, "Q1,P1,Q2\n", None)
    locate(row)
    _small(server, "Q1,P1,Q3\n", None)
    with pytest.raises(DataError, match="SHA-256"):
        download(row)


def test_a_changed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "FB-AUTO"
    folder.mkdir()
    for name in ("train", "valid", "test"):
        (folder / f"{name}.txt").write_text("model\ta\tb\n")
    monkeypatch.setenv("HYPERFACT_DATA", str(tmp_path))
    with pytest.raises(DataError, match="load it by its path"):
        load("FB-AUTO")
    assert len(load(folder).train) == 1


@pytest.mark.bench_data
@pytest.mark.parametrize(
    ("name", "sizes", "entities"),
    [
        ("FB-AUTO", [6778, 2255, 2180], 3388),
        ("JF17K", [61104, 15275, 24568], 28645),
        ("WD50K", [166435, 23913, 46159], 47155),
        ("WD50K_100", [22738, 3279, 5297], 18791),
        ("WikiPeople-3", [20656, 2582, 2582], 12270),
        ("JF-IND", [6167, 154, 154, 307], 4785),
    ],
)
def test_real_benchmarks_have_their_sizes(name: str, sizes: list[int], entities: int) -> None:
    splits = load(name, data_dir=data_folder())
    assert [len(part) for part in splits.values()] == sizes
    assert len(splits.entities) == entities


@pytest.mark.bench_data
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("gran_wd50k100.json", "gran"),
        ("hinge_jf17k.json", "hinge"),
        ("hinge_wikipeople.json", "hinge"),
        ("hynt_wikidata.txt", "hynt"),
        ("hynt_yago.txt", "hynt"),
        ("hype_jf17k_test_instance_column.txt", "nary-instance"),
        ("nalp_wikipeople_qualified.json", "nalp"),
    ],
)
def test_samples_of_other_repositories_are_recognised(file: str, name: str) -> None:
    from hyperfact.data.formats import recognise
    from hyperfact.system.source import Source

    path = data_folder() / "format-samples" / file
    assert recognise(Source(path)).name == name
    assert len(load(path).train) == 500


@pytest.mark.bench_data
def test_a_public_file_that_is_cut_off_is_refused_at_its_last_line() -> None:
    path = data_folder() / "broken" / "fb_auto_train_truncated_last_line.txt"
    with pytest.raises(DataError, match=":6779: expected a relation and at least two entities"):
        load(path)


@pytest.mark.bench_data
def test_the_original_wikipeople_is_read_from_mixed_files() -> None:
    splits = load(data_folder() / "WikiPeople")
    assert [len(part) for part in splits.values()] == [35546, 38223, 38281]
