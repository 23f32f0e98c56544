import json
from pathlib import Path

import pytest

from hyperfact.errors import ConfigError
from hyperfact.runs.build import resolve
from hyperfact.runs.configurations import read_config, recipes
from hyperfact.runs.provenance import fingerprint

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = ROOT / "examples" / "configs"


def test_every_recipe_has_a_stored_result() -> None:
    """A recipe is the configuration of a result that we report, by its hash; else it goes."""
    cells = [json.loads(path.read_text()) for path in ROOT.glob("results/*/cells/*.json")]
    stored = {cell["fingerprint"] for cell in cells if cell["test"] is not None}
    missing = {name for name in recipes() if fingerprint(read_config(Path(name))) not in stored}
    assert not missing


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_is_found_by_its_name(name: str) -> None:
    assert resolve(read_config(Path(name), ["training.dim=8"])).training.dim == 8


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda p: p.stem)
def test_an_example_is_a_whole_configuration(path: Path) -> None:
    """Settings that have no stored result yet; once they have one they become a recipe."""
    assert path.stem not in recipes()
    assert resolve(read_config(path, ["training.dim=8"])).training.dim == 8


def test_a_wrong_name_is_answered_with_the_nearest_recipe() -> None:
    with pytest.raises(ConfigError, match="did you mean the recipe 'jf17k_compgcn_mdistmult'"):
        read_config(Path("jf17k_compgcn_mdistmlt"))


def test_a_file_goes_before_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = next(iter(recipes()))
    Path(name).write_text("[training]\ndim = 7\n")
    assert read_config(Path(name)).training.dim == 7
