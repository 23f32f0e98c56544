"""How much memory a configuration needs, from sizes alone: said before anything is allocated."""

from typing import NamedTuple, Self

from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG

_CELLS = 2**25  # scores that exist at once while ranking, at most


class GraphSize(NamedTuple):
    """What there are vectors for."""

    entities: int
    mediators: int
    relations: int

    @classmethod
    def of(cls, graph: KG | HKG) -> Self:
        """Of what the encoder reads: facts themselves have no mediators."""
        mediators = 0 if isinstance(graph, HKG) else graph.num_mediators
        return cls(len(graph.entities), mediators, len(graph.relations))

    @classmethod
    def of_facts(cls, facts: HKG) -> Self:
        """Of the graph that facts will give: about a mediator for each that has qualifiers."""
        return cls(len(facts.entities), int((facts.num_qualifiers > 0).sum()), len(facts.relations))


def estimate_memory(config: ExperimentConfig, graph: GraphSize) -> int:
    """Bytes that training will need at least beside what the process has."""
    size = 8 if config.training.precision == "float64" else 4
    dim, layers = config.training.dim, config.encoder.options.get("layers", 1)
    has_graph = config.encoder.name != "lookup"
    nodes = graph.entities + (graph.mediators if has_graph else 0)
    weights = (nodes + graph.relations) * dim * size
    copies = 6 if config.training.average else 5  # weights, gradient, two moments, best, mean
    state = copies * weights
    activations = 3 * layers * nodes * dim * size if has_graph else 0
    batch = min(config.training.micro_batch, config.training.batch_size)
    scores = max(min(_CELLS, config.evaluation.batch_size * graph.entities) * size, batch * dim)
    checkpoint = (copies - 1) * weights
    return state + max(activations, checkpoint, scores)


def refuse_too_large(needed: int, limit: int | None, *, what: str) -> None:
    """Say no before the system does.

    Raises:
        UserError: With both numbers.
    """
    if limit is not None and needed > limit:
        raise UserError(
            f"{what}: about {needed / 1e9:.2f} GB of memory are needed, {limit / 1e9:.2f} GB are "
            "allowed; a smaller training.dim, batch_size or evaluation.batch_size needs less"
        )


def refuse_impossible(config: ExperimentConfig, train: HKG, limit: int | None) -> None:
    """Refuse weights that with gradients and moments alone are more than the machine has.

    Raises:
        UserError: With both numbers.
    """
    dim, names = config.training.dim, len(train.entities) + len(train.relations)
    rows = names + (dim if config.encoder.name != "lookup" else 0)  # and one matrix at least
    what = f"training.dim = {dim:,} for {names:,} names, estimated before the start"
    refuse_too_large(4 * 4 * rows * dim, limit, what=what)
