"""ExperimentConfig: all sections of a run, read from TOML and written to it."""

import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

from hyperfact.config.evidence_section import EvidenceConfig
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
from hyperfact.config.settings import Section, override, refuse_unused, settings_lines, validate
from hyperfact.errors import ConfigError


class ExperimentConfig(Section):
    """A whole run."""

    data: DataConfig = DataConfig()
    graph: GraphConfig = GraphConfig()
    encoder: EncoderChoice = EncoderChoice()
    decoder: DecoderChoice = DecoderChoice()
    evidence: EvidenceConfig = EvidenceConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """From nested mappings, as TOML gives them.

        Raises:
            ConfigError: An unknown, wrong or unused setting, by its dotted name.
        """
        config = validate(cls, tree, "")
        for name in cls.model_fields:
            section = getattr(config, name)
            if isinstance(section, Section):
                refuse_unused(section, tree.get(name, {}), f"{name}.")
        return config

    @classmethod
    def from_toml(cls, text: str, overrides: Sequence[str] = ()) -> Self:
        """From TOML text, then dotted overrides such as `encoder.layers=2`."""
        try:
            tree = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the configuration is not TOML: {error}") from error
        for change in overrides:
            override(tree, change)
        return cls.from_dict(tree)

    def with_data_dir(self, folder: str | PathLike[str] | None) -> Self:
        """The same with benchmarks in this folder; None: where they are looked for already."""
        if folder is None:
            return self
        data = self.data.model_copy(update={"data_dir": str(folder)})
        return self.model_copy(update={"data": data})

    def to_toml(self, *, comments: Mapping[str, Mapping[str, str]] | None = None) -> str:
        """TOML text that reads back to this configuration.

        Args:
            comments: When given, the meaning of every setting is written above it: what is said
                here by section and name, else what its declaration says.
        """
        lines: list[str] = []
        for section in type(self).model_fields:
            meanings = None if comments is None else comments.get(section, {})
            lines += [f"[{section}]", *settings_lines(getattr(self, section), meanings), ""]
        return "\n".join(lines)
