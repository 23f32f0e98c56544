"""The sections of a configuration: everything that decides a run.

A setting is declared once, with its default and its meaning, in the section of what it configures.
Encoders and decoders declare their own settings beside their code; here they are a name and options
until `assembly` looks the name up in a table.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from hyperfact.config.settings import Component, Section


class EncoderChoice(Component):
    """Which encoder, with its options."""

    name: str = Field(default="compgcn", description="name in the table of encoders")


class DecoderChoice(Component):
    """Which decoder, with its options."""

    name: str = Field(default="mdistmult", description="name in the table of decoders")


class DataConfig(Section):
    """Which facts."""

    dataset: str = Field(default="", description="benchmark or bundled name, a file, or a folder")
    data_dir: str | None = Field(
        default=None, description="where benchmarks lie; default: HYPERFACT_DATA"
    )
    format: str | None = Field(default=None, description="format of the files; default: recognised")
    columns: str | None = Field(
        default=None, description='of a table: "subject=…, relation=…, object=…"; default: known'
    )
    literals: Literal["keep", "drop", "error"] = Field(
        default="keep", description="what to do with values that are not entities"
    )
    train_on: Literal["train", "train+valid"] = Field(
        default="train", description="facts to learn from; train+valid leaves nothing to choose by"
    )
    facts_held: int = Field(
        default=0,
        ge=0,
        description="training facts that memory holds at once, read from a dataset in parts as "
        "training goes on; 0: all",
    )


class GraphConfig(Section):
    """From facts to the encoder's graph."""

    transformation: str = Field(
        default="equivalent", description="name in the table of transformations"
    )
    mode: Literal["compact", "literal", "paper-text"] = Field(
        default="compact", description="which facts get a mediator (equivalent transformation)"
    )
    hide_targets: Literal["none", "batch"] | float = Field(
        default="none",
        description="facts hidden from the encoder while training: none, those of the batch, "
        "or a share of all, drawn anew each epoch",
    )
    sample: tuple[int, ...] = Field(
        default=(),
        description="edges that a node hears while training, drawn anew in each step: so many of "
        "each entity that a batch names, then of each that these hear, and so on, a number for "
        "each layer; []: all edges of the graph",
    )
    unseen: Literal["role", "mean", "own"] = Field(
        default="role",
        description="what stands for entities that no training fact names: the mean of who is seen "
        "in the same role, the mean of all, or their own vector",
    )
    strangers: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="share of known entities that training takes for unseen ones (unseen = role)",
    )

    @field_validator("hide_targets")
    @classmethod
    def _is_share(cls, value: str | float) -> str | float:
        if isinstance(value, float) and not 0.0 < value < 1.0:
            raise ValueError("a share lies between 0 and 1")
        return value

    @field_validator("sample")
    @classmethod
    def _is_positive(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 1 for size in value):
            raise ValueError("expected numbers of edges of 1 and more, such as [10, 5]")
        return value

    def unused(self) -> Mapping[str, str]:
        """Only the equivalent transformation has modes; only roles stand for strangers."""
        found = {}
        if self.transformation != "equivalent":
            found["mode"] = "transformation equivalent"
        if self.unseen != "role":
            found["strangers"] = "unseen = role"
        return found


class ObjectiveConfig(Section):
    """What is minimised."""

    joint: bool = Field(
        default=False,
        description="one softmax over a fact and the corruptions of all its slots (equation 1 of "
        "the paper); false: one softmax for each slot",
    )
    negatives: int | None = Field(
        default=None,
        ge=0,
        description="corruptions of each slot; 0: every entity is a candidate. By default what "
        "the decoder wants: 0 where all scores are one product, else a number",
    )
    filter_negatives: bool = Field(
        default=False, description="redraw sampled negatives that are known facts (negatives > 0)"
    )
    adversarial: float = Field(
        default=0.0,
        ge=0.0,
        description="above 0: each sampled negative is judged alone, and weighs by a softmax of "
        "this times its score; 0: one softmax with the answer (negatives > 0)",
    )
    label_smoothing: float = Field(
        default=0.0, ge=0.0, lt=1.0, description="probability spread evenly over all candidates"
    )
    mask_others: bool = Field(
        default=False, description="keep other known answers out of the denominator (negatives = 0)"
    )
    share: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description="of the entities that compete, drawn anew for each micro-batch; all answers of "
        "a micro-batch do (negatives = 0)",
    )
    partial: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="share of the queries that are asked with some of their qualifiers left out, "
        "drawn anew in each step: half of them with all left out, half with each by chance",
    )
    cubes: float = Field(
        default=0.0,
        ge=0.0,
        description="N3: this times the sum of the cubes of all coordinates (without signs) of its "
        "fact is added to the loss of a query (negatives = 0)",
    )
    weigh_by: Literal["facts", "queries"] = Field(
        default="facts",
        description="what counts once: each fact, or each distinct query (negatives = 0)",
    )

    def unused(self) -> Mapping[str, str]:
        """Some settings are for sampled negatives only, some for all entities, slot by slot."""
        needs = ["negatives = 0"] * bool(self.negatives) + ["joint = false"] * self.joint
        names = ("mask_others", "share", "weigh_by", "cubes") if needs else ()
        found = dict.fromkeys(names, " and ".join(needs))
        if self.joint:
            found |= dict.fromkeys(("label_smoothing", "partial", "adversarial"), "joint = false")
        if self.adversarial:
            found["label_smoothing"] = "adversarial = 0"
        if self.negatives == 0:
            found |= dict.fromkeys(("filter_negatives", "adversarial"), "negatives > 0")
        return found


