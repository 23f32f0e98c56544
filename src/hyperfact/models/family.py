"""The table of a family: names, and where each class lies; it is loaded when it is asked for.

Names can be listed, and wrong ones refused, before torch is there.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")


class Family(Mapping[str, type[T]], Generic[T]):
    """The classes of a package by their names in a configuration.

    Args:
        package: Where their modules lie.
        members: For each name, the module and the class: `"boxe.BoxE"`.
    """

    def __init__(self, package: str, members: Mapping[str, str]) -> None:
        self._package, self.members = package, dict(members)

    def __getitem__(self, name: str) -> type[T]:
        module, _, owner = self.members[name].partition(".")
        found: type[T] = getattr(import_module(f"{self._package}.{module}"), owner)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, name: object) -> bool:
        return name in self.members  # without loading it

    def by_class(self, owner: str) -> type[T]:
        """The class that is called so in Python, for `from package import Class`."""
        for name, place in self.members.items():
            if place.partition(".")[2] == owner:
                return self[name]
        raise AttributeError(f"module {self._package!r} has no attribute {owner!r}")
