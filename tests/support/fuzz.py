"""`python -m tests.support.fuzz FORMAT CORPUS [libFuzzer options]`: bytes into one reader.

Anything but facts or a data error is a finding: an exception, a second of silence, 500 MB.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hyperfact.data"]):
    from hyperfact.data.formats import FORMATS
    from tests.support.memory import read_or_refuse


def main() -> None:
    name, *options = sys.argv[1:]
    folder = Path(tempfile.mkdtemp())
    (folder / "entities.txt").write_text("0\tzero\n1\tone\n2\ttwo\n")
    (folder / "relations.txt").write_text("0\tr\n1\ts\n")
    on_disk = folder / f"facts{FORMATS[name].suffix}"

    def one(data: bytes) -> None:
        if name == "parquet":  # read by DuckDB, which wants a path
            on_disk.write_bytes(data)
        read_or_refuse(name, data, folder=folder)

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
