"""hyperfact models: every encoder and decoder with what it is, costs, can do and has reached."""

import json

import pytest

from hyperfact.cli import main
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS
from hyperfact.runs.configurations import recipes
from tools.figures import FIGURES, figures


def test_every_model_is_listed_with_its_card(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {(r["kind"], r["name"]) for r in rows} >= {
        *(("decoder", name) for name in DECODERS),
        *(("encoder", name) for name in ENCODERS),
    }
    for row in (row for row in rows if row["name"] in {*DECODERS, *ENCODERS}):
        assert all(row[part] for part in ("title", "reference", "cost", "qualifiers")), row["name"]
        assert 2010 <= row["year"] <= 2030


def test_every_system_is_listed_with_its_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "system", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["recipe"] for row in rows} == {n for n in recipes() if not n.endswith("_paper")}
    ram = next(row for row in rows if row["name"] == "RAM")
    assert (ram["encoder"], ram["decoder"], ram["published"]) == ("lookup", "ram", 0.830)


def test_the_stored_figures_are_current() -> None:
    assert FIGURES.read_text(encoding="utf-8") == figures(), "run: python -m tools.figures"
