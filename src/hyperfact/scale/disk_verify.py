"""The certificate of a transformation, for facts that memory does not hold."""

import numpy as np

from hyperfact.errors import HyperfactError, UserError
from hyperfact.scale.disk_edges import (
    check_way,
    edge_counts,
    edges_fingerprint,
    is_restorable,
    make_edges,
    make_words,
)
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_restore import restore_tables
from hyperfact.scale.row_words import fact_words
from hyperfact.transforms import Certificate, Loss
from hyperfact.transforms.loss import BARE_TWIN

#: Bare facts whose primary triple a qualified fact has too.
TWINS = "SELECT n FROM fact WHERE q = 0 AND (s, r, o) IN (SELECT s, r, o FROM fact WHERE q > 0)"


def verify_on_disk(
    facts: DiskFacts,
    split: str = "train",
    transformation: str = "equivalent",
    *,
    mode: str | None = None,
    examples: int = 3,
) -> Certificate:
    """`transforms.verify` by SQL: transform, restore, compare, name every fact that is lost."""
    mode = check_way(transformation, mode)
    if not is_restorable(transformation):
        raise UserError(
            f"what {transformation} loses is decided in memory: add --engine memory, "
            "or verify equivalent or no_distinction"
        )
    facts.choose(split)
    make_edges(facts, transformation, mode)
    make_words(facts)
    restore_tables(facts.engine, transformation, mode)
    e = facts.engine
    e.view("back_fact", "SELECT * FROM star_fact UNION ALL SELECT * FROM bare_fact")
    lost = e.columns(f"{TWINS} ORDER BY n")["n"] if mode == "paper-text" else np.zeros(0, np.int64)
    losses = (Loss(*BARE_TWIN, lost.astype(np.int64)),) if len(lost) else ()
    counts = _counts(facts, len(lost))
    certificate = Certificate(
        transformation,
        mode,
        lossless=not losses,
        restored=True,
        counts=counts,
        hkg_fingerprint=facts.fingerprint(),
        kg_fingerprint=edges_fingerprint(facts, transformation, mode),
        restored_fingerprint=facts.fingerprint("back_fact", "star_pair"),
        losses=losses,
        examples=tuple(
            tuple(map(str, facts.facts(loss.rows[:examples].tolist()))) for loss in losses
        ),
    )
    _compare(facts, certificate)
    return certificate


def _compare(facts: DiskFacts, certificate: Certificate) -> None:
    """What came back must be what was not declared lost; anything else is a bug of ours."""
    if certificate.lossless:
        same = certificate.hkg_fingerprint == certificate.restored_fingerprint
    else:
        e = facts.engine
        kept = fact_words(e.dialect, f"(SELECT * FROM fact WHERE n NOT IN ({TWINS}))")
        back = fact_words(e.dialect, "back_fact", "star_pair")
        pairs = ((kept, back), (back, kept))
        same = all(
            not e.value(
                f"SELECT count(*) FROM (SELECT x, y FROM ({a}) EXCEPT SELECT x, y FROM ({b}))"
            )
            for a, b in pairs
        )
    if not same:
        raise HyperfactError("restore did not give back the facts that it should; please report")


def _counts(facts: DiskFacts, lost: int) -> dict[str, int]:
    e = facts.engine
    total, qualified, pairs = e.rows(
        "SELECT count(*), sum(CASE WHEN q > 0 THEN 1 ELSE 0 END), sum(q) FROM fact"
    )[0]
    return {
        "facts": int(total),
        "qualified_facts": int(qualified or 0),
        "qualifiers": int(pairs or 0),
        "entities": facts.manifest.entities,
        "relations": facts.manifest.relations,
        **edge_counts(facts),
        "lost_facts": lost,
    }
