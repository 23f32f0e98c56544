"""Configurations: defaults in place, overrides, errors that name the setting."""

import tomllib
from pathlib import Path

import pytest

from hyperfact.config import ExperimentConfig, Section
from hyperfact.errors import ConfigError, UnknownNameError
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.runs.build import meanings, resolve
from hyperfact.runs.configurations import read_config
from tests.support import ROOT
from tests.support.models import PAIRS

RECIPES = sorted((ROOT / "src" / "hyperfact" / "runs" / "recipes").glob("*.toml"))


def test_every_setting_has_a_default_and_a_meaning() -> None:
    sections: list[type[Section]] = [
        *(ExperimentConfig.model_fields[n].annotation for n in ExperimentConfig.model_fields),  # type: ignore[list-item]
        *(encoder.Settings for encoder in ENCODERS.values()),
        *(decoder.Settings for decoder in DECODERS.values()),
    ]
    for section in sections:
        for name, field in section.model_fields.items():
            assert not field.is_required(), (section, name)
            assert field.description, (section, name)


@pytest.mark.parametrize(("encoder", "decoder"), PAIRS)
def test_the_effective_configuration_reads_back(encoder: str, decoder: str) -> None:
    tree = {
        "encoder": {"name": encoder},
        "decoder": {"name": decoder},
        "data": {"dataset": 'a"\\b'},
    }
    config = resolve(ExperimentConfig.from_dict(tree))
    for comments in (None, meanings(config)):
        text = config.to_toml(comments=comments)
        assert resolve(ExperimentConfig.from_toml(text)) == config
    assert set(tomllib.loads(text)["encoder"]) == {"name", *ENCODERS[encoder].Settings.model_fields}
    for line in text.splitlines():
        assert line.startswith(("#", "[")) or not line or " = " in line


def test_overrides_are_typed_and_come_last() -> None:
    text = "[training]\nepochs = 3\n"
    config = ExperimentConfig.from_toml(
        text,
        [
            "training.epochs=7",
            "data.dataset=FB-AUTO",
            'optimizer.name="adamw"',
            "encoder.alpha=0.5",
        ],
    )
    assert config.training.epochs == 7
    assert config.data.dataset == "FB-AUTO"
    assert config.optimizer.name == "adamw"
    assert config.encoder.options == {"alpha": 0.5}
    assert config.encoder.name == "compgcn"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("trainign.epochs=1", "unknown setting 'trainign'; did you mean 'training'"),
        ("training.epoch=1", "unknown setting 'training.epoch'; did you mean 'epochs'"),
        ("training.epochs=0", "'training.epochs' is wrong: .* got 0"),
        ("training.epochs=many", "'training.epochs' is wrong"),
        ("optimizer.lr=inf", "'optimizer.lr' is wrong"),
        ("optimizer.name=sgd", "'optimizer.name' is wrong"),
        ("graph.hide_targets=1.5", "'graph.hide_targets.*' is wrong"),
        ("graph.hide_targets=all", "graph.hide_targets.* is wrong"),
        ("encoder.name=compgnn", "unknown encoder 'compgnn'; did you mean 'compgcn'"),
        ("encoder.layer=2", "unknown setting 'encoder.layer'; did you mean 'layers'"),
        ("encoder.layers=5", "'encoder.layers' is wrong"),
        (
            "encoder.decomposition=block",
            "encoder.decomposition is not used by the encoder 'compgcn'",
        ),
        ("decoder.heads=2", "decoder.heads is not used by the decoder 'mdistmult'"),
        ("objective.filter_negatives=true", "'objective.filter_negatives' is unused"),
        ("nonsense", "section.key=value"),
        ("a.b.c=1", "section.key=value"),
    ],
)
def test_a_wrong_setting_is_named(change: str, message: str) -> None:
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        resolve(ExperimentConfig.from_toml("", [change]))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        (["encoder.residual=false", "encoder.gate=0.5"], "encoder.gate"),
        (["encoder.name=rgcn", "encoder.decomposition=full", "encoder.parts=7"], "encoder.parts"),
        (["objective.negatives=5", "objective.mask_others=true"], "objective.mask_others"),
        (["graph.transformation=plain", "graph.mode=literal"], "graph.mode"),
        (["graph.unseen=own", "graph.strangers=0.1"], "graph.strangers"),
        (["training.validate_every=0", "training.patience=3"], "training.patience"),
    ],
)
def test_settings_without_effect_are_refused(changes: list[str], name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}' is unused"):
        resolve(ExperimentConfig.from_toml("", changes))


def test_patience_needs_facts_to_choose_by() -> None:
    with pytest.raises(ConfigError, match=r"train\+valid"):
        resolve(
            ExperimentConfig.from_toml("", ["data.train_on=train+valid", "training.patience=1"])
        )


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[training]\nepochz = 3\n")
    with pytest.raises(ConfigError, match=r"c.toml: unknown setting 'training.epochz'"):
        read_config(path)
    path.write_text("[training\n")
    with pytest.raises(ConfigError, match=r"c.toml: the configuration is not TOML"):
        read_config(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "absent.toml")


def test_sections_are_frozen() -> None:
    config = ExperimentConfig()
    with pytest.raises(ValueError, match="frozen"):
        config.training.epochs = 3


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_recipes_are_complete_and_valid(path: Path) -> None:
    config = resolve(read_config(path))
    assert config.data.dataset
    written = tomllib.loads(path.read_text())
    assert set(written) <= set(ExperimentConfig.model_fields)


def test_the_reference_page_has_every_setting_with_its_meaning() -> None:
    page = (ROOT / "docs" / "reference" / "config.md").read_text()
    parts = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    found = {f"`[{n}]`": f.annotation for n, f in ExperimentConfig.model_fields.items()}
    for section, table in (("encoder", ENCODERS), ("decoder", DECODERS)):
        found |= {f'`[{section}]` with `name = "{n}"`': m.Settings for n, m in table.items()}
    assert parts.keys() >= found.keys()
    for heading, settings in found.items():
        for name, field in settings.model_fields.items():  # type: ignore[union-attr]
            assert f"| `{name}` | " in parts[heading], (heading, name)
            assert f"| {field.description} |" in parts[heading], (heading, name)
