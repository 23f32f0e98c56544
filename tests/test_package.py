"""The built package, installed where no repository is: its files, its words, its commands.

The fresh environment has the installed wheel first and the packages of the running environment
after it, so that nothing is downloaded and nothing of the working copy is seen.
"""

import email
import io
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.benchmarks import data_folder

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


@dataclass(frozen=True)
class Package:
    """What was built, and where it is installed."""

    wheel: Path
    sdist: Path
    place: Path  # a folder outside the repository
    python: Path

    def environment(self) -> dict[str, str]:
        """Nothing that leads back to the working copy; one thread, as tests share the cores."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}

    def run(self, *words: str) -> str:
        """A command that succeeds; what it prints."""
        done = subprocess.run(
            words, capture_output=True, text=True, encoding="utf-8", cwd=self.place,
            env=self.environment(), check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def command(self) -> str:
        """The installed `hyperfact`."""
        return str(self.python.parent / ("hyperfact.exe" if os.name == "nt" else "hyperfact"))


def build(source: Path, out: Path, *targets: str) -> None:
    words = [word for target in targets for word in ("-t", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *words, "-d", str(out)],
        check=True,
        capture_output=True,
        cwd=source,
    )


def install(wheel: Path, place: Path) -> Path:
    """A new environment with this wheel; its Python."""
    venv.create(place, with_pip=False)
    paths = sysconfig.get_paths(vars={"base": str(place), "platbase": str(place)}, scheme="venv")
    python = Path(paths["scripts"]) / ("python.exe" if os.name == "nt" else "python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (Path(paths["purelib"]) / "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    return python


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    place = tmp_path_factory.mktemp("package")
    build(ROOT, place / "dist", "wheel", "sdist")
    wheel, sdist = (next((place / "dist").glob(f"*.{end}")) for end in ("whl", "tar.gz"))
    return Package(wheel, sdist, place, install(wheel, place / "fresh"))


def inside(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def tracked() -> set[str]:
    """The files of the package that are kept in the repository, as a wheel names them."""
    done = subprocess.run(
        ["git", "ls-files", "src"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    files = done.stdout.splitlines() or [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    return {name.removeprefix("src/") for name in files if (ROOT / name).exists()}


# -- files and words ------------------------------------------------------------------------------


def test_the_wheel_holds_every_file_of_the_package_and_no_other(package: Package) -> None:
    found = {name for name in inside(package.wheel) if ".dist-info/" not in name}
    assert found == tracked()
    assert "hyperfact/py.typed" in found
    assert [name for name in found if not name.endswith(".py")]


def test_the_source_archive_holds_what_it_promises_and_builds_the_same_wheel(
    package: Package, tmp_path: Path
) -> None:
    with tarfile.open(package.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (source / name).exists(), name
    build(source, tmp_path / "again", "wheel")
    assert inside(next((tmp_path / "again").glob("*.whl"))) == inside(package.wheel)


def metadata(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        found = next(n for n in archive.namelist() if n.endswith(f".dist-info/{name}"))
        return io.TextIOWrapper(archive.open(found), encoding="utf-8").read()


def test_the_wheel_says_who_it_is(package: Package) -> None:
    about: Message = email.message_from_string(metadata(package.wheel, "METADATA"))
    assert about["Name"] == "hyperfact"
    assert set(about.get_all("Provides-Extra", [])) == set(EXTRAS)
    assert about["Requires-Python"] == PROJECT["project"]["requires-python"]
    plain = [words for words in about.get_all("Requires-Dist", []) if "extra ==" not in words]
    assert len(plain) == len(PROJECT["project"]["dependencies"])
    assert "hyperfact = hyperfact.cli:main" in metadata(package.wheel, "entry_points.txt")


def test_the_installed_package_is_the_one_that_is_used(package: Package) -> None:
    code = "import hyperfact as h; print(h.__file__, h.__version__, sep='\\n')"
    file, version = package.run(str(package.python), "-c", code).splitlines()
    assert Path(file).is_relative_to(package.place / "fresh")
    assert package.run(package.command, "--version").split()[-1] == version


# -- commands -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(package: Package) -> Path:
    """The run of a short demonstration."""
    out = package.run(package.command, "demo", "--epochs", "1", "--out", "shown")
    assert "Baseball Hall of Fame" in out
    assert "What to try next" in out
    return package.place / "shown"


def test_the_demonstration_leaves_a_run_and_its_report(demo: Path) -> None:
    assert json.loads((demo / "manifest.json").read_text())["files"]
    assert "<html" in (demo / "report.html").read_text(encoding="utf-8")


def test_a_study_is_done_again(package: Package) -> None:
    """The quick budget as it is, with small vectors."""
    data = data_folder()
    words = ("main", "--budget", "quick", "--dataset", "FB-AUTO", "--row", "TransEQ")
    settings = ("--set", "training.dim=32", "--data-dir", str(data), "--out", "study")
    table = package.run(package.command, "reproduce", *words, *settings)
    row = next(line for line in table.splitlines() if line.startswith("| FB-AUTO | TransEQ |"))
    assert 0 < float(row.split("|")[3]) < 1
    assert (package.place / "study" / "main.svg").is_file()


@pytest.fixture
def service(package: Package, demo: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running service and its address."""
    words = [package.command, "serve", f"shown={demo}", "--port", "0", "--quiet"]
    with subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=package.place,
        env=package.environment(),
    ) as process:
        assert process.stderr is not None
        try:
            lines = iter(process.stderr.readline, "")
            found = next(m for line in lines if (m := re.search(r"serving shown at (\S+)", line)))
            yield process, found[1]
        finally:
            process.kill()


def test_a_question_is_answered_over_http(service: tuple[subprocess.Popen[str], str]) -> None:
    process, address = service
    question = {"question": "Hank Aaron | played for | ? | position = OF", "k": 3}
    asked = urllib.request.Request(
        f"{address}api/models/shown/predict",
        data=json.dumps(question).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as reply:
        assert len(json.load(reply)["answers"]) == 3
    with urllib.request.urlopen(address, timeout=60) as reply:
        page = reply.read().decode()
    (style, *_) = re.findall(r'href="/([^"]+\.css[^"]*)"', page)
    with urllib.request.urlopen(address + style, timeout=60) as reply:
        assert reply.read()
    if os.name == "posix":  # elsewhere Ctrl-C belongs to a console, which there is none of
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


#: Every format that can hold the facts of the bundled dataset, by what it needs.
FORMATS = ("jsonl", "parquet", "kgtk", "hif", "ntriples", "nquads", "turtle", "trig")
_COMMANDS = """
import json, sys
from hyperfact.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, (words, end.code)
"""


def test_facts_go_through_every_format_and_come_back(package: Package) -> None:
    """One process for all of them: a command is quick, its beginning is not."""
    there = [["convert", "world", f"to-{name}", "--to", name] for name in FORMATS]
    back = [["convert", f"to-{name}", f"from-{name}", "--to", "jsonl"] for name in FORMATS]
    package.run(str(package.python), "-c", _COMMANDS, json.dumps([*there, *back]))
    for split in ("train", "valid", "test"):
        lines = {
            name: sorted(
                (package.place / f"from-{name}" / f"{split}.jsonl").read_text("utf-8").split("\n")
            )
            for name in FORMATS
        }
        assert len(lines["jsonl"]) > 100
        assert all(found == lines["jsonl"] for found in lines.values())
