"""Which configurations can train on sampled neighbourhoods."""

from collections.abc import Iterator

from hyperfact.config import ExperimentConfig, member, settings_of
from hyperfact.errors import ConfigError
from hyperfact.runs.extensions import TABLES


def refuse_unsampled(config: ExperimentConfig) -> None:
    """Say what `graph.sample` needs.

    Raises:
        ConfigError: With the setting to change.
    """
    if not config.graph.sample:
        return
    for need in _needs(config):
        raise ConfigError(f"graph.sample = {list(config.graph.sample)} {need}")


def _needs(config: ExperimentConfig) -> Iterator[str]:
    encoder = member(TABLES["encoder"], "encoder", config.encoder.name)
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    if not encoder.samples:
        able = ", ".join(name for name, kind in TABLES["encoder"].items() if kind.samples)
        yield f"is for encoders that can compute a few entities alone ({able})"
    layers = getattr(settings_of(TABLES["encoder"], "encoder", config.encoder), "layers", 0)
    if layers != len(config.graph.sample):
        yield f"needs a number for each layer, and encoder.layers = {layers}"
    negatives = config.objective.negatives
    if not (decoder.negatives if negatives is None else negatives):
        yield "needs sampled negatives (objective.negatives above 0): else all entities compete"
    if config.graph.strangers:
        yield "needs graph.strangers = 0: a role is the mean of all who have it"
    if decoder.reads_facts:
        yield f"does not go with the decoder {config.decoder.name!r}, which reads all facts"
