"""The service in a process of its own, for browsers; also runs it: `python -m …service RUN`."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]


@contextmanager
def serving(*runs: Path) -> Iterator[str]:
    """The address of a service over these runs."""
    command = [sys.executable, "-m", "tests.serve.page.service", *map(str, runs)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the service did not start"
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


async def _serve(runs: list[str]) -> None:
    from hyperfact.serve.app import create_app
    from hyperfact.serve.models import Models
    from hyperfact.serve.server import Server, listen

    app = create_app(Models.load(runs))
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    await Server(app).run(listening, lambda: print(f"http://127.0.0.1:{port}", flush=True))


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    asyncio.run(_serve(sys.argv[1:]))
