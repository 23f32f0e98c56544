"""Run directories that are old, damaged or hostile."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

from hyperfact.data import load
from hyperfact.errors import DataError, HyperfactError, UnknownNameError
from hyperfact.evaluation import evaluating
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.queries import Queries
from hyperfact.runs import artifacts
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run
from hyperfact.system.memory import peak_memory
from tests.support import ROOT
from tests.support.crashes import crash_config
from tests.unit.runs.test_experiment import splits_of

GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("made") / "run"
    run(
        crash_config(training={"epochs": 1}, checkpoint={"keep": False}),
        splits=splits_of(),
        out=path,
    )
    return path


@pytest.fixture
def made(_made: Path, tmp_path: Path) -> Path:
    shutil.copytree(_made, tmp_path / "run")
    return tmp_path / "run"


def scores_of(found: Run) -> torch.Tensor:
    graph = found.splits.test
    queries = Queries.of(graph)
    with evaluating(found.model):
        slots = torch.from_numpy(queries.slot.astype(np.int64))
        return found.model.score_slot(
            FactBatch.of(graph, queries.fact), slots, found.model.encode()
        )


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("run-*")), ids=lambda p: p.name)
def test_runs_of_every_format_keep_loading(folder: Path) -> None:
    """A golden run is never written anew: what was stored once can always be read."""
    found = open_run(folder / "run", splits=load(folder / "data"))
    kept = json.loads((folder / "scores.json").read_text())
    assert scores_of(found).tolist() == [pytest.approx(row, abs=1e-6) for row in kept["scores"]]
    assert evaluate_split(found, "test").metrics.mrr == pytest.approx(kept["mrr"], abs=1e-6)


def test_there_is_a_golden_run_of_each_format() -> None:
    assert {int(p.name.removeprefix("run-")) for p in GOLDEN.glob("run-*")} == set(
        range(1, artifacts.FORMAT + 1)
    )


def test_scores_have_the_same_bits_after_loading(tmp_path: Path) -> None:
    before = run(crash_config(), splits=splits_of(), out=tmp_path / "run")
    after = open_run(tmp_path / "run", splits=splits_of())
    assert torch.equal(scores_of(before), scores_of(after))
    assert scores_of(before).numel() >= 100
    assert before.results["test"].metrics == evaluate_split(after, "test").metrics


# -- hostile: the manifest agrees with the file, so that checksums do not help ---------------------


def replace(path: Path, name: str, content: bytes) -> None:
    """Put content in a run, and its checksum in the manifest."""
    (path / name).write_bytes(content)
    edit(path, lambda m: m["files"].__setitem__(name, entry(content)))


def entry(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((path / artifacts.MANIFEST).read_text())
    change(manifest)
    (path / artifacts.MANIFEST).write_text(json.dumps(manifest))


def refused(path: Path) -> str:
    """The message of the refusal, which must come soon and without taking memory."""
    before, start = peak_memory(), time.process_time()
    with pytest.raises(HyperfactError) as stop:
        open_run(path, splits=splits_of())
    assert stop.value.exit_code == 2, stop.value
    assert time.process_time() - start < 5
    size = sum(p.lstat().st_size for p in path.iterdir())
    assert peak_memory() - before < size + 200e6
    return str(stop.value)


def header(text: str | bytes, *, claimed: int | None = None, data: bytes = b"") -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw) if claimed is None else claimed) + raw + data


F32 = '{"dtype":"F32","shape":[2],"data_offsets":[%d,%d]}'
WEIGHTS: dict[str, bytes] = {
    "empty": b"",
    "seven bytes": b"\x00" * 7,
    "claims 2^63": header("{}", claimed=2**63),
    "claims more than there is": header("{}", claimed=4096),
    "not JSON": header("{]"),
    "not UTF-8": header(b"\xff\xfe{}"),
    "deep": header("[" * 100_000),
    "deep objects": header('{"a":' * 50_000),
    "overlap": header(f'{{"a":{F32 % (0, 8)},"b":{F32 % (4, 12)}}}', data=b"\0" * 12),
    "beyond the end": header(f'{{"a":{F32 % (0, 2**40)}}}', data=b"\0" * 8),
    "backwards": header(f'{{"a":{F32 % (8, 0)}}}', data=b"\0" * 8),
    "huge shape": header(
        '{"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}'
    ),
    "unknown type": header(
        '{"a":{"dtype":"PICKLE","shape":[1],"data_offsets":[0,4]}}', data=b"1234"
    ),
    "metadata bomb": header('{"__metadata__":{"a":"' + "x" * 20_000_000 + '"}}'),
    "100,000 tensors": header(
        "{"
        + ",".join(
            f'"{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(100_000)
        )
        + "}"
    ),
    "pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_hostile_weights_are_refused(case: str, made: Path) -> None:
    replace(made, artifacts.WEIGHTS, WEIGHTS[case])
    assert "weights.safetensors" in refused(made) or "vectors" in refused(made)


def test_weights_of_another_shape_type_or_name_are_refused(made: Path) -> None:
    whole = load_file(made / artifacts.WEIGHTS)
    name = next(n for n in whole if n.startswith("decoder.") or n.startswith("encoder."))
    changes: list[dict[str, torch.Tensor]] = [
        {**whole, name: whole[name].double()},
        {**whole, name: whole[name].flatten()[:1]},
        {**whole, "more": torch.zeros(1)},
        {n: t for n, t in whole.items() if n != name},
        {**whole, "representations.entities": torch.zeros(3, 8)},
        {**whole, "representations.relations": torch.zeros(30, 9)},
        {n: t for n, t in whole.items() if not n.startswith("repr")},
    ]
    for changed in changes:
        replace(made, artifacts.WEIGHTS, save(changed))
        refused(made)


def test_a_huge_dimension_is_refused_before_memory_is_taken(made: Path) -> None:
    text = (made / artifacts.CONFIG).read_text().replace("dim = 8", "dim = 800000000")
    replace(made, artifacts.CONFIG, text.encode())
    assert "expected (12, 800000000)" in refused(made)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (artifacts.METRICS, b"[" * 200_000),
        (artifacts.METRICS, b"1" * 5000),
        (artifacts.METRICS, b"\xff"),
        (artifacts.ENTITIES, b'"a"\n"a"\n'),
        (artifacts.ENTITIES, b'"a"\n[1]\n'),
        (artifacts.ENTITIES, b'{"literal": 3}\n'),
        (artifacts.ENTITIES, b"\xff\n"),
        (artifacts.ENTITIES, b"[" * 100_000 + b"\n"),
        (artifacts.RELATIONS, b"nonsense\n"),
        (artifacts.CONFIG, b"\xff"),
        (artifacts.CONFIG, b"a = [" * 5000),
        (artifacts.CONFIG, b"[training]\ndim = -1\n"),
    ],
)
def test_hostile_text_is_refused(name: str, content: bytes, made: Path) -> None:
    replace(made, name, content)
    refused(made)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"null", b"[" * 100_000, b"\xff", b"9" * 5000, b'{"format": 2}'),
        *(b'{"format": "1"}', b'{"format": 1}', b'{"format": 1, "files": []}'),
        b'{"format": 1, "files": {}}',
    ],
)
def test_hostile_manifests_are_refused(content: bytes, made: Path) -> None:
    (made / artifacts.MANIFEST).write_bytes(content)
    refused(made)


def test_a_huge_manifest_is_not_even_read(made: Path) -> None:
    with (made / artifacts.MANIFEST).open("wb") as file:
        file.truncate(2**33)  # sparse
    start = time.process_time()
    with pytest.raises(DataError, match="more than the"):
        artifacts.read_run(made)
    assert time.process_time() - start < 1


def test_a_file_of_another_size_is_not_even_read(made: Path) -> None:
    with (made / artifacts.WEIGHTS).open("r+b") as file:
        file.truncate(2**36)  # sparse: 64 GB
    assert "damaged; it has 68719476736 bytes" in str(_error(made))


def _error(path: Path) -> Exception:
    with pytest.raises(DataError) as stop:
        artifacts.read_run(path)
    return stop.value


# -- paths -----------------------------------------------------------------------------------------

NAMES = [
    *("..", ".", "", "../weights.safetensors", "../../etc/passwd", "/etc/passwd", "//host/x"),
    *("a/b", "a/../b", "./a", "a/", "\\\\host\\x", "..\\x", "C:\\x", "C:x", "a\\b", "a:b"),
    *("a\x00b", "\x00", "weights.safetensors\x00", "a\nb", "a\rb", "\u202eevil", "a b", " a"),
    *("~", "~root", "$HOME", "%2e%2e", "..%2f", "..;", ".hidden", "...", "-rf", "a*", "a?"),
    *("é", "weights.safetensors ", "weights.safetensors.", "a" * 300, "file:x", "|cat", "a\u2028b"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_cannot_name_anything_but_a_plain_file(name: str, made: Path) -> None:
    edit(made, lambda m: m["files"].__setitem__(name, entry(b"")))
    assert "is not the plain name of a file" in refused(made)


def test_names_that_differ_in_case_only_are_refused(made: Path) -> None:
    edit(made, lambda m: m["files"].__setitem__("WEIGHTS.safetensors", entry(b"")))
    assert "differ in case" in refused(made)
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", [artifacts.WEIGHTS, artifacts.MANIFEST, artifacts.CONFIG])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "device"])
def test_only_plain_files_are_read(name: str, kind: str, made: Path) -> None:
    """Reading a pipe would wait for ever, a link would lead outside."""
    path = made / name
    content = path.read_bytes()
    path.unlink()
    if kind == "link":
        outside = made.parent / "outside"
        outside.write_bytes(content)
        path.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    refused(made)


def test_components_come_from_tables_only(made: Path) -> None:
    text = (made / artifacts.CONFIG).read_text()
    for bad in ("os.system", "hyperfact.models.decoders.MDistMult", "__import__", "../x"):
        changed = text.replace('name = "mdistmult"', f'name = "{bad}"')
        assert changed != text
        replace(made, artifacts.CONFIG, changed.encode())
        modules = set(sys.modules)
        with pytest.raises(UnknownNameError, match="unknown decoder"):
            open_run(made, splits=splits_of())
        assert set(sys.modules) == modules


# -- no code in data -------------------------------------------------------------------------------

_AUDITED = """
import sys
found = []
def hook(event, arguments):
    if event.startswith(("pickle.", "marshal.loads", "shelve.")):
        found.append(event)
sys.addaudithook(hook)
from pathlib import Path
import torch
torch.set_num_threads(1)
from hyperfact.runs.experiment import resume, run
from hyperfact.runs.run import open_run
from tests.support.crashes import Crash, crash_config
from tests.unit.runs.test_experiment import splits_of
def stop(event):
    if event.epoch == 2:
        raise Crash
splits, config = splits_of(), crash_config(training={"epochs": 3})
for name in ("first", "second"):
    path = Path(sys.argv[1]) / name
    found.clear()
    try:
        run(config, splits=splits, out=path, watch=stop)
    except Crash:
        resume(path, splits=splits)
    open_run(path, splits=splits)
ours = list(found)
import pickle
pickle.loads(pickle.dumps(Path))
print(len(ours), "pickle.find_class" in found)
"""


def test_no_pickle_is_read_from_training_to_loading(tmp_path: Path) -> None:
    """An audit hook watches save, resume and load; it does see a pickle when there is one.

    The second round counts: in the first, numba loads compiled kernels from its own cache, which
    is pickled and lies beside the code, not in a run.
    """
    done = subprocess.run(
        [sys.executable, "-c", _AUDITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout.split() == ["0", "True"], done.stderr
