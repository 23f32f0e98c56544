"""The commands train, evaluate and config show, as a person calls them."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated

import pytest
import torch
import typer
from typer import rich_utils

from hyperfact.cli import main
from hyperfact.cli.options import TABLES, grouped
from hyperfact.data import write
from tests.unit.runs.test_experiment import splits_of


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    torch.set_num_threads(1)
    write(splits_of(), tmp_path / "data", format="jsonl")
    return str(tmp_path / "data")


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


SMALL = ("--set", "training.dim=8", "--set", "training.epochs=2", "--threads", "1")
UNSTORED = (*SMALL, "--no-store")


def test_train_then_evaluate(
    dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    code, text, progress = call(
        capsys, "train", "--dataset", dataset, "--decoder", "hype", *SMALL, "--out", out, "--json"
    )
    assert code == 0, progress
    result = json.loads(text)
    assert result["trained_on"] == "train"
    assert "epoch 2: loss" in progress
    assert "valid MRR" in progress
    code, text, _ = call(capsys, "evaluate", out, "--json")
    found = json.loads(text)
    assert code == 0
    assert {k: found[k] for k in ("mrr", "hits@1", "hits@3", "hits@10", "ranks")} == {
        k: result["test"][k] for k in ("mrr", "hits@1", "hits@3", "hits@10", "ranks")
    }
    assert found["candidates"] == 12
    assert found["policy"]["ties"] == "realistic"
    code, text, _ = call(
        capsys, "evaluate", out, "--split", "valid", "--slots", "so", "--ties", "pessimistic"
    )
    assert code == 0
    assert (
        "protocol: slots so, qualifiers given all, filter train+valid, ties pessimistic, 12 candid"
        in text
    )
    code, _, error = call(capsys, "train", "--dataset", dataset, *SMALL, "--out", out)
    assert (code, "exists already" in error) == (2, True)


def test_train_prints_a_table(dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = call(capsys, "train", "--dataset", dataset, "--encoder", "lookup", *UNSTORED)
    assert code == 0
    assert "MRR" in text
    assert "test" in text
    assert "arity 2" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train",), "no data"),
        (("train", "--dataset", "nonsense"), "unknown dataset 'nonsense'"),
        (("train", "--dataset", "baseball", "--encoder", "gcn"), "unknown encoder 'gcn'"),
        (("train", "--set", "training.epoch=1"), "did you mean 'epochs'"),
        (("train", "absent.toml"), "cannot be read"),
        (("evaluate", "absent"), "no such run directory"),
        (
            ("config", "show", "--set", "encoder.name=lookup", "--set", "encoder.layers=1"),
            "not used",
        ),
    ],
)
def test_mistakes_are_explained_in_a_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, error = call(capsys, *words)
    assert (code, out) == (2, "")
    assert message in error
    assert "Traceback" not in error


def test_a_wrong_split_or_tie_rule_is_refused(
    dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    assert call(capsys, "train", "--dataset", dataset, *SMALL, "--out", out)[0] == 0
    code, _, error = call(capsys, "evaluate", out, "--split", "tset")
    assert (code, "did you mean 'test'" in error) == (2, True)
    code, _, error = call(capsys, "evaluate", out, "--ties", "lucky")
    assert (code, "choice of ties" in error) == (2, True)


def test_a_loss_that_is_not_finite_exits_with_5(
    dataset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = call(
        capsys,
        *("train", "--dataset", dataset, *SMALL),
        *("--set", "optimizer.lr=1e30", "--set", "training.batch_size=8"),
    )
    assert code == 5
    assert "epoch 1, step" in error


def test_config_show_is_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = call(capsys, "config", "show", "--set", "encoder.name=rgcn")
    assert code == 0
    assert "# number of bases, or of blocks" in text
    path = tmp_path / "c.toml"
    path.write_text(text)
    assert call(capsys, "config", "show", str(path))[1] == text
    tree = json.loads(call(capsys, "config", "show", str(path), "--json")[1])
    assert tree["encoder"]["decomposition"] == "basis"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((command, name) for command in ("train", "plan") for name in ("encoder", "decoder")),
        *(("evaluate", "by"), ("tune", "space"), ("reproduce", "study")),
    ],
)
def test_help_has_every_name_of_a_table(
    command: str, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 300)
    for _ in range(2):  # the second time it does not say it twice
        code, text, _ = call(capsys, command, "--help")
        assert code == 0
        words = " ".join(re.findall(r"[\w,.-]+", text))  # long lists are broken into lines
        assert words.count(f"One of {', '.join(TABLES[option]())}.") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["train", "--help"],
        ["train", "--dataset", "baseball", "--decoder", "hyp"],
        ["train", "--dataset", "baseball", "--encoder", "gcn"],
        ["check", "no_such_file.py"],
        ["serve", "no-such-run"],
        ["serve", "name=no-such-run"],
    ],
    ids=" ".join,
)
def test_help_and_errors_of_names_come_before_torch(words: list[str]) -> None:
    code = "import sys\nfrom hyperfact.cli import main\ntry:\n    main(sys.argv[1:])\n"
    code += "except SystemExit:\n    assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    assert b"Traceback" not in done.stderr


def test_options_of_a_group_are_those_of_the_command() -> None:
    given: list[object] = []

    @dataclass(frozen=True)
    class Group:
        size: Annotated[int, typer.Option()] = 1
        name: Annotated[str, typer.Option()] = ""

    def command(word: str, group: Group, *, loud: bool = False) -> None:
        given.extend((word, group, loud))

    expanded = grouped(command)
    assert list(signature(expanded).parameters) == ["word", "size", "name", "loud"]
    expanded(word="a", size=2, name="b", loud=True)
    assert given == ["a", Group(2, "b"), True]


@pytest.mark.parametrize(
    ("environment", "options", "reason"),
    [
        ({}, ("--processes", "3", "--replicas", "2"), "3 processes cannot hold 2 replicas"),
        ({}, ("--replicas", "2"), "--replicas 2 needs as many --processes"),
        ({"WORLD_SIZE": "2"}, ("--processes", "4"), "torchrun has started 2"),
        ({"WORLD_SIZE": "two"}, (), "WORLD_SIZE in the environment is 'two'"),
    ],
)
def test_numbers_of_processes_that_do_not_fit_are_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    options: tuple[str, ...],
    reason: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, out, err = call(capsys, "train", "--dataset", "world", "--no-store", *options)
    assert (code, out) == (2, "")
    assert reason in err
    assert len(err.splitlines()) == 1
