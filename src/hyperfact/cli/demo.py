"""The command `demo`: a first look at hyper-relational facts, without network or options."""

import numpy as np

from hyperfact.audit import audit_of, percent
from hyperfact.cli.audit import print_audit
from hyperfact.cli.common import app, print_table, print_text
from hyperfact.data import load
from hyperfact.stats import stats_of

_PERSON = "Hank Aaron"
_NEXT = (
    ('hyperfact show baseball "played for" -n 5', "more facts, of an entity or a relation"),
    ("hyperfact audit world --html audit.html", "the other bundled dataset, as a page"),
    ("hyperfact datasets", "the benchmarks that can be loaded by name"),
    ("hyperfact convert baseball facts --to parquet", "the same facts in another format"),
    ("hyperfact --help", "everything else"),
)


@app.command()
def demo() -> None:
    """Load the bundled dataset, audit it and show it: the first thing to try."""
    splits = load("baseball")
    print_text(
        "Facts often need more than three slots. A hyper-relational fact is a primary triple\n"
        "(subject, relation, object) with qualifiers (attribute = value). For example:\n"
    )
    career = splits.train.of_entity(_PERSON)
    _, firsts = np.unique(career.columns.relation, return_index=True)
    for row in firsts[:6].tolist():
        print_text(f"  {career[row]}")
    print_text(f"\n{_PERSON} has {len(career)} facts in the training split of `baseball`.\n")
    print_text("-- How large is the dataset? (hyperfact stats)\n")
    found = stats_of(splits)
    print_text(f"{found.entities:,} entities, {found.relations:,} relations and attributes\n")
    print_table(
        ("split", "facts", "qualified", "max arity"),
        [(s.name, s.facts, percent(s.qualified_share), s.max_arity) for s in found.splits],
    )
    print_text("\n-- Can results on it be trusted? (hyperfact audit)\n")
    print_audit(audit_of(splits))
    print_text("\n-- What to try next\n")
    for command, about in _NEXT:
        print_text(f"  {command:<48} {about}")
