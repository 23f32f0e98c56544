"""`make bench`: every row of every module here, in one process, as ratios and bounds.

Usage: python -m benchmarks [--json FILE] [NAME ...], where a NAME is a module (data, kernels …).
"""

import argparse
import importlib
import json
import pkgutil
import sys
import traceback
from pathlib import Path
from typing import Any

import benchmarks

NAMES = sorted(
    module.name
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if not module.name.startswith("_") and module.name != "measure"
)


def line(row: dict[str, Any]) -> str:
    value = f"{row['value']:,.3g} {row['unit']}"
    ratio = f"{row['ratio']:.2f}x" if row.get("ratio") is not None else ""
    verdict = {True: "ok", False: "MISSED", None: ""}[row.get("pass")]
    return f"{row['row']:<62} {value:>16} {ratio:>9}  {row.get('bound') or '':<22} {verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path, help="one JSON line a row")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no module {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    found: list[dict[str, Any]] = []
    failed = 0
    for name in options.names or NAMES:
        print(f"\n{name}", flush=True)
        try:
            for row in importlib.import_module(f"benchmarks.{name}").rows():
                found.append({"module": name, **row})
                print("  " + line(row), flush=True)
        except Exception:
            traceback.print_exc()
            failed += 1
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in found))
    missed = sum(row.get("pass") is False for row in found)
    print(f"\n{len(found)} rows, {missed} missed, {failed} modules failed")
    return int(bool(missed or failed))


if __name__ == "__main__":
    sys.exit(main())
