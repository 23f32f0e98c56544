"""The model card of a run: what it is, how well it does by which protocol, and its limits."""

from collections.abc import Mapping
from typing import Any

from hyperfact.predict.predictor import Predictor

_METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


def model_card(predictor: Predictor) -> str:
    """Markdown, with the header that model hubs read."""
    config = predictor.config
    metrics = {} if predictor.stored is None else predictor.stored.metrics
    name = _plain(predictor.splits.name)
    parts = [
        "---\nlibrary_name: hyperfact\ntags:\n- knowledge-graph-completion\n"
        "- hyper-relational\n---",
        f"# {config.encoder.name} + {config.decoder.name} on {name}",
        "Fills the blank of a hyper-relational fact: a primary triple (subject, relation, object) "
        "with any number of qualifiers (attribute = value).",
        "## Results",
        _results(metrics),
        _protocol(metrics),
        "## Data",
        _data(predictor),
        "## Model",
        _model(predictor, metrics),
        "## Probabilities",
        _calibration(predictor),
        "## Use",
        "```python\nfrom hyperfact.predict import Predictor\n\n"
        'predictor = Predictor.load("this folder")\n'
        'print(predictor.ask("subject | relation | ? | attribute = value"))\n```',
        "## Limits",
        "Answers come from patterns in the training facts, with their gaps and biases; a high "
        "probability is not evidence. Only names of the vocabulary can be asked for or answered.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _results(metrics: Mapping[str, Any]) -> str:
    splits = [s for s in ("valid", "test") if isinstance(metrics.get(s), Mapping)]
    if not splits:
        return "This run was not evaluated."
    head = (
        "| split | MRR | Hits@1 | Hits@3 | Hits@10 | ranks |\n| --- | --- | --- | --- | --- | --- |"
    )
    rows = [
        f"| {split} | "
        + " | ".join(f"{metrics[split][key]:.3f}" for key in _METRICS)
        + f" | {metrics[split]['ranks']:,} |"
        for split in splits
    ]
    return "\n".join([head, *rows])


def _protocol(metrics: Mapping[str, Any]) -> str:
    for split in ("test", "valid"):
        if isinstance(metrics.get(split), Mapping):
            policy = metrics[split].get("policy", {})
            said = ", ".join(f"{key} {_plain(value)}" for key, value in policy.items())
            return f"Protocol: {said}; {metrics[split]['candidates']:,} candidates."
    return ""


def _data(predictor: Predictor) -> str:
    sizes = ", ".join(f"{name} {len(part):,}" for name, part in predictor.splits.items())
    return (
        f"{_plain(predictor.splits.name)}: {sizes} facts; {len(predictor.entities):,} entities, "
        f"{len(predictor.relations):,} relations. Trained on {predictor.config.data.train_on}."
    )


def _model(predictor: Predictor, metrics: Mapping[str, Any]) -> str:
    config, count = predictor.config, metrics.get("parameters")
    parameters = "" if count is None else f", {count:,} parameters"
    chosen = "" if "chosen_by" not in metrics else f" Chosen by {metrics['chosen_by']}."
    reads_facts = predictor.model.encoder.reads == "facts"
    graph = "No transformation" if reads_facts else f"Transformation {config.graph.transformation}"
    return (
        f"{graph}, encoder {config.encoder.name}, decoder "
        f"{config.decoder.name}, {config.training.dim} dimensions{parameters}, seed "
        f"{config.training.seed}.{chosen} All settings: `config.toml`."
    )


def _calibration(predictor: Predictor) -> str:
    fitted = predictor.calibration()
    if fitted is None:
        return "Not calibrated: there were too few validation facts. Probabilities are a softmax."
    return (
        f"A softmax of scores divided by {fitted.temperature:.3f}, of which a doubt of "
        f"{fitted.doubt:.3f} is spread evenly; both fitted on half of "
        f"{fitted.queries:,} validation queries. On the other half the expected calibration error "
        f"is {fitted.ece_after:.3f} ({fitted.ece_before:.3f} without), the negative log-likelihood "
        f"{fitted.nll_after:.3f} ({fitted.nll_before:.3f} without)."
    )


def _plain(value: object) -> str:
    """Text that neither breaks a line nor a table, nor becomes markup."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
