"""A model with the support facts of its dataset: shown when questions are asked, never in training.

Inductive benchmarks ask about entities that training has not seen, and give some facts of them. The
facts join the graph of the model, and no weight changes.
"""

from collections.abc import Sequence

from hyperfact.config import ExperimentConfig
from hyperfact.graph.hkg import Splits
from hyperfact.graph.joining import SUPPORT, join_graph
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import training_facts
from hyperfact.runs.enlarge import enlarged


def supported(model: TransEQ, configs: Sequence[ExperimentConfig], splits: Splits) -> TransEQ:
    """The model over its facts and the support facts; itself where there are none.

    Args:
        model: Of the training facts, and of those that were added.
        configs: Its configuration; of an ensemble those of its members.
        splits: The facts.
    """
    facts = splits.get(SUPPORT)
    if facts is None or not len(facts):
        return model
    joined = join_graph(training_facts(configs[0], splits), facts)
    return enlarged(model, configs, joined)
