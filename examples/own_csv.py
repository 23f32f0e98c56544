"""From your own CSV file, with a header, quotes and an empty cell, to what may stand there."""

import csv
from collections.abc import Iterator
from pathlib import Path

from hyperfact import HKG, Fact, Predictor, Splits, train

TABLE = """person,project,role,city
Ada,Atlas,lead,Oslo
Ben,Atlas,engineer,Oslo
Cem,Atlas,designer,Oslo
Emil,Beacon,lead,Lyon
"Fay, the elder",Beacon,engineer,Lyon
Gus,Beacon,designer,Lyon
Ines,Comet,lead,Porto
Jan,Comet,engineer,Porto
Kira,,designer,Porto
"""
Path("people.csv").write_text(TABLE, encoding="utf-8")


def facts_of(row: dict[str, str]) -> Iterator[Fact]:
    """The facts that a row states; an empty cell states none."""
    yield Fact(row["person"], "lives in", row["city"])
    if row["project"]:
        role, city = ("role", row["role"]), ("city", row["city"])
        yield Fact(row["person"], "works on", row["project"], (role, city))


with Path("people.csv").open(newline="", encoding="utf-8") as table:
    graph = HKG.from_facts([fact for row in csv.DictReader(table) for fact in facts_of(row)])
settings = {"training.dim": 32, "training.epochs": 50, "training.batch_size": 16}
settings |= {"training.validate_every": 0}
run = train(Splits({"train": graph}, name="people"), decoder="transformer", settings=settings)
print(Predictor.of(run).ask("Kira | works on | ? | role = designer | city = Porto", k=3))
