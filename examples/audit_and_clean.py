"""Find what leaks from train to test in your own files, and write a copy that may be tested."""

from pathlib import Path

from hyperfact import HKG, Fact, Splits, load, write
from hyperfact.data.audit import audit_of, clean

FACTS = [
    Fact("Hank Aaron", "played for", "Milwaukee Braves", (("start season", "1954"),)),
    Fact("Eddie Mathews", "played for", "Milwaukee Braves", (("start season", "1953"),)),
    Fact("Hank Aaron", "played for", "Atlanta Braves", (("start season", "1966"),)),
    Fact("Eddie Mathews", "played for", "Atlanta Braves", (("start season", "1966"),)),
]
graph = HKG.from_facts(FACTS)
write(Splits({"train": graph[:3], "test": graph[2:]}), Path("mine"), format="jsonl")

splits = load("mine")
found = audit_of(splits)
print(found.verdict)
for leak in found.leaks:
    print(f"{leak.kind.title} ({leak.where}): {leak.count} of {leak.of}")
if found.leaks:
    cleaned = clean(splits)
    for removed in cleaned.removed:
        print(f"{removed.count} from {removed.split}: {removed.reason}")
    write(cleaned.splits, Path("mine-clean"), format="jsonl")
