"""RDF 1.2: reifiers are qualified facts, names come back exactly, wrong files name their line."""

import random
from pathlib import Path

import pytest

from hyperfact.data import load, read, write
from hyperfact.data.formats import FORMATS, recognise
from hyperfact.errors import FormatError, MissingExtraError, NotWritableError
from hyperfact.graph.facts import Derived, Fact, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.graph.rdf_terms import oxigraph
from hyperfact.system.source import Source
from tests.support.graphs import nary_graph, random_graph
from tests.support.memory import MemorySource, fill, read_bytes

ALL = ["ntriples", "nquads", "turtle", "trig"]
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES = f"<{RDF}reifies>"
GOOD = "<x:s> <x:r> <x:o> .\n"

SAMPLE = """\
# A made-up career, with annotations.
@prefix : <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

:aaron :playedFor :braves {| :from "1954"^^xsd:gYear ; :position :OF, :B1 |} ;
    :bats "right"@en .
:aaron :playedFor :brewers
    ~ :stint2 {| :from "1975"^^xsd:gYear |}
    ~ :stint3 {| :position :DH |} .
:braves :home :atlanta ~ .
<< :aaron :hit :homer715 >> :date "1974-04-08"^^xsd:date .
"""


def facts(data: str, name: str = "turtle") -> set[Fact]:
    return set(read_bytes(name, data.encode()))


def ex(name: str) -> str:
    return f"http://example.org/{name}"


def test_each_reifier_is_one_fact() -> None:
    year = '"{}"^^<http://www.w3.org/2001/XMLSchema#gYear>'
    day = Literal('"1974-04-08"^^<http://www.w3.org/2001/XMLSchema#date>')
    from_, position = ex("from"), ex("position")
    braves = (
        (from_, Literal(year.format(1954))),
        (position, ex("OF")),
        (position, ex("B1")),
    )
    late = ((from_, Literal(year.format(1975))),)
    stint = ex("aaron"), ex("playedFor"), ex("brewers")
    assert facts(SAMPLE) == {
        Fact(ex("aaron"), ex("playedFor"), ex("braves"), braves),
        Fact(ex("aaron"), ex("bats"), Literal('"right"@en')),
        Fact(*stint, late),
        Fact(*stint, ((position, ex("DH")),)),
        Fact(ex("braves"), ex("home"), ex("atlanta")),
        Fact(ex("aaron"), ex("hit"), ex("homer715"), ((ex("date"), day),)),
    }


def test_an_asserted_triple_with_a_reifier_is_its_base_edge() -> None:
    base = "<x:s> <x:r> <x:o> .\n"
    reifier = f"_:b {REIFIES} <<( <x:s> <x:r> <x:o> )>> .\n"
    qualifier = "_:b <x:a> <x:v> .\n"
    bare, qualified = Fact("x:s", "x:r", "x:o"), Fact("x:s", "x:r", "x:o", (("x:a", "x:v"),))
    assert facts(base, "ntriples") == {bare}
    assert facts(reifier, "ntriples") == {bare}
    assert facts(base + reifier + qualifier, "ntriples") == {qualified}
    assert facts(qualifier + reifier, "ntriples") == {qualified}  # in any order
    twin = f"_:c {REIFIES} <<( <x:s> <x:r> <x:o> )>> .\n"
    assert facts(qualifier + reifier + base + twin, "ntriples") == {bare, qualified}


def test_standard_reification_is_read() -> None:
    text = f"""@prefix : <x:> . @prefix rdf: <{RDF}> .
:b a rdf:Statement ; rdf:subject :s ; rdf:predicate :r ; rdf:object "o" ; :a :v .
:half rdf:subject :s ; rdf:object :o .
"""
    assert facts(text) == {
        Fact("x:s", "x:r", Literal('"o"'), (("x:a", "x:v"),)),
        Fact("x:half", RDF + "subject", "x:s"),
        Fact("x:half", RDF + "object", "x:o"),
    }


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "facts.trig"
    path.write_text(
        "PREFIX : <x:>\n:g { :s :r :o {| :a :v |} . :s :r :p }\n"
        "<< :s :r :q ~ :id >> :a :v .\n:t :r :id ."
    )
    splits, report = read(path)
    assert len(splits.train) == 4
    text = "\n".join(report.warnings)
    assert "4 triples stand in a named graph" in text
    assert "1 reified triples are not asserted" in text
    assert "1 triples point at a reifier" in text
    write(splits, tmp_path / "again.nt")
    assert read(tmp_path / "again.nt")[1].warnings == ()


def test_nodes_without_a_label_are_numbered_across_files(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.ttl").write_text("<x:s> <x:r> [ <x:p> 5 ], _:named .\n")
    first, second = load(tmp_path), load(tmp_path)
    assert first["test"] == second["test"]
    blanks = [
        [n for n in {f.object for f in part} if n.startswith("_:[")] for part in first.values()
    ]
    assert [len(b) for b in blanks] == [1, 1]
    assert blanks[0] != blanks[1]
    assert "_:named" in first.entities


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('"3"', '"3"'),
        ('"chat"@fr', '"chat"@fr'),
        ('"a"@ar--rtl', '"a"@ar--rtl'),
        ('"3.73"^^<x:km2>', '"3.73"^^<x:km2>'),
        (r'"tab\there \"q\" \\ \u00e9"', '"tab\there \\"q\\" \\\\ é"'),
        (r'"two\nlines\r"', r'"two\nlines\r"'),
        ('"s"^^<http://www.w3.org/2001/XMLSchema#string>', '"s"'),
        ('"+7.07"^^<urn:hyperfact:literal>', "+7.07"),
    ],
)
def test_literals_keep_their_form(written: str, text: str) -> None:
    for name in ALL:
        assert facts(f"<x:s> <x:r> {written} .", name) == {Fact("x:s", "x:r", Literal(text))}


