"""The service as a process: how it starts, stops, logs, and leaves the world alone."""

import json
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from hyperfact.cli import main
from hyperfact.errors import UserError
from hyperfact.serve.http import logs
from hyperfact.serve.http.server import listen
from hyperfact.serve.opened import Models
from tests.support.serving import (
    QUESTION,
    connect,
    get,
    league_path,
    post,
    read_reply,
    request,
    send,
    shared,
    start,
)


@pytest.fixture(scope="module")
def port() -> int:
    return shared().port


# -- start ----------------------------------------------------------------------------------------


def test_only_this_machine_is_heard_by_default() -> None:
    process = psutil.Process(shared().process.pid)
    listening = [c.laddr for c in process.net_connections("inet") if c.status == "LISTEN"]
    assert [address.ip for address in listening] == ["127.0.0.1"]
    assert "warning" not in shared().log


def fails(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["serve", *words])
    return int(stop.value.code or 0)


def test_a_wider_address_needs_a_flag(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert fails(str(league_path()), "--host", host) == 2
        err = capsys.readouterr().err
        assert len(err.splitlines()) == 1
        assert "add --expose" in err
    assert fails(str(tmp_path), "--host", "0.0.0.0", "--expose", "--port", "0") == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: everyone who reaches 0.0.0.0")
    assert error.startswith("error: ")


def test_what_cannot_start_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, port: int
) -> None:
    run = str(league_path())
    empty = tmp_path / "empty"
    empty.mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "manifest.json").mkdir()
    for words, reason in (
        ((run, "--port", str(port)), "is taken; choose another with --port"),
        ((str(tmp_path / "none"), "--port", "0"), "no such run directory"),
        ((str(empty), "--port", "0"), "this is not a run"),
        ((str(broken), "--port", "0"), "manifest.json"),
        ((run, run, "--port", "0"), "two runs are called"),
        ((run, "--host", "no.such.host.invalid", "--expose"), "cannot be had"),
    ):
        assert fails(*words) == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("error: ")
        assert reason in last


def test_without_the_extra_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("hyperfact.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "h11", None)
    assert fails("anything") == 2
    assert capsys.readouterr().err == (
        "error: the service needs h11: pip install 'hyperfact[serve]'\n"
    )


def test_a_folder_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hyperfact.serve.opened.Predictor.load", refuse)
    with pytest.raises(UserError, match="cannot be read: Permission denied"):
        Models.load([str(tmp_path)])


def test_runs_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperfact.serve.opened.Predictor.load", lambda *_, **__: None)
    assert list(Models.load(["a/b c", "x=d/e", "../.hidden", "f=g=h", "/"])) == [
        *("b-c", "x", "hidden", "f", "run"),
    ]


def test_a_port_is_found() -> None:
    with listen("127.0.0.1", 0) as bound:
        assert bound.getsockname()[1] > 0


# -- stop -----------------------------------------------------------------------------------------


def test_a_killed_service_starts_again_and_a_signal_ends_it() -> None:
    killed = start("--quiet")
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait(timeout=60)
    running = start("--quiet", port=killed.port)
    with connect(running.port) as idle:
        idle.sendall(request("GET", "/api/health"))
        assert read_reply(idle).status == 200
        running.process.send_signal(signal.SIGTERM)
        with suppress(ConnectionError):
            assert idle.recv(10) == b""
        assert running.process.wait(timeout=60) == 0
    with pytest.raises(ConnectionRefusedError):
        connect(running.port)


# -- the world ------------------------------------------------------------------------------------


def test_requests_touch_nothing(port: int) -> None:
    before = len(shared().events())
    model = "/api/models/league"
    for target in (
        *("/api/health", "/api/models", "/api/openapi.json", "/", "/m/league", "/nothing"),
        *(f"{model}/search?q=pla", f"{model}/facts?entity=city+1", f"{model}/slots?relation=in"),
        *(f"{model}/map", "/m/league/map", "/m/league/card", "/m/league/entity?name=city+1"),
        f"/m/league/answers.csv?q={quote(QUESTION)}",
        f"/m/league?q={quote(QUESTION)}&answer=city+1",
        f"/m/league?q={quote('nobody | lives in | ?')}",
    ):
        assert get(port, target, {"Accept": "text/html"}).status < 500, target
    changes = ["+ since = 2001"]
    for name, more in (("predict", {}), ("explain", {"answer": "city 1"})):
        assert post(port, name, {"question": QUESTION, **more}).status == 200
    assert post(port, "what-if", {"question": QUESTION, "changes": changes}).status == 200
    assert post(port, "batch", {"questions": [QUESTION, "x"]}).status == 200
    assert post(port, "predict", {"question": "player 1 | ? | city 1"}).status == 200
    assert post(port, "predict", {"question": "nobody | lives in | ?"}).status == 404
    assert shared().events()[before:] == []
    assert not [name for name, _ in shared().events() if name == "pickle.find_class"]


# -- logs -----------------------------------------------------------------------------------------

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+ \S+ \S+ \d{3} \d+\.\d+ms \d+B")


def test_each_request_is_one_safe_line(port: int) -> None:
    get(port, "/api/health?the-first-line")  # what was asked before has its line when this one has
    while "the-first-line" not in shared().log:
        time.sleep(0.01)
    before = len(shared().log.splitlines())
    escape = "\x1b[2J"
    targets = [
        *("/%0d%0aGET%20/%20200", f"/{quote(escape)}", "/" + "a" * 7000, "/api/health?x=\x7f"),
        *(f"/api/models/{quote('é' * 200)}/search", '/"quotes"', "/api/health", "/\x9b31m\xff"),
    ]
    for target in targets:
        get(port, target)
    send(port, request("GET", "/" + "a" * 1_000_000))
    send(port, b"\x1b[31mGET\r\n\r\n")
    for name in ("\r\nforged 200 line", escape, "x" * 4000, "x" * 1_000_000):
        post(port, "predict", {"question": f"{json.dumps(name)} | lives in | ?"})
    lines: list[str] = []
    for _ in range(1200):  # a line is written after its response
        lines = shared().log.splitlines()[before:]
        if len(lines) >= len(targets) + 6:
            break
        time.sleep(0.05)
    assert len(lines) == len(targets) + 6
    for line in lines:
        assert LINE.fullmatch(line), line
        assert len(line) < logs.LONGEST
        assert line.isascii()
        assert line.isprintable()


@pytest.mark.parametrize("text", ["\n", "\x1b[0m", "\u202e", "é", "a b", "\\x0a", "\x7f", "\ud800"])
def test_a_word_stays_a_word(text: str) -> None:
    word = logs.escaped(text)
    assert word.isascii()
    assert word.isprintable()
    assert " " not in word


def test_a_line_is_never_too_long() -> None:
    line = logs.line(
        client="x" * 5000, method="\n" * 500, target="\x00" * 5000, status=200, seconds=1, size=1
    )
    assert len(line) <= logs.LONGEST
    assert line.endswith(" 200 1000.0ms 1B\n")
