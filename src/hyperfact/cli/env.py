"""The command `env`: what a bug report should say about the machine."""

import platform
from importlib.metadata import PackageNotFoundError, version

from hyperfact import __version__
from hyperfact.cli.common import AsJson, app
from hyperfact.cli.printing import print_json, print_table
from hyperfact.system.cores import cores

_PACKAGES = ("torch", "numpy", "numba", "duckdb", "safetensors", "pydantic", "typer", "pyoxigraph")


@app.command()
def env(*, as_json: AsJson = False) -> None:
    """Print versions, processor, threads and precision, for bug reports.

    Example: `hyperfact env --json`
    """
    import torch

    from hyperfact.kernels import has_fast_bfloat16
    from hyperfact.runs.provenance import processor

    found: dict[str, object] = {
        "hyperfact": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "fast bfloat16": has_fast_bfloat16(),
        "cuda": torch.cuda.is_available(),
        **{name: _version(name) for name in _PACKAGES},
    }
    if as_json:
        print_json(found)
    else:
        print_table(("", ""), [(name, str(value)) for name, value in found.items()])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
