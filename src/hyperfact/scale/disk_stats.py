"""The numbers of `data.stats`, counted by SQL."""

from hyperfact.data.stats import Degree, SplitStats, Stats
from hyperfact.scale.disk_facts import DiskFacts


def stats_on_disk(facts: DiskFacts) -> Stats:
    """Describe a dataset in parts."""
    e, manifest = facts.engine, facts.manifest
    splits = []
    for name in manifest.splits:
        facts.choose(name)
        splits.append(_split(facts, name))
    facts.choose("all")
    literals = e.value("SELECT count(*) FROM entity WHERE kind = 'literal'")
    return Stats(
        name=manifest.name,
        entities=manifest.entities,
        literals=int(literals),
        relations=manifest.relations,
        primary_relations=int(e.value("SELECT count(DISTINCT r) FROM fact")),
        attributes=int(e.value("SELECT count(DISTINCT a) FROM pair")),
        splits=tuple(splits),
        degree=_degree(facts),
    )


def _split(facts: DiskFacts, name: str) -> SplitStats:
    rows = facts.engine.rows("SELECT q, count(*) FROM fact GROUP BY q ORDER BY q")
    arities = {2 + int(q): int(count) for q, count in rows}
    total = sum(arities.values())
    qualified = total - arities.get(2, 0)
    return SplitStats(
        name=name,
        facts=total,
        qualified=qualified,
        qualifiers=sum((arity - 2) * count for arity, count in arities.items()),
        max_arity=max(arities, default=0),
        arities=arities,
        qualified_share=qualified / total if total else 0.0,
    )


def _degree(facts: DiskFacts) -> Degree:
    e = facts.engine
    if not facts.manifest.entities:
        return Degree(0.0, 0.0, 0, "")
    slots = " UNION ALL ".join(
        f"SELECT {end} AS id FROM {table}"
        for end, table in (("s", "fact"), ("o", "fact"), ("v", "pair"))
    )
    e.table(
        "degree",
        "SELECT w.id, coalesce(c.size, 0) AS size FROM entity w LEFT JOIN "
        f"(SELECT id, count(*) AS size FROM ({slots}) GROUP BY id) c ON c.id = w.id",
    )
    median, total = e.rows("SELECT median(size), sum(size) FROM degree")[0]
    top, most = e.rows("SELECT id, size FROM degree ORDER BY size DESC, id LIMIT 1")[0]
    mean = int(total) / facts.manifest.entities
    return Degree(float(median), mean, int(most), str(facts.named("entity", [top])[top]))
