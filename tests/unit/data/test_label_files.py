"""Labels in files: what is read, and what a dataset finds beside itself."""

from pathlib import Path

import pytest

from hyperfact import load, write
from hyperfact.data import read
from hyperfact.data.label_files import label_lines, parse_labels, read_labels
from hyperfact.errors import FormatError
from hyperfact.graph.label_texts import LabelTexts

FACTS = '{"subject": "Q42", "relation": "P69", "object": "Q691283"}\n'
ADAMS = {"Q42": "Douglas Adams", "P69": "educated at"}
TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:a ex:knows ex:b .
ex:a rdfs:label "Anne"@fr, "Ann"@en .
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.tsv", "Q42\tDouglas Adams\nP69\teducated at\n"),
        ("l.tsv", "id\tlabel\nQ42\tDouglas Adams\n\nP69\teducated at\n"),
        ("l.csv", 'Q42,"Douglas Adams"\nP69,educated at\n'),
        ("l.csv", "item;description;itemLabel\nQ42;x;Douglas Adams\nP69;y;educated at\n"),
        (
            "l.tsv",
            '?item\t?itemLabel\n<http://www.wikidata.org/entity/Q42>\t"Douglas Adams"@en\n'
            '<http://www.wikidata.org/entity/P69>\t"educated at"@en\n',
        ),
        ("l.json", '{"Q42": "Douglas Adams", "P69": {"de": "Schule", "en": "educated at"}}'),
        ("l.json", '[["Q42", "Douglas Adams"], {"id": "P69", "label": "educated at"}]'),
        ("l.jsonl", '{"id": "Q42", "label": "Douglas Adams"}\n{"P69": "educated at"}\n'),
        ("l.jsonl", '["Q42", "Douglas Adams"]\n["P69", "educated at"]\n'),
    ],
)
def test_labels_are_read_from_tables_and_json(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_labels(path).texts == ADAMS


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [("l.tsv", "Q42\tx\nQ43\n", 2), ("l.csv", "Q42\n", 1), ("l.jsonl", '{"a": "b"}\n3\n', 2)],
)
def test_a_line_without_a_label_is_named(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=f"{name}:{line}: "):
        read_labels(path)


def test_what_is_written_is_read_back() -> None:
    labels = LabelTexts.of(
        [
            ("a\tb", 'say "x"'),
            ('"q"', "\x1b[1m"),
            ("<i>", '"quoted"'),
            ("n\nm", "\ud800"),
            ("é", "ü"),
        ],
        {"ex": "http://example.org/", "": "http://e.org/"},
    )
    assert parse_labels(Path("x"), "\n".join(label_lines(labels))) == labels


def test_a_folder_and_a_file_have_labels_beside(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(FACTS)
    (tmp_path / "labels.tsv").write_text("Q42\tDouglas Adams\nQ7\tnobody here\n")
    (tmp_path / "relation2label.txt").write_text("P69\teducated at\n")
    (tmp_path / "train.labels.tsv").write_text("Q42\tAdams\n")
    assert load(tmp_path / "train.jsonl").label_texts.texts == {"Q42": "Adams"}
    (tmp_path / "train.labels.tsv").unlink()
    assert load(tmp_path).label_texts.texts == ADAMS


def test_a_file_that_only_sounds_like_labels_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(FACTS)
    (tmp_path / "node_labels.txt").write_text("3\n4\n")
    splits, report = read(tmp_path)
    assert not splits.label_texts
    assert any("not read as labels" in line for line in report.guesses)


@pytest.mark.parametrize("literals", ["keep", "drop"])
def test_rdf_brings_labels_and_prefixes_along(tmp_path: Path, literals: str) -> None:
    pytest.importorskip("pyoxigraph")
    (tmp_path / "a.ttl").write_text(TURTLE)
    found = load(tmp_path / "a.ttl", literals=literals)
    assert [found.labels.show(f"http://example.org/{x}") for x in "ab"] == ["Ann", "ex:b"]
    files = write(found, tmp_path / "facts.jsonl")
    assert [file.name for file in files] == ["facts.jsonl", "facts.labels.tsv"]
    again = load(tmp_path / "facts.jsonl")
    assert again.label_texts == found.label_texts
    write(found, tmp_path / "folder", format="parquet")
    assert load(tmp_path / "folder").label_texts == found.label_texts


def test_wikidata_brings_labels_along(tmp_path: Path) -> None:
    snak = (
        '{"snaktype": "value", "property": "P69", "datavalue": {"type": "wikibase-entityid", '
        '"value": {"id": "Q691283", "entity-type": "item"}}}'
    )
    lines = [
        '{"type": "item", "id": "Q42", "labels": {"de": {"value": "Adams"}, '
        '"en": {"value": "Douglas Adams"}}, "claims": {"P69": [{"mainsnak": ' + snak + "}]}}",
        '{"type": "property", "id": "P69", "labels": {"en": {"value": "educated at"}}}',
        '{"type": "item", "id": "Q5", "labels": []}',
    ]
    (tmp_path / "w.json").write_text("\n".join(lines) + "\n")
    assert load(tmp_path / "w.json").label_texts.texts == ADAMS
