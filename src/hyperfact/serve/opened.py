"""The runs that a service answers from, by name."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import StorageError, UnknownNameError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import Splits
from hyperfact.graph.labels import Kind
from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.ragged import Array, places_of
from hyperfact.predict import Predictor
from hyperfact.predict.additions import Addition
from hyperfact.predict.logic.asker import Asker
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.replying import QueryAnswers
from hyperfact.serve.fact_counts import fact_counts

_SUPPOSED = 4  # sets of supposed facts that are kept ready
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class FoundName:
    """A name and the number of facts in which it stands."""

    name: str
    label: str  # how people read the name, and may type it
    facts: int


@dataclass(frozen=True)
class QueryRequest:
    """How a query is to be answered."""

    k: int = 10
    logic: str = "product"
    beam: int = 64
    milliseconds: int = 2000
    any_name: bool = False


class Served:
    """One run with what a service wants to know beside answers.

    Args:
        name: In addresses.
        predictor: Of the run.
        lock: Held by whoever computes with the predictor.
        most_facts: How many facts clients may add; 0: none.
    """

    def __init__(
        self, name: str, predictor: Predictor, lock: threading.Lock, most_facts: int = 0
    ) -> None:
        self.name, self.predictor, self.lock = name, predictor, lock
        self.most_facts = most_facts
        self.together = False  # whether different questions may be scored at once
        self._supposed: dict[tuple[str, ...], Served] = {}
        self._counted: tuple[Splits, dict[Kind, Array]] | None = None

    def change_facts(self, add: Sequence[str], remove: Sequence[str]) -> Addition:
        """Answer from now on with some facts more or less; call it with the lock held.

        Raises:
            UserError: Something is wrong with one of them, or they are too many: nothing changes.
        """
        if add and len(self.predictor.added) + len(add) > self.most_facts:
            raise UserError(f"at most {self.most_facts:,} facts can be added to this run (--facts)")
        other = self.predictor.given(())
        other.remove(remove)
        addition = other.add(add)
        for name in ("asker", "free_asker"):  # they hold the predictor of before
            self.__dict__.pop(name, None)
        self.predictor = other
        self._supposed.clear()
        return addition

    def supposing(self, facts: tuple[str, ...]) -> "Served":
        """The same run if these facts were true too; this one stays. Takes the lock.

        Raises:
            UserError: Something is wrong with one of them, or nobody may add facts.
        """
        if not facts:
            return self
        with self.lock:
            found = self._supposed.get(facts)
            if found is None:
                found = Served(self.name, self.predictor, self.lock, self.most_facts)
                found.change_facts(facts, ())
                while len(self._supposed) >= _SUPPOSED:
                    self._supposed.pop(next(iter(self._supposed)))
                self._supposed[facts] = found
        return found

    @cached_property
    def asker(self) -> Asker:
        """Answers queries with several blanks."""
        return Asker(self.predictor)

    @cached_property
    def free_asker(self) -> Asker:
        """The same with everybody allowed in every slot."""
        return self.asker.freely()

    def query(self, text: str, request: QueryRequest) -> QueryAnswers:
        """The answers to a query, found in time.

        Raises:
            UserError: A query that cannot be read, or that asks for a relation.
        """
        read = any_query(text)
        if read.asks_relation:
            raise UserError("a query asks for entities; ask for a relation with one blank")
        effort = Effort(request.beam, request.logic, request.milliseconds / 1000)
        asker = self.free_asker if request.any_name else self.asker
        return asker.ask(read, request.k, effort)

    @property
    def splits(self) -> Splits:
        """The facts of the run."""
        return self.predictor.splits

    def _counts(self, splits: Splits, kind: Kind) -> Array:
        """The number of facts of every entity or relation, attributes included; made once."""
        if self._counted is None or self._counted[0] is not splits:
            self._counted = splits, fact_counts(splits)
        return self._counted[1][kind]

    def search(self, kind: Kind, text: str, limit: int) -> list[FoundName]:
        """Names that begin so, that have such a word, or that are alike; frequent ones first."""
        splits = self.splits  # of one moment
        counts = self._counts(splits, kind)
        ids = splits.labels.search(kind).search(text, limit, weights=counts)
        return self._found(splits, kind, counts, ids)

    def _found(
        self, splits: Splits, kind: Kind, counts: Array, ids: Sequence[int]
    ) -> list[FoundName]:
        names = splits.entities if kind == "entity" else splits.relations
        typed = splits.labels.typed
        return [FoundName(names[i], typed(names[i], kind), int(counts[i])) for i in ids]

    def facts_of(
        self, entity: str, offset: int, limit: int, *, relation: str | None = None
    ) -> tuple[int, list[tuple[str, Fact]]]:
        """How many facts (of a relation) an entity has in all splits, and some with their split.

        Raises:
            UnknownNameError: There is no such entity, or no such relation.
        """
        splits, labels = self.splits, self.splits.labels
        e = splits.entities.id(labels.meant(entity, "entity"), "entity")
        r = None
        if relation is not None:
            r = splits.relations.id(labels.meant(relation, "relation"), "relation")
        found: list[tuple[str, Fact]] = []
        total = 0
        for split, part in splits.items():
            rows = part.rows_of_entity(e)
            rows = rows if r is None else rows[part.columns.relation[rows] == r]
            first = max(0, offset - total)
            wanted = rows[first : first + limit - len(found)] if len(found) < limit else rows[:0]
            found += [(split, part[int(row)]) for row in wanted]
            total += len(rows)
        return total, found

    def attributes_of(self, relation: str) -> list[FoundName]:
        """The attributes that stand with a relation, those with most facts first.

        Raises:
            UnknownNameError: There is no such relation.
        """
        names = self.splits.relations
        r = names.id(self.splits.labels.meant(relation, "relation"), "relation")
        counts = np.zeros(len(names), dtype=np.int64)
        for part in self.splits.values():
            c = part.columns
            places = places_of(c.offsets, np.flatnonzero(c.relation == r))
            counts += np.bincount(c.attributes[places], minlength=len(names))
        order = np.argsort(-counts, kind="stable")
        return self._found(self.splits, "relation", counts, order[: (counts > 0).sum()].tolist())

    def card(self) -> dict[str, Any]:
        """What the run is, and how well it did."""
        config, stored = self.predictor.config, self.predictor.stored
        results = {} if stored is None else dict(stored.metrics)
        return {
            "name": self.name,
            "dataset": self.splits.name,
            "encoder": config.encoder.name,
            "decoder": config.decoder.name,
            "entities": len(self.splits.entities),
            "relations": len(self.splits.relations),
            "facts": {split: len(part) for split, part in self.splits.items()},
            "metrics": plain(results),
            "protocol": plain({} if stored is None else stored.manifest.get("policy", {})),
        }


class Models(Mapping[str, Served]):
    """All runs of a service; one of them computes at a time."""

    def __init__(self, predictors: Mapping[str, Predictor], *, most_facts: int = 0) -> None:
        self.lock = threading.Lock()
        self._served = {n: Served(n, p, self.lock, most_facts) for n, p in predictors.items()}

    @classmethod
    def load(
        cls,
        runs: Sequence[str],
        *,
        data_dir: Path | None = None,
        labels: Path | None = None,
        most_facts: int = 0,
    ) -> "Models":
        """Load runs.

        Args:
            runs: Directories, each as `PATH` or `NAME=PATH`.
            data_dir: Where benchmarks lie, if not where they lay then.
            labels: A file with a label for each id, for every run.
            most_facts: How many facts clients may add to each.

        Raises:
            UserError: A run that cannot be read, or a name that is no name or stands twice.
        """
        paths: dict[str, Path] = {}
        for text in runs:
            name, path = _named(text)
            if name in paths:
                raise UserError(f"two runs are called {name!r}; give one a name: NAME={path}")
            paths[name] = path
        opened = {name: _load(path, data_dir, labels) for name, path in paths.items()}
        return cls(opened, most_facts=most_facts)

    def __getitem__(self, name: str) -> Served:
        return self._served[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._served)

    def __len__(self) -> int:
        return len(self._served)

    def get_known(self, name: str) -> Served:
        """The run of this name.

        Raises:
            UnknownNameError: There is none.
        """
        if name not in self._served:
            raise UnknownNameError("model", name, self._served)
        return self._served[name]


def _named(text: str) -> tuple[str, Path]:
    """The name in addresses and the directory."""
    given, mark, rest = text.partition("=")
    if mark and _NAME.fullmatch(given):
        return given, Path(rest)
    path = Path(text)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.resolve().name).lstrip("._-")[:64] or "run"
    return name, path


def _load(path: Path, data_dir: Path | None, labels: Path | None) -> Predictor:
    try:
        return Predictor.load(path, data_dir=data_dir, labels=labels)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except StorageError as error:
        raise UserError(str(error)) from error


def plain(value: Any) -> Any:
    """The same for JSON, which knows neither NaN nor infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