class OptimizerConfig(Section):
    """How it is minimised."""

    name: Literal["adam", "adamw"] = Field(default="adam", description="update rule")
    lr: float = Field(default=0.005, gt=0.0, description="learning rate of the first epoch")
    lr_decay: float = Field(
        default=0.995, gt=0.0, le=1.0, description="factor on lr after each epoch"
    )
    warmup_epochs: float = Field(default=0.0, ge=0.0, description="epochs of rise from 0 to lr")
    weight_decay: float = Field(
        default=0.0, ge=0.0, description="L2 penalty (adam), decoupled (adamw)"
    )
    clip_norm: float = Field(default=0.0, ge=0.0, description="largest gradient norm; 0: any")


class TrainingConfig(Section):
    """How long, how much at once, and with what chance."""

    dim: int = Field(default=200, ge=1, description="dimension d of all representations")
    epochs: int = Field(default=60, ge=1, description="passes over the training queries, at most")
    batch_size: int = Field(default=256, ge=1, description="queries in one step, or facts (joint)")
    micro_batch: int = Field(
        default=1024,
        ge=1,
        description="of these scored at once; limits memory, changes only what is drawn at random",
    )
    seed: int = Field(
        default=0, ge=0, description="of initial values, order, dropout and negatives"
    )
    precision: Literal["auto", "float32", "bfloat16", "float64"] = Field(
        default="auto",
        description="auto: bfloat16 products where the processor has them, else float32",
    )
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|cuda(:\d{1,3})?|mps)$",
        description="where numbers are computed: cpu, cuda, cuda:1, mps; auto: CUDA if there is "
        "one, else the CPU",
    )
    compile: bool = Field(
        default=False,
        description="let torch.compile fuse what the decoder computes in a step of training; it "
        "needs a C++ compiler and minutes at the start",
    )
    average: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="judge and keep a moving mean of the weights, of which this share stays after "
        "each step, such as 0.99; 0: the weights themselves",
    )
    validate_every: int = Field(default=5, ge=0, description="epochs between validations; 0: never")
    validate_facts: int = Field(default=0, ge=0, description="validate on so many facts; 0: on all")
    patience: int = Field(
        default=0, ge=0, description="stop after so many validations without a better MRR; 0: never"
    )

    def unused(self) -> Mapping[str, str]:
        """Without validation there is nothing to stop by."""
        needs = "validate_every > 0"
        return {} if self.validate_every else {"patience": needs, "validate_facts": needs}


class EvaluationConfig(Section):
    """How answers are ranked."""

    ties: Literal["realistic", "optimistic", "pessimistic"] = Field(
        default="realistic", description="rank of an answer among entities of equal score"
    )
    slots: Literal["all", "so", "subject", "object", "value"] = Field(
        default="all", description="slots to ask: all, so for subject and object, or one kind"
    )
    filter: Literal["exact", "ignore-qualifiers", "train+valid", "train-only", "none"] = Field(
        default="exact",
        description="which other known answers do not compete; exact is train+valid for valid",
    )
    candidates: Literal["all", "seen-so", "support"] = Field(
        default="all",
        description="who competes: all entities, those seen as subject or object, or those that "
        "support facts name",
    )
    given: Literal["all", "half", "none"] = Field(
        default="all", description="how many qualifiers beside the asked slot questions give"
    )
    unseen: Literal["keep", "skip"] = Field(
        default="keep", description="facts with an entity that training never shows: ask or skip"
    )
    batch_size: int = Field(default=1024, ge=1, description="queries scored at once")
    chunk: int = Field(
        default=65280, ge=1, description="candidates scored by one call; limits memory"
    )


class CheckpointConfig(Section):
    """When the state of a training is stored; it decides no result."""

    every_seconds: float = Field(
        default=60.0,
        ge=0.0,
        description="seconds between checkpoints inside an epoch; 0: after each step",
    )
    budget: float = Field(
        default=0.02,
        gt=0.0,
        le=1.0,
        description="share of the time that checkpoints may take; 1: no limit",
    )
    keep: bool = Field(default=False, description="keep the last two when the run is finished")
