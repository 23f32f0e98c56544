"""The table of transformations, and the one function that looks into it."""

from collections.abc import Callable, Mapping

from hyperfact.errors import ConfigError, UnknownNameError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.transforms.cliques import clique_plain, clique_semantic
from hyperfact.transforms.stars import equivalent, no_distinction, plain

#: Every transformation a config or a command may name.
TRANSFORMS: Mapping[str, Callable[[HKG], KG]] = {
    "equivalent": equivalent,
    "no_distinction": no_distinction,
    "plain": plain,
    "clique_plain": clique_plain,
    "clique_semantic": clique_semantic,
}


def transform(hkg: HKG, transformation: str = "equivalent", *, mode: str | None = None) -> KG:
    """Transform by name; `mode` is for `equivalent` only and is `compact` unless given."""
    if transformation not in TRANSFORMS:
        raise UnknownNameError("transformation", transformation, TRANSFORMS)
    if mode is None:
        return TRANSFORMS[transformation](hkg)
    if transformation != "equivalent":
        raise ConfigError(f"the transformation {transformation!r} has no modes, got {mode!r}")
    return equivalent(hkg, mode)
