"""Several processes behind one port: one loads the runs, its forks answer, a new one takes over.

The supervisor holds the listening socket and loads nothing. A generation is a process that loads
the runs once and forks the workers: their pages are the same memory until somebody writes to them,
so that all hold one copy of the weights. On SIGHUP the next generation is started; when its workers
accept clients, the old ones answer what they have and end. The socket is never closed meanwhile.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hyperfact.errors import StorageError, UserError

_SOCKET, _READY = "HYPERFACT_SERVE_SOCKET", "HYPERFACT_SERVE_READY"
_PATIENCE = 15.0  # seconds in which a generation ends; its workers have 9 for their clients
_STOP = (signal.SIGINT, signal.SIGTERM)


def is_generation() -> bool:
    """Whether this process was started by a supervisor."""
    return _SOCKET in os.environ


def inherited_socket() -> socket.socket:
    """The socket at which the supervisor listens."""
    return socket.socket(fileno=int(os.environ[_SOCKET]))


def say_ready() -> None:
    """Tell the supervisor that one worker accepts clients."""
    os.write(int(os.environ[_READY]), b".")


# -- the supervisor --------------------------------------------------------------------------------


@dataclass
class Generation:
    """A process that loads and forks, seen from outside."""

    process: "subprocess.Popen[bytes]"
    ready: int  # where its workers report
    workers: int

    @classmethod
    def start(cls, words: Sequence[str], bound: socket.socket, workers: int) -> "Generation":
        """Begin to load; `is_up` waits until it answers."""
        read, write = os.pipe()
        passed = (bound.fileno(), write)
        numbers = {_SOCKET: str(passed[0]), _READY: str(passed[1])}
        process = subprocess.Popen(
            [sys.executable, "-m", "hyperfact", *words],
            pass_fds=passed,
            env={**os.environ, **numbers},
            start_new_session=True,  # Ctrl-C comes to the supervisor, which passes it on
        )
        os.close(write)
        return cls(process, read, workers)

    def is_up(self) -> bool:
        """Wait until all workers accept clients; False: it has ended before."""
        seen = 0
        while seen < self.workers:
            found = os.read(self.ready, self.workers)
            if not found:
                return False
            seen += len(found)
        return True

    def end(self, number: int) -> int:
        """Send a signal and wait; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: nobody else is in it
            code = self.process.wait()
        os.close(self.ready)
        return code


def supervise(
    words: Sequence[str], bound: socket.socket, workers: int, tell: Callable[[str], None]
) -> None:
    """Keep workers behind a socket until a signal ends it; SIGHUP changes them for new ones.

    Args:
        words: The command that a generation runs, as after `hyperfact`.
        bound: Listening already.
        workers: How many.
        tell: Takes messages for the person who started it.

    Raises:
        UserError: The workers cannot be started.
        StorageError: They ended by themselves.
    """
    if not hasattr(os, "fork"):
        raise UserError("--workers needs a system that forks processes")
    wanted: list[int] = []
    for number in (*_STOP, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda arrived, _frame: wanted.append(arrived))
    now = Generation.start(words, bound, workers)
    if not now.is_up():
        raise _FailedError(now.end(signal.SIGTERM))
    host, port = bound.getsockname()[:2]
    tell(f"{workers} workers at http://{f'[{host}]' if ':' in host else host}:{port}/")
    while True:
        signal.sigtimedwait((), 0.2)  # sleeps; handlers run in between
        if any(number in _STOP for number in wanted):
            now.end(signal.SIGTERM)
            return
        if signal.SIGHUP in wanted:
            now = _changed(now, Generation.start(words, bound, workers), tell)
        if now.process.poll() is not None:
            raise StorageError("the workers ended by themselves; see what they have said")
        wanted.clear()


def _changed(old: Generation, new: Generation, tell: Callable[[str], None]) -> Generation:
    """The generation that serves from now on: the new one, if it starts."""
    if not new.is_up():
        new.end(signal.SIGTERM)
        tell("the new workers did not start; the old ones go on")
        return old
    old.end(signal.SIGUSR1)
    tell(f"{new.workers} new workers have taken over")
    return new


class _FailedError(UserError):
    """The first generation has said why it could not start."""

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.exit_code = code or 70


# -- a generation ----------------------------------------------------------------------------------


@dataclass
class Crew:
    """The forks of this process."""

    answer: Callable[[], None]  # what each does until it is told to stop
    workers: int
    pids: set[int] = field(default_factory=set)
    stopping: int = 0

    def run(self) -> None:
        """Fork, replace who dies, and end when told to and all have ended."""
        for number in (*_STOP, signal.SIGUSR1):
            signal.signal(number, self._stop)
        while self.pids or not self.stopping:
            while len(self.pids) < self.workers and not self.stopping:
                self._fork()
            try:
                pid, _ = os.wait()
            except ChildProcessError:
                break
            self.pids.discard(pid)

    def _fork(self) -> None:
        """One worker more; a signal that comes meanwhile waits until it is known or can hear it."""
        ours = {*_STOP, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_BLOCK, ours)
        pid = -1 if self.stopping else os.fork()
        if pid:
            self.pids |= {pid} - {-1}
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ours)
            return
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ours)
        try:
            self.answer()
        finally:
            os._exit(0)

    def _stop(self, number: int, _frame: object) -> None:
        self.stopping = number
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM if number in _STOP else number)
