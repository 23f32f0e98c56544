"""RDF, Wikidata, KGTK, HIF and tables under noise, and wrong files through the command line."""

import json
import random
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.data import load, write
from hyperfact.data.formats import FORMATS
from hyperfact.errors import DataError, FormatError
from tests.support.memory import read_or_refuse
from tests.unit.data import (
    test_hif,
    test_kgtk,
    test_rdf,
    test_rdf_malformed,
    test_table,
    test_wikidata,
)

LINES = (
    test_rdf.GOOD
    + f"_:b {test_rdf.REIFIES} <<( <x:s> <x:r> <x:o> )>> .\n"
    + '_:b <x:a> "v"@en .\n_:b <x:a> "5"^^<x:int> .\n'
)
SEEDS = {
    "ntriples": LINES,
    "nquads": LINES + "<x:s> <x:r> <x:o> <x:g> .\n",
    "turtle": test_rdf.SAMPLE,
    "trig": "PREFIX : <x:>\n:g { :s :r :o {| :a :v |} . }\n:s :q [ :p 5 ] .\n",
    "wikidata": f"{json.dumps(test_wikidata.WRITER)}\n" * 2,
    "kgtk": test_kgtk.SAMPLE,
    "table": test_table.SAMPLE,
    "hif": test_hif.document_lines(*test_hif.GOOD, *test_hif.OTHER),
}
BITS = ["\t", "\n", "\r", '"', "<", ">", "<<(", ")>>", "{|", "|}", "~", "_:", "\\u", "\\", "{", "}",
        "[", "]", ":", ",", ".", ";", "\0", "null", "-1", "1e999", "@", "^^", "#"]  # fmt: skip


def _fuzz(name: str, cases: int) -> None:
    rng, good = random.Random(name), SEEDS[name].encode()
    assert not isinstance(read_or_refuse(name, good), DataError)
    for _ in range(cases):
        data = bytearray(good)
        for _ in range(rng.randint(1, 5)):
            at, change = rng.randrange(len(data) + 1), rng.randrange(4)
            if change == 0:
                data[at:at] = rng.choice(BITS).encode()
            elif change == 1:
                del data[at : at + rng.randint(1, 5)]
            elif change == 2:
                data[at : at + 1] = bytes([rng.randrange(256)])
            else:
                data[at:at] = data[: rng.randrange(len(data) + 1)][-200:]
        found = read_or_refuse(name, bytes(data))  # anything but a DataError fails the test
        if isinstance(found, FormatError):
            assert found.line is not None
            assert 1 <= found.line <= data.count(b"\n") + 1


@pytest.mark.parametrize("name", SEEDS)
def test_noise_gives_data_errors_only(name: str) -> None:
    _fuzz(name, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_much_noise_gives_data_errors_only(name: str) -> None:
    _fuzz(name, 20_000)


WRONG = {
    "ntriples": [test_rdf.GOOD + line for line in test_rdf_malformed.WRONG_LINES],
    "turtle": [test_rdf_malformed.PREFIX + text for text in test_rdf_malformed.WRONG_TURTLE],
    "kgtk": [f"{test_kgtk.HEADER}{line}\n" for line in test_kgtk.WRONG_LINES[:40]],
    "wikidata": ['{"id": 5}', '{"id": "Q1", "claims": 5}', "[\n5\n]", '{"entities": 5}', "x", "{"],
    "table": [f"{test_table.SAMPLE}{line}\n" for line in test_table.WRONG_LINES],
    "hif": ["{}", "x", '{"incidences": 5}', '{"incidences": [{"edge": 1, "node": 2}]}'],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_end_the_command_with_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = tmp_path / "wrong.txt", tmp_path / "out.jsonl"
    for text in WRONG[name]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as stop:
            main(["convert", str(path), str(target), "--from", name])
        out = capsys.readouterr()
        assert stop.value.code == 2, text
        assert out.err.startswith(f"error: {path}:")
        assert out.err.count("\n") == 1, out.err
        assert out.out == ""
        assert not target.exists()


def test_a_graph_goes_through_all_of_them_unharmed(tmp_path: Path) -> None:
    """Wikidata's values survive a tour: every format here has a place for every one of them."""
    source = tmp_path / "start.json"
    source.write_text(json.dumps(test_wikidata.WRITER))
    graph = load(source).train
    for name in ("turtle", "kgtk", "hif", "nquads", "ntriples", "trig", "wikidata", "jsonl"):
        path = tmp_path / f"stop{FORMATS[name].suffix}"
        write(load(source).train, path, format=name)
        source = path
        assert load(path).train == graph, name
