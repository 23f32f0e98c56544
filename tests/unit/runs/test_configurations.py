import json
from pathlib import Path

import pytest

from hyperfact.errors import ConfigError
from hyperfact.runs.build import resolve
from hyperfact.runs.configurations import read_config, recipes
from hyperfact.runs.provenance import fingerprint

#: Recipes whose result is not stored yet.
AWAITED = {
    "fb15k_237_compgcn_conve",
    "fb15k_237_complex",
    "fb15k_237_conve",
    "fb15k_237_distmult",
    "fb15k_237_rotate",
    "fb15k_237_tucker",
    "hn_yg_hynt",
    "jf_ind_hcnet",
    "wd20k100v1_hcnet",
    "wd50k_100_hytransformer",
    "wd50k_100_stare_transformer",
    "wd50k_evidence",
    "wikipeople_3_evidence",
    "wikipeople_3_getd",
    "wikipeople_3_gran",
    "wikipeople_3_s2s",
    "wn18rr_compgcn_conve",
    "wn18rr_complex",
    "wn18rr_conve",
    "wn18rr_distmult",
    "wn18rr_rotate",
    "wn18rr_tucker",
}


def test_every_recipe_has_a_stored_result() -> None:
    """A recipe is the configuration of a result that we report, by its hash; else it goes."""
    results = Path(__file__).resolve().parents[3] / "results"
    cells = [json.loads(path.read_text()) for path in results.glob("*/cells/*.json")]
    stored = {cell["fingerprint"] for cell in cells if cell["test"] is not None}
    missing = {name for name in recipes() if fingerprint(read_config(Path(name))) not in stored}
    assert missing == AWAITED


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_is_found_by_its_name(name: str) -> None:
    assert resolve(read_config(Path(name), ["training.dim=8"])).training.dim == 8


def test_a_wrong_name_is_answered_with_the_nearest_recipe() -> None:
    with pytest.raises(ConfigError, match="did you mean the recipe 'jf17k_compgcn_mdistmult'"):
        read_config(Path("jf17k_compgcn_mdistmlt"))


def test_a_file_goes_before_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = next(iter(recipes()))
    Path(name).write_text("[training]\ndim = 7\n")
    assert read_config(Path(name)).training.dim == 7
