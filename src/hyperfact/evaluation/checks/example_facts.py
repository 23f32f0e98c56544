"""A few facts that show every shape a model must cope with."""

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG


def example_facts() -> HKG:
    """Arities 2 to 5, a repeated attribute, a repeated entity, twins and a lonely entity."""
    facts = [
        Fact("a", "r", "b"),
        Fact("a", "r", "b", (("p", "c"),)),
        Fact("a", "r", "c", (("p", "d"), ("q", "e"))),
        Fact("b", "s", "c", (("p", "d"), ("p", "e"))),
        Fact("c", "s", "c", (("q", "a"), ("p", "a"), ("u", "f"))),
        Fact("f", "t", "a"),
        Fact("d", "t", "e", (("u", "b"),)),
    ]
    return HKG.from_facts(facts, entities="abcdefg")
