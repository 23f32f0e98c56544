"""What all commands share: the app, options, and how errors become exit codes."""

import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

from hyperfact import __version__
from hyperfact.cli.printing import ReaderGoneError, hush, is_hushed, note, print_text
from hyperfact.cli.visible import VisibleFormatter, visible
from hyperfact.errors import HyperfactError, UserError
from hyperfact.system.cores import cores, is_busy
from hyperfact.system.memory import keep_freed_memory
from hyperfact.system.torchrun import is_follower, local_members, members, rank
from hyperfact.system.writing import is_special, write_atomically

app = typer.Typer(
    name="hyperfact",
    help="Hyper-relational knowledge graphs: read, audit, transform without loss, train, ask.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Dataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A bundled or benchmark name, a file, or a folder with train/valid/test files.",
        show_default=False,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where benchmarks lie; else HYPERFACT_DATA, else the cache."),
]
FormatName = Annotated[
    str | None, typer.Option("--format", help="Format of the files; recognised if not given.")
]
Literals = Annotated[
    str, typer.Option("--literals", help="What to do with literal values: keep, drop or error.")
]


def check_run(path: Path) -> Path:
    """What is not there is said before anything is loaded to open it."""
    if not path.exists():
        raise UserError(f"{path}: no such run directory")
    return path


RunPath = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="A run directory.", show_default=False, callback=check_run),
]
RunPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN RUN…",
        help="Run directories.",
        show_default=False,
        callback=lambda paths: [check_run(path) for path in paths],
    ),
]
_THREADS_A_CORE = 4  # at most; more only wait for each other


def _check_threads(threads: int | None) -> int | None:
    """Refuse a number that no machine of this size can want."""
    most = _THREADS_A_CORE * cores()
    if threads is not None and threads > most:
        raise UserError(f"--threads {threads:,}: {cores()} cores here take at most {most} threads")
    return threads


Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Threads to use; by default all cores.",
        callback=_check_threads,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Where to compute: auto, cpu, cuda, cuda:1, mps; auto is CUDA if there is one.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write over what exists already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]

_state: dict[str, Any] = {"debug": False, "words": []}
_SAID_BY_THE_FIRST = (2, 3)  # exit codes: a wrong request is wrong for all, a lost process lost
_NARROW = 70  # columns, below which help is plain text


def _print_version(wanted: bool) -> None:  # noqa: FBT001 -- the parser calls it so
    if wanted:
        print_text(f"hyperfact {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")] = False,
    version: Annotated[  # noqa: ARG001 -- its callback does the work
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    _state["debug"] = debug


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the exit codes are those of docs/reference/exit-codes.md."""
    _state["debug"] = False
    keep_freed_memory()
    _speak_utf8()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    words = list(sys.argv[1:] if arguments is None else arguments)
    _state["words"] = words
    hush(silent=False)
    sys.exit(_run(words or ["--help"]))


def _speak_utf8() -> None:
    """Pipes of Windows take a code page that few names fit into; elsewhere all is UTF-8."""
    if os.name == "nt":
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")


@cache
def _parser(*, is_narrow: bool) -> Callable[..., Any]:
    """The app as the parser wants it; making it takes longer than most questions to it."""
    app.rich_markup_mode = None if is_narrow else "markdown"  # tables would cut options short
    return typer.main.get_command(app)


def _run(words: list[str]) -> int:
    try:
        hush(silent=is_follower())
        columns = get_terminal_size().columns
        narrow = {"terminal_width": columns - 2} if columns < _NARROW else {}
        parse = _parser(is_narrow=bool(narrow))
        code = parse(args=words, prog_name="hyperfact", standalone_mode=False, **narrow)
        if code == 130:  # the parser has turned Ctrl-C into an exit code
            note("interrupted")
        return code if isinstance(code, int) else 0
    except HyperfactError as error:
        return _fail(f"error: {error}" if str(error) else "", error.exit_code)
    except ReaderGoneError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing complains at exit
        return 141
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except MemoryError:
        return _fail("error: out of memory", 3)
    except OSError as error:
        return _fail(f"error: {error}", 3)
    except Exception as error:
        return _usage_or_bug(error)


def _usage_or_bug(error: Exception) -> int:
    """Errors of the command line's own parser show themselves; anything else is our bug."""
    if type(error).__name__ == "Abort":
        return _fail("interrupted", 130)
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        if isinstance(getattr(error, "message", None), str):
            error.message = visible(error.message)  # type: ignore[attr-defined]
        show()
        return code
    return _fail(f"internal error: {type(error).__name__}: {error} (--debug shows where)", 70)


def _fail(message: str, code: int) -> int:
    if _state["debug"]:
        print(visible(traceback.format_exc()), end="", file=sys.stderr)  # noqa: T201 -- as `note`
    if not is_hushed():
        note(message)
    elif code not in _SAID_BY_THE_FIRST:
        hush(silent=False)
        note(f"process {rank()}: {message}")
    return code


def words() -> list[str]:
    """The command as it was typed."""
    return list(_state["words"])


def set_threads(threads: int | None) -> None:
    """Use so many threads; None leaves the choice to torch."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


def spare_threads() -> None:
    """Leave a core to others who are at work already, and say so."""
    import torch

    threads = min(torch.get_num_threads(), cores())
    if members() > 1:
        threads = max(1, cores() // local_members())
    elif threads > 1 and is_busy():
        threads -= 1
        note(f"other work keeps the cores busy: {threads} of {cores()} threads (see --threads)")
    torch.set_num_threads(threads)


def refuse_existing(path: Path | None, *, force: bool) -> None:
    """Write over a file, or into a folder that holds something, only if that is wanted.

    Raises:
        UserError: It exists; a device or a pipe is no such thing, for nothing is lost there.
    """
    if path is None or force or is_special(path):
        return
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UserError(f"{path}: exists already; another name, or --force to write over it")


def write_page(path: Path, text: str) -> None:
    """One text file that a command was asked for, in a folder that may not exist yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode("utf-8"))
