"""The command line in processes that are ready at once.

A process that has imported everything forks another for each call: with its own number, its own
signals and its own end like one that was started afresh, but seconds sooner. All of them share the
seed of hashes, so that what has to hold between any two processes is tested with fresh ones.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import ROOT

_SERVER = """
import json, os, sys
from tests.support import ROOT
import hyperfact.cli, hyperfact.runs.experiment, hyperfact.runs.run
for line in sys.stdin:
    asked = json.loads(line)
    if "poll" in asked:
        pid, status = os.waitpid(asked["poll"], os.WNOHANG)
        print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
        continue
    child = os.fork()
    if not child:
        break
    print(child, flush=True)
else:
    os._exit(0)
sys.argv[1:] = asked["words"]
for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
    os.dup2(os.open(asked["files"][number], flags), number)
hyperfact.cli.main()
"""


class Server:
    """A Python process that answers each line with a line; it ends when its input does."""

    def __init__(self, code: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
        )

    def ask(self, question: str) -> str:
        """What it says to that."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        return self.process.stdout.readline().strip()


@cache
def _server() -> Server:
    """One for all tests of this process."""
    return Server(_SERVER)


def _ask(**question: object) -> Any:
    return json.loads(_server().ask(json.dumps(question)))


class Forked:
    """A forked command, as far as tests need it like `subprocess.Popen`."""

    def __init__(self, *words: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.files = self.folder / "stdout", self.folder / "stderr"
        for file in self.files:
            file.touch()
        files = ["/dev/null", *map(str, self.files)]
        self.pid: int = _ask(words=words, files=files)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The code it ended with, None while it runs."""
        if self.returncode is None:
            self.returncode = _ask(poll=self.pid)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        """Wait for its end; what it wrote."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("hyperfact", timeout)
            time.sleep(0.005)
        out, err = (file.read_text() for file in self.files)
        shutil.rmtree(self.folder)
        return out, err
