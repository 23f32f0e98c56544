"""Where the real benchmarks lie, for tests that need them."""

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """The folder named by HYPERFACT_DATA; a test without it is skipped, and says so."""
    folder = os.environ.get("HYPERFACT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("HYPERFACT_DATA does not name a folder with the benchmarks")
    return Path(folder)