NAMES = [
    "", " ", "a b", "\u00a0", "tab\t", "line\nfeed", "cr\r", "\u2028", ",", '"', "'", "\\", "#",
    "%", "%41", "\ufeff", "\u202e", "é", "e\u0301", "x" * 1000, "nan", "a:b", "_:b0", "_:fact0",
    "_:0123456789abcdef0123456789abcdef", "_:a.b", "http://x/<y>", "mailto:x", "\0", "𝔘", "{", "|}",
    "urn:hyperfact:name:x", "urn:hyperfact:literal:x", "urn:hyperfact:derived:x", "urn:hyperfact:",
    "urn:hyperfact:literal", RDF + "reifies", RDF + "subject", RDF + "predicate", RDF + "object",
    RDF + "type", RDF + "Statement", "<<(", "http://example.org/%zz", "x:\ue000", "a", "GRAPH",
]  # fmt: skip
LITERALS = [
    "", "+7.07", '"x"', '"x"@fr', '"x"@FR', '"x"@toolongtag', '"x"@ar--rtl', '"x"@ar--RTL',
    '"x"^^<km2>', '"x"^^<http://x/y>', '"x"^^xsd:string', '"un"closed', '"', '"a\\tb"',
    '"a\\u0041b"', '"a\nb"', '"a\\nb"', "<<(" * 99, '"' + "<<(" * 99 + '"', "\0", "\ufffe",
    f'"x"^^<{RDF}langString>', '"x"^^<urn:hyperfact:literal>', "urn:hyperfact:literal:x",
]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_every_name_comes_back_in_every_place(name: str, tmp_path: Path) -> None:
    entities = [*NAMES, *map(Literal, LITERALS)]
    relations = [*NAMES, Derived("r_so"), Derived("urn:hyperfact:derived:_1")]
    rng = random.Random(5)
    rows = [Fact(e, r, rng.choice(entities)) for e in entities for r in relations]
    rows += [
        Fact(e, rng.choice(relations), e, ((rng.choice(relations), v), (r, e)))
        for e, v in zip(entities, reversed(entities), strict=True)
        for r in rng.sample(relations, 3)
    ]
    rows += [Fact(*fact.primary) for fact in rows[::3]]
    graph = HKG.from_facts(rows)
    path = tmp_path / f"facts{FORMATS[name].suffix}"
    write(graph, path)
    back = load(path).train
    assert back == graph
    assert [type(r) for r in back.relations] == [type(r) for r in graph.relations]
    assert recognise(Source(path)).name == name


@pytest.mark.parametrize("name", ALL)
def test_random_graphs_come_back(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    path = tmp_path / f"facts{FORMATS[name].suffix}.gz"
    for _ in range(40):
        for graph in (random_graph(rng).compact(), nary_graph(rng).compact()):
            write(graph, path)
            assert load(path, format=name).train == graph


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    for bad in ("\ud800", Literal("\udfff")):
        with pytest.raises(NotWritableError, match="surrogate"):
            write(HKG.from_facts([Fact("a", "r", bad)]), tmp_path / "facts.nt")


def test_a_missing_parser_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    with pytest.raises(MissingExtraError, match=r"hyperfact\[rdf\]"):
        oxigraph()


def test_literals_can_be_dropped_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    reified = f'_:b {REIFIES} <<( <x:s> <x:r> "y" )>> .\n'
    path.write_text(
        GOOD
        + '<x:s> <x:r> "x" .\n<x:s> <x:r> "y" .\n'
        + reified
        + "_:b <x:a> 'v' .\n".replace("'", '"')
    )
    splits, report = read(path, literals="drop")
    assert [str(f) for f in splits.train] == ["x:s | x:r | x:o"]
    assert (report.dropped_facts, report.dropped_qualifiers) == (2, 1)
    for suffix, line in ((".nt", 2), (".ttl", 2)):
        target = tmp_path / f"b{suffix}"
        target.write_bytes(path.read_bytes())
        with pytest.raises(FormatError, match=f":{line}: the literal"):
            read(target, literals="error")


def test_recognition_takes_no_foreign_file() -> None:
    def found(text: str, file: str = "facts.txt") -> str:
        return recognise(MemorySource(Path(file), text.encode())).name

    assert found(GOOD) == "ntriples"
    assert found('VERSION "1.2"\n' + GOOD) == "ntriples"
    assert found("<x:s> <x:r> <x:o> <x:g> .\n") == "nquads"
    assert found(GOOD, "facts.nq.gz") == "nquads"
    assert found(SAMPLE) == "turtle"
    assert found("PREFIX : <x:>\n:g { :s :r :o }\n") == "trig"
    assert found("<x:s> <x:r> <x:o> ;\n  <x:p> <x:q> .\n") == "turtle"
    assert found("<a:s>\t<a:r>\t<a:o>\n<a:t>\t<a:r>\t<a:o>\n") == "tab"
    assert found("a,r,b\nb,r,c\n") == "stare"


def test_the_same_file_twice_gives_the_same_facts() -> None:
    text = "<x:s> <x:r> <x:o> {| <x:a> [] |} ; <x:q> [ <x:p> [] ] .\n"
    graphs = [read_bytes("turtle", text.encode()) for _ in range(2)]
    assert graphs[0] == graphs[1]
    assert fill("turtle", text.encode(), Path()).count == 3
