"""What is odd inside facts and names: repeats, twins, loops, literals, look-alikes."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from hyperfact.data.audit.findings import Finding
from hyperfact.data.audit.kinds import KINDS
from hyperfact.data.audit.view import Mask, View, among
from hyperfact.graph.facts import Literal, show


def repeats(view: View) -> Iterator[Finding]:
    """What set semantics dropped on reading, split by split."""
    for split, part in view.splits.items():
        rows = part.repeats.facts
        texts = tuple(f"row {row + 1:,} of {split}" for row in rows[: view.examples].tolist())
        whole = len(part) + len(rows)
        yield Finding(KINDS["repeated-facts"], len(rows), whole, split, texts)
    for split, part in view.splits.items():
        dropped = part.repeats.qualifiers
        whole = len(part.columns.values) + dropped
        yield Finding(KINDS["repeated-qualifiers"], dropped, whole, split)


def bare_twins(view: View) -> Iterator[Finding]:
    """Bare facts whose primary triple is also that of a qualified fact of the same split."""
    for split in view.splits:
        rows = twin_rows(view, split)
        bare = int((view.mask([split]) & ~view.qualified).sum())
        yield view.of_facts("bare-twins", rows, bare, split)


def twin_rows(view: View, split: str) -> Mask:
    """The bare twins of a split."""
    here = view.mask([split])
    return here & ~view.qualified & among(view.triples, here & view.qualified)


def odd_facts(view: View) -> Iterator[Finding]:
    """Repeated attributes, values that repeat the subject or object, self loops."""
    c, owner = view.columns, view.owners
    qualified = int(view.qualified.sum())
    again = np.zeros(len(owner), dtype=bool)  # qualifiers are sorted by attribute in each fact
    again[1:] = (owner[1:] == owner[:-1]) & (c.attributes[1:] == c.attributes[:-1])
    yield view.of_facts("repeated-attributes", view.any_of(again), qualified)
    copies = (c.values == c.subject[owner]) | (c.values == c.object[owner])
    yield view.of_facts("value-is-subject-or-object", view.any_of(copies), qualified)
    yield view.of_facts("self-loops", c.subject == c.object, len(c))


def odd_names(view: View) -> Iterator[Finding]:
    """Entities in qualifiers only, literals, names that look alike."""
    c, entities, relations = view.columns, view.splits.entities, view.splits.relations
    primary = np.concatenate([c.subject, c.object])
    only = np.setdiff1d(c.values, primary)
    yield view.of_names("qualifier-only-entities", only, entities, of=len(entities))
    literals = np.array([i for i, name in enumerate(entities) if isinstance(name, Literal)], int)
    yield view.of_names("literals", literals, entities, of=len(entities))
    alike = [*lookalikes(entities), *lookalikes(relations)]
    texts = [" ~ ".join(map(show, names)) for names in alike]
    count = sum(map(len, alike))
    yield view.of_texts("lookalike-names", texts, len(entities) + len(relations), count=count)


def folded(name: str) -> str:
    """What is left of a name without case, kinds of space and Unicode forms."""
    return " ".join(unicodedata.normalize("NFKC", str(name)).casefold().split())


def lookalikes(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ by case, space or Unicode form only."""
    groups: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for name in names:
        groups[isinstance(name, Literal), folded(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]
