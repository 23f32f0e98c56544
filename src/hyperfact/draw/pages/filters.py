"""How pages show names and numbers."""

from math import exp

from hyperfact.draw.text import visible

SHORT = 96  # characters of a name in a list
_SPLITS = ("train", "valid", "test")


def short(name: str, limit: int = SHORT) -> str:
    """A name for a list: cut, with a sign for each character that cannot be shown."""
    return visible(name if len(name) <= limit else name[: limit - 1]) + ("…" * (len(name) > limit))


def times(change: float) -> str:
    """A change of a log probability as a factor."""
    if abs(change) < 0.02:
        return "no change"
    factor = exp(min(abs(change), 60.0))
    sign = "÷" if change < 0 else "×"
    return f"{sign} {factor:,.0f}" if factor >= 10 else f"{sign} {factor:.2g}"


def figure(value: object, digits: int = 3) -> str:
    """A number of a table."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no"}.get(value, "–")  # type: ignore[arg-type]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.{digits}f}"
    return visible(str(value))


def tone(split: str) -> str:
    """The colour of a split; all that are not the usual ones share one."""
    return split if split in _SPLITS else "aux"
