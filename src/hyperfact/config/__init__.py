"""Settings: frozen sections, checked, read from and written to TOML.

`settings` is the machinery, the others say what can be set; it may use what stands before it.

Order: settings, evidence_section, sections, experiment_config.
"""

from hyperfact.config.evidence_section import EvidenceConfig
from hyperfact.config.experiment_config import ExperimentConfig
from hyperfact.config.sections import (
    CheckpointConfig,
    DataConfig,
    DecoderChoice,
    EncoderChoice,
    EvaluationConfig,
    GraphConfig,
    ObjectiveConfig,
    OptimizerConfig,
    TrainingConfig,
)
from hyperfact.config.settings import (
    Component,
    HasSettings,
    Section,
    member,
    refuse_unused,
    settings_of,
)

__all__ = [
    "CheckpointConfig",
    "Component",
    "DataConfig",
    "DecoderChoice",
    "EncoderChoice",
    "EvaluationConfig",
    "EvidenceConfig",
    "ExperimentConfig",
    "GraphConfig",
    "HasSettings",
    "ObjectiveConfig",
    "OptimizerConfig",
    "Section",
    "TrainingConfig",
    "member",
    "refuse_unused",
    "settings_of",
]
