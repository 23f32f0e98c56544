"""64-bit arithmetic that wraps around, as two SQL engines write it; all other SQL is the same.

A word is an unsigned number of 64 bits. DuckDB has such numbers and refuses to overflow, so sums
and products go through 128 bits; Spark has signed ones, which wrap.
"""

from abc import ABC, abstractmethod

FULL = 2**64 - 1


class Dialect(ABC):
    """How words are computed with; every argument is SQL but for numbers."""

    name: str
    word: str  # the type of a word

    @abstractmethod
    def constant(self, number: int) -> str:
        """A word."""

    @abstractmethod
    def plus(self, one: str, other: str) -> str:
        """The sum of two words."""

    @abstractmethod
    def times(self, one: str, number: int) -> str:
        """The product with a word that is known."""

    @abstractmethod
    def folded(self, column: str, bits: int) -> str:
        """The word, xor itself moved to the right."""

    @abstractmethod
    def total(self, column: str) -> str:
        """The sum over a group."""

    @abstractmethod
    def rising(self, column: str) -> str:
        """What to order by, so that words rise as unsigned numbers."""

    @abstractmethod
    def top(self, column: str, bits: int) -> str:
        """The highest bits of a word, as a small number."""

    @abstractmethod
    def hexadecimal(self, column: str) -> str:
        """Sixteen digits."""


class DuckDialect(Dialect):
    """DuckDB: unsigned words, sums and products by way of 128 bits."""

    name, word = "duckdb", "UBIGINT"

    def constant(self, number: int) -> str:
        """A word."""
        return f"CAST({number & FULL} AS UBIGINT)"

    def _cut(self, wide: str) -> str:
        return f"CAST(({wide}) & CAST({FULL} AS UHUGEINT) AS UBIGINT)"

    def plus(self, one: str, other: str) -> str:
        """The sum of two words."""
        return self._cut(f"CAST({one} AS UHUGEINT) + CAST({other} AS UHUGEINT)")

    def times(self, one: str, number: int) -> str:
        """The product with a word that is known."""
        return self._cut(f"CAST({one} AS UHUGEINT) * CAST({number & FULL} AS UHUGEINT)")

    def folded(self, column: str, bits: int) -> str:
        """The word, xor itself moved to the right."""
        return f"xor({column}, {column} >> {bits})"

    def total(self, column: str) -> str:
        """The sum over a group."""
        return self._cut(f"CAST(sum({column}) AS UHUGEINT)")

    def rising(self, column: str) -> str:
        """What to order by."""
        return column

    def top(self, column: str, bits: int) -> str:
        """The highest bits."""
        return f"CAST({column} >> {64 - bits} AS INTEGER)"

    def hexadecimal(self, column: str) -> str:
        """Sixteen digits."""
        return f"printf('%016x', {column})"


class SparkDialect(Dialect):
    """Spark with ANSI mode off: signed numbers that wrap around."""

    name, word = "spark", "BIGINT"

    def constant(self, number: int) -> str:
        """A word."""
        number &= FULL
        return f"CAST({number - 2**64 if number >= 2**63 else number} AS BIGINT)"

    def plus(self, one: str, other: str) -> str:
        """The sum of two words."""
        return f"({one} + {other})"

    def times(self, one: str, number: int) -> str:
        """The product with a word that is known."""
        return f"({one} * {self.constant(number)})"

    def folded(self, column: str, bits: int) -> str:
        """The word, xor itself moved to the right."""
        return f"({column} ^ shiftrightunsigned({column}, {bits}))"

    def total(self, column: str) -> str:
        """The sum over a group."""
        return f"sum({column})"

    def rising(self, column: str) -> str:
        """What to order by."""
        return f"({column} ^ {self.constant(2**63)})"

    def top(self, column: str, bits: int) -> str:
        """The highest bits."""
        return f"CAST(shiftrightunsigned({column}, {64 - bits}) AS INT)"

    def hexadecimal(self, column: str) -> str:
        """Sixteen digits."""
        return f"lower(lpad(hex({column}), 16, '0'))"
