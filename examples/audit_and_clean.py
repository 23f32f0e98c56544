"""Find what leaks from train to test in your own files, and keep only what may be tested."""

from pathlib import Path

from hyperfact import HKG, Fact, Splits, load, write

FACTS = [
    Fact("Hank Aaron", "played for", "Milwaukee Braves", (("start season", "1954"),)),
    Fact("Hank Aaron", "played for", "Atlanta Braves", (("start season", "1966"),)),
    Fact("Babe Ruth", "played for", "New York Yankees", (("start season", "1920"),)),
]
graph = HKG.from_facts(FACTS)
write(Splits({"train": graph[:2], "test": graph[1:]}), Path("mine"), format="jsonl")

splits = load("mine")
seen = set(splits.train)
clean = [fact for fact in splits.test if fact not in seen]
print(f"{len(splits.test) - len(clean)} of {len(splits.test)} test facts stand in train")
