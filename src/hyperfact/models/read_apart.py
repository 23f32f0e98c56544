"""The queries of a batch, of which each process of a team reads some facts and hears the rest.

Padded facts are large and their queries small: a vector each. So processes that divide a model
divide the reading of a batch as well, and exchange what comes of it.
"""

from collections.abc import Callable

from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import LinearForm
from hyperfact.models.shard import Shard

Reading = Callable[[FactBatch, Tensor], LinearForm | None]


def read_apart(
    read: Reading, facts: FactBatch, slots: Tensor, shard: Shard | None
) -> LinearForm | None:
    """What `read` gives for all facts, each shard reading its own range of them.

    Args:
        read: The linear form of some facts and their asked slots, the same in the whole batch.
        facts: The batch, the same in all shards.
        slots: The asked slot of each fact.  # (batch,)
        shard: Which range is read here; None: all is.
    """
    if shard is None:
        return read(facts, slots)
    count = len(facts)
    own = shard.rows(count)
    form = read(facts.rows(own), slots[own])
    if form is None:
        return None
    constant = None if form.constant is None else shard.whole(form.constant, count)
    return form._replace(queries=shard.whole(form.queries, count), constant=constant)
