"""A dataset in parts as tables of an engine: names, their words, and the facts of a split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from hyperfact.data.manifest import Manifest, read_manifest
from hyperfact.data.parted import SCHEMAS, sql_type, typed_name
from hyperfact.errors import DataError, UnknownNameError
from hyperfact.graph.facts import Fact
from hyperfact.graph.fingerprints import Words, name_hashes
from hyperfact.graph.ragged import Array
from hyperfact.scale.row_numbers import id_bucket, number_rows
from hyperfact.scale.row_words import digest_of_pages, fact_words
from hyperfact.system.engine import Engine

NAMES_A_PAGE = 250_000
_KINDS = {"entity": "entities", "relation": "relations"}


@dataclass(frozen=True)
class DiskFacts:
    """The facts of one split (or of all, each once) as tables of an engine.

    `entity` and `relation` (id, kind, name), `entity_word` and `relation_word` (id, x, y), `fact`
    (n, s, r, o, q) and `pair` (n, a, v); n is the row that the fact has in memory.
    """

    engine: Engine
    manifest: Manifest
    _has_words: list[bool] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, engine: Engine) -> "DiskFacts":
        """The dataset of a folder, every part checked."""
        engine.tell("checksums")
        found = cls(engine, read_manifest(folder))
        for kind in _KINDS:
            engine.view(kind, f"SELECT id, kind, name FROM {found.rows_of(_KINDS[kind])}")
        return found

    def rows_of(self, table: str, split: str = "") -> str:
        """What stands behind FROM for a table of the dataset."""
        files = self.manifest.files(table, split)
        if files:
            return self.engine.files(files)
        kinds = SCHEMAS[table].items()
        fields = ", ".join(f"CAST(NULL AS {sql_type(kind)}) AS {n}" for n, kind in kinds)
        return f"(SELECT {fields} WHERE 1 = 0)"

    # -- names ------------------------------------------------------------------------------------

    def names(self, kind: str) -> Iterator[list[str]]:
        """All names of a kind in the order of their ids, some at a time."""
        size = getattr(self.manifest, _KINDS[kind])
        for start in range(0, size, NAMES_A_PAGE):
            stop = min(size, start + NAMES_A_PAGE)
            found = self.engine.columns(
                f"SELECT kind, name FROM {kind} WHERE id >= {start} AND id < {stop} ORDER BY id"
            )
            if len(found["name"]) != stop - start:
                raise DataError(f"{self.manifest.folder}: the ids of {_KINDS[kind]} have gaps")
            rows = zip(found["kind"].tolist(), found["name"].tolist(), strict=True)
            yield [typed_name(*row) for row in rows]

    @cached_property
    def relation_words(self) -> Words:
        """The words of all relations; there are few."""
        pages = [name_hashes(names) for names in self.names("relation")]
        return np.concatenate([np.zeros((0, 2), dtype=np.uint64), *pages])

    def load_words(self) -> None:
        """Make the tables of words of names, if they are not there yet."""
        if self._has_words:
            return
        for kind in _KINDS:
            start = 0
            for names in chain([[]], self.names(kind)):
                words = name_hashes(names)
                ids = np.arange(start, start + len(names), dtype=np.int32)
                columns: dict[str, Array] = {"id": ids, "x": words[:, 0], "y": words[:, 1]}
                self.engine.load(f"{kind}_word", columns)
                start += len(names)
        self._has_words.append(True)

    def named(self, kind: str, ids: Sequence[int]) -> dict[int, str]:
        """The names of a few ids."""
        if not ids:
            return {}
        listed = ", ".join(str(i) for i in sorted(set(ids)))
        rows = self.engine.rows(f"SELECT id, kind, name FROM {kind} WHERE id IN ({listed})")
        return {i: typed_name(k, name) for i, k, name in rows}

    # -- facts ------------------------------------------------------------------------------------

    def choose(self, split: str) -> None:
        """Make `fact` and `pair` of a split, or of all, where each fact stands once."""
        splits = list(self.manifest.splits)
        if split not in (*splits, "all"):
            raise UnknownNameError("split", split, [*splits, "all"])
        chosen = splits if split == "all" else [split]
        self.choose_rows(chosen)
        if len(chosen) > 1:
            self._once()

    def choose_rows(self, splits: Sequence[str] = ()) -> None:
        """Make `fact`, with the split of each, and `pair` of splits one after the other."""
        chosen = splits or list(self.manifest.splits)
        facts = " UNION ALL ".join(
            f"SELECT fact + {start} AS n, subject AS s, relation AS r, object AS o, "
            f"qualifiers AS q, '{name}' AS split FROM {self.rows_of('facts', name)}"
            for name, start in self._starts(chosen)
        )
        pairs = " UNION ALL ".join(
            f"SELECT fact + {start} AS n, attribute AS a, value AS v "
            f"FROM {self.rows_of('qualifiers', name)}"
            for name, start in self._starts(chosen)
        )
        self.engine.view("fact", facts)
        self.engine.view("pair", pairs)
        self._check_ids()

    def _starts(self, splits: Sequence[str]) -> Iterator[tuple[str, int]]:
        start = 0
        for name in splits:
            yield name, start
            start += self.manifest.splits[name]

    def _once(self) -> None:
        """Facts that stand in several splits are kept where they stand first."""
        e = self.engine
        self.load_words()
        e.table("all_word", fact_words(e.dialect))
        e.table("kept", "SELECT min(n) AS n FROM all_word GROUP BY x, y")
        number_rows(
            e,
            "all_fact",
            "SELECT f.* FROM fact f JOIN kept k ON k.n = f.n",
            bucket=id_bucket("n", sum(self.manifest.splits.values())),
            order="t.n",
        )
        e.table(
            "all_pair",
            "SELECT k.number AS n, p.a, p.v FROM pair p JOIN all_fact k ON k.n = p.n",
        )
        e.view("fact", "SELECT number AS n, s, r, o, q FROM all_fact")
        e.view("pair", "SELECT * FROM all_pair")
        e.drop("all_word", "kept")

    def _check_ids(self) -> None:
        """Refuse ids that no name has."""
        low, high, rlow, rhigh = self.engine.rows(
            "SELECT min(least(s, o)), max(greatest(s, o)), min(r), max(r) FROM fact"
        )[0]
        vlow, vhigh, alow, ahigh = self.engine.rows(
            "SELECT min(v), max(v), min(a), max(a) FROM pair"
        )[0]
        for kind, size, ids in (
            ("entity", self.manifest.entities, (low, high, vlow, vhigh)),
            ("relation", self.manifest.relations, (rlow, rhigh, alow, ahigh)),
        ):
            known = [i for i in ids if i is not None]
            if known and (min(known) < 0 or max(known) >= size):
                raise DataError(
                    f"{self.manifest.folder}: a fact names {kind} {max(known)} of {size}"
                )

    def facts(self, rows: Sequence[int]) -> list[Fact]:
        """A few facts by name, in this order."""
        if not rows:
            return []
        listed = ", ".join(map(str, rows))
        facts = {
            n: ids
            for n, *ids in self.engine.rows(f"SELECT n, s, r, o FROM fact WHERE n IN ({listed})")
        }
        pairs: dict[int, list[tuple[int, int]]] = {n: [] for n in facts}
        for n, a, v in self.engine.rows(
            f"SELECT n, a, v FROM pair WHERE n IN ({listed}) ORDER BY n, a, v"
        ):
            pairs[n].append((a, v))
        values = [v for some in pairs.values() for _, v in some]
        e = self.named("entity", [i for s, _, o in facts.values() for i in (s, o)] + values)
        kinds = [a for some in pairs.values() for a, _ in some]
        r = self.named("relation", [r for _, r, _ in facts.values()] + kinds)
        return [
            Fact(e[s], r[k], e[o], tuple((r[a], e[v]) for a, v in pairs[n]))
            for n, (s, k, o) in ((n, facts[n]) for n in rows)
        ]

    # -- content ----------------------------------------------------------------------------------

    def name_blocks(self) -> Iterator[tuple[int, Iterator[Words]]]:
        """The words of entities and of relations, as blocks of a digest."""
        for kind, table in _KINDS.items():
            query = f"SELECT x, y FROM {kind}_word"
            yield getattr(self.manifest, table), self.engine.words(query)

    def fingerprint(self, fact: str = "fact", pair: str = "pair") -> str:
        """That of `HKG.fingerprint`, of these tables."""
        words = fact_words(self.engine.dialect, fact, pair)
        rows = int(self.engine.value(f"SELECT count(*) FROM {fact}"))
        blocks = [*self.name_blocks(), (rows, self.engine.words(words))]
        return digest_of_pages("hyperfact facts 1", blocks)
