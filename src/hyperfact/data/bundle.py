"""The datasets that ship with the package."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

#: Name and one line for people.
BUNDLED: Mapping[str, str] = {
    "baseball": "careers, awards and teams after Lahman's baseball database (CC BY-SA 3.0)",
    "world": "currencies, languages and holidays after CLDR and holidays (Unicode-3.0, MIT)",
}


def bundled_files(name: str) -> dict[str, Path]:
    """The file of each split of a bundled dataset."""
    folder = Path(str(files("hyperfact.data") / "bundled" / name))
    return {split: folder / f"{split}.jsonl.gz" for split in ("train", "valid", "test")}
