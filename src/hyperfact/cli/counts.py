"""The command `stats`."""

from hyperfact.cli.common import AsJson, Dataset, app
from hyperfact.cli.data import Reading, labelled
from hyperfact.cli.engines import Work
from hyperfact.cli.options import LabelFile, grouped
from hyperfact.cli.printing import print_json, print_table, print_text
from hyperfact.cli.visible import in_line
from hyperfact.data.parted import NAME as PARTS
from hyperfact.data.stats import Stats, stats_of
from hyperfact.graph.labels import Labels
from hyperfact.scale.disk_stats import stats_on_disk


@app.command()
@grouped
def stats(
    reading: Reading,
    work: Work,
    dataset: Dataset = "baseball",
    *,
    labels: LabelFile = None,
    as_json: AsJson = False,
) -> None:
    """Count entities, relations, arities, qualifiers and degrees of a dataset.

    Example: `hyperfact stats baseball`, `hyperfact stats my-facts.jsonl --json`
    """
    if work.is_used(dataset, reading):
        with work.facts(dataset) as facts:
            found = stats_on_disk(facts)
        formats, shown = PARTS, Labels(work.labels(dataset, labels))
    else:
        splits, report = reading.report(dataset)
        found, formats = stats_of(splits), ", ".join(report.formats)
        shown = labelled(splits, labels).labels
    if as_json:
        print_json({**found.as_dict(), "format": formats})
    else:
        _print_stats(found, shown)
        print_text(f"format: {formats}")


def _print_stats(found: Stats, labels: Labels) -> None:
    print_text(
        f"{in_line(found.name)}: {found.entities:,} entities ({found.literals:,} literals), "
        f"{found.relations:,} relations ({found.primary_relations:,} primary, "
        f"{found.attributes:,} attributes)\n"
    )
    print_table(
        ("split", "facts", "qualified", "%", "qualifiers", "max arity"),
        [
            (
                s.name,
                s.facts,
                s.qualified,
                f"{100 * s.qualified_share:.1f}",
                s.qualifiers,
                s.max_arity,
            )
            for s in found.splits
        ],
    )
    arities = sorted({arity for s in found.splits for arity in s.arities})
    print_text("")
    print_table(
        ("arity", *(s.name for s in found.splits)),
        [(arity, *(s.arities.get(arity, 0) for s in found.splits)) for arity in arities],
    )
    d = found.degree
    print_text(
        f"\nfacts an entity stands in: median {d.median:g}, mean {d.mean:.1f}, "
        f"max {d.max:,} ({in_line(labels.full(d.top))})"
    )
