"""KGTK edge tables: edges of edges are qualifiers, every literal kind, wrong lines."""

import random
from pathlib import Path

import pytest

from hyperfact.data import load, read, write
from hyperfact.data.formats import recognise
from hyperfact.errors import FormatError, NotWritableError
from hyperfact.graph.facts import Derived, Fact, Literal
from hyperfact.graph.hkg import HKG
from tests.support.memory import MemorySource, read_bytes, read_or_refuse
from tests.support.names import HOSTILE, LITERALS

XSD = "http://www.w3.org/2001/XMLSchema#"
HEADER = "node1\tlabel\tnode2\tid\n"
SAMPLE = """\
id~node1~label~node2~rank
~terminator2~label~'Terminator 2'@en~normal
# a comment, then the qualifiers of an edge before the edge

t8~terminator2~award~best_sound_editing~normal
~t8~point_in_time~^1992-03-30T00:00:00Z/11~
~t4~role~terminator~
~t4~role~cyborg~
t4~terminator2~cast~a_schwarzenegger~preferred
~terminator2~duration~108minute~normal
~terminator2~cast~a_schwarzenegger~normal
~terminator2~~
""".replace("~", "\t").replace("terminator2\t\t\n", "terminator2\tx\t\t\n")


def test_edges_of_edges_are_qualifiers(tmp_path: Path) -> None:
    path = tmp_path / "movies.tsv"
    path.write_text(SAMPLE)
    splits, report = read(path)
    day = Literal(f'"1992-03-30"^^<{XSD}date>')
    film = "terminator2"
    assert set(splits.train) == {
        Fact(film, "label", Literal('"Terminator 2"@en')),
        Fact(film, "award", "best_sound_editing", (("point_in_time", day),)),
        Fact(film, "cast", "a_schwarzenegger", (("role", "terminator"), ("role", "cyborg"))),
        Fact(film, "cast", "a_schwarzenegger"),
        Fact(film, "duration", Literal("108minute")),
    }
    assert "1 further column (rank) not read" in report.warnings[0]
    assert "1 lines without node1 or node2" in report.warnings[1]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ('"John \\"Doe\\""', Literal('"John \\"Doe\\""')),
        ('"a\\|b\\tc\\n"', Literal('"a|b\tc\\n"')),
        ("'it\\'s'@de-AT", Literal('"it\'s"@de-AT')),
        ("42", Literal("42")),
        ("3.14e-10", Literal("3.14e-10")),
        (".1", Literal(".1")),
        ("0xff", Literal("0xff")),
        ("+10m/s2", Literal("+10m/s2")),
        ("-1.2e+2[-1.0,+1.0]kg.m/s2", Literal("-1.2e+2[-1.0,+1.0]kg.m/s2")),
        ("+17.2Q494083", Literal('"+17.2"^^<http://www.wikidata.org/entity/Q494083>')),
        ("^1839-00-00T00:00:00Z/9", Literal(f'"1839"^^<{XSD}gYear>')),
        ("^1839-05-00T00:00:00Z/10", Literal(f'"1839-05"^^<{XSD}gYearMonth>')),
        ("^2020-02-24T17:05:30", Literal("^2020-02-24T17:05:30")),
        ("^10:30", Literal("^10:30")),
        ("@043.26193/010.92708", Literal("@043.26193/010.92708")),
        ("!1000^^dbpedia:USD", Literal("1000^^dbpedia:USD")),
        ("True", Literal("True")),
        ("\\True", "True"),
        ("\\0ob1", "0ob1"),
        ("a\\|b", "a|b"),
        ("a\\\\b", "a\\b"),
        ("a90b-bc8f", "a90b-bc8f"),
    ],
)
def test_fields_keep_what_they_say(field: str, name: str, tmp_path: Path) -> None:
    data = f"{HEADER}a\tr\t{field}\te\ne\tq\t{field}\t\n"
    expected = HKG.from_facts([Fact("a", "r", name, (("q", name),))])
    assert read_bytes("kgtk", data.encode()) == expected
    write(expected, tmp_path / "again.kgtk")
    assert f"\t{field}\t" in (tmp_path / "again.kgtk").read_text()


def test_names_of_columns_have_aliases_and_any_order() -> None:
    text = "object\tID\tsubject\trelation\nb\te1\ta\tr\nv\t\te1\tq\n"
    assert set(read_bytes("kgtk", text.encode())) == {Fact("a", "r", "b", (("q", "v"),))}
    text = "node1\tlabel\tnode2\na\tr\tb\n"
    assert set(read_bytes("kgtk", text.encode())) == {Fact("a", "r", "b")}


def test_repeated_edges_and_edges_as_values_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(HEADER + "a\tr\tb\te1\na\tr\tb\te1\nc\tsays\te1\t\n")
    splits, report = read(path)
    assert set(splits.train) == {Fact("a", "r", "b"), Fact("c", "says", "e1")}
    assert [w.partition(": ")[2].split(" ")[0] for w in report.warnings] == ["1", "1"]


NAMES = [
    *HOSTILE,
    "fact0",
    "fact1",
    "fact_0",
    "True",
    "False",
    "\\",
    "\\\\",
    "\\|",
    "a\\",
    "'",
    "^",
    "@",
    "!",
    "!x",
    "t",
    "\\t",
    "#",
    "\u2028",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "urn:hyperfact:literal:x",
    "urn:hyperfact:derived:x",
    "urn:hyperfact:",
    "node1",
    "label",
    "0x",
    "5th Avenue",
    "5th",
]
FORMS = [
    *map(str, LITERALS),
    "True",
    "^1839-05-01T00:00:00Z/11",
    "+5Q1",
    "5kg",
    "5 kg",
    " ",
    "a|b",
    "\\",
    '"a|b\\\\c"@en',
    '"it\'s"@en',
    '"x"@en_US',
    f'"1839"^^<{XSD}gYear>',
    f'"18"^^<{XSD}gYear>',
    "!x",
    '"5"^^<http://www.wikidata.org/entity/Q1>',
    '"5 "^^<http://www.wikidata.org/entity/Q1>',
    "\t\n\r",
    "@1/2",
    "@x",
    "^x",
    "urn:hyperfact:literal:x",
    "\ufeff",
    "trailing\u00a0",
    '"\n"',
    '"\\n"',
    "\0",
]


def test_every_name_comes_back_in_every_place(tmp_path: Path) -> None:
    entities = list(dict.fromkeys([*NAMES, *map(Literal, FORMS)]))
    relations = list(dict.fromkeys([*NAMES, Derived("q_so"), Derived("urn:hyperfact:derived:_1")]))
    rng = random.Random(4)
    rows = [Fact(e, rng.choice(relations), rng.choice(entities)) for e in entities]
    rows += [Fact(rng.choice(entities), r, rng.choice(entities)) for r in relations]
    rows += [
        Fact(a, rng.choice(relations), b, ((r, b), (rng.choice(relations), a)))
        for r in relations
        for a, b in [rng.sample(entities, 2)]
    ]
    graph = HKG.from_facts([*rows, *(Fact(*row.primary) for row in rows[::3])])
    write(graph, tmp_path / "facts.kgtk.gz")
    back = load(tmp_path / "facts.kgtk.gz").train
    assert back == graph
    assert [type(r) for r in back.relations] == [type(r) for r in graph.relations]


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    for fact in (Fact("a", "r", "\ud800"), Fact("a", "\udfff", "b")):
        with pytest.raises(NotWritableError, match="surrogate"):
            write(HKG.from_facts([fact]), tmp_path / "facts.kgtk")


WRONG = """a | a~r | a~r~b | a~r~b~i~x | a~~b~ | a~r~"b~ | a~r~b"~|~r | a~r~"b"c~ | a~r~'b'~
a~r~'b'@~ | a~r~'b'@1~ | a~r~'b~ | a~r~^~ | a~r~^x~ | a~r~^20-x~ | a~r~^2020-01-01T~x~ | a~r~@1~
a~r~@1/~ | a~r~@/~ | a~r~@x/y~ | a~r~+~ | a~r~-~ | a~r~.~ | a~r~5 kg~ | a~r~+-5~ | a~r~5[1~
a~r~5[1,2~ | a~r~1/2~ | a~r~b\\~ | a~r~"b\\"~ | a~r~!b\\~ | a~r\\~b~ | \\~r~b~ | a~r~b¦c~
a¦b~r~c~ | a~r¦s~b~ | a~r~"b"¦"c"~ | a~5~b~ | a~"r"~b~ | a~'r'@en~b~ | a~^r~b~ | a~@r~b~
a~!r~b~ | a~+r~b~ | a~r~b~"i | a~r~b~^i | a~r~b~+i | 5x y~r~b~ | "x~r~b~ | @x~r~b~ | a~ r~b~
a~r ~b~ | a~r~ b~ | a~r~b ~ | a~r~urn:hyperfact:name:%ff~ | urn:hyperfact:name:%41~r~b~
a~urn:hyperfact:derived:%zz~b~ | a~r~urn:hyperfact:literal:é~ | g~r~x~e1 | a~r~b~ i | x,r,b
x r b | e2~q~v~ | a~r~b~urn:hyperfact:name:%2f | a~r~5¦6~ | a~r~..5~"""
WRONG_LINES = [
    line.strip().replace("~", "\t").replace("¦", "|") if "~" in line else line.strip()
    for row in WRONG.split("\n")
    for line in row.split(" | ")
]


@pytest.mark.parametrize("wrong", WRONG_LINES)
def test_a_wrong_line_is_named(wrong: str) -> None:
    good = "a\tr\tb\te1\ne1\tq\tv\te2\n"
    for before in (1, 3):
        lines = [*[f"a\tr\tb{i}\t" for i in range(before)], wrong]
        with pytest.raises(FormatError) as error:
            read_bytes("kgtk", (HEADER + good + "\n".join(lines) + "\nz\tr\tz\t\n").encode())
        assert error.value.line == before + 4


def test_there_are_many_wrong_lines() -> None:
    assert len(WRONG_LINES) >= 60


@pytest.mark.parametrize(
    "header",
    ["", "\n", "x", "node1\tlabel", "node1\tnode2\tid", "node1\tlabel\tnode2\tnode1", "a\tb\tc",
     "node1\tlabel\tnode2\tto", "node1\tlabel\tnode2\t", "node1\tlabel\tnode2\tx\tx", "a,b"],
)  # fmt: skip
def test_a_wrong_header_is_named(header: str) -> None:
    with pytest.raises(FormatError) as error:
        read_bytes("kgtk", header.encode() + b"\na\tr\tb\t\n")
    assert error.value.line == 1


def test_every_prefix_is_read_or_refused() -> None:
    data = (
        SAMPLE + SAMPLE.partition("\n")[2].replace("t4", "t5").replace("t8", "t9") * 20
    ).encode()
    for end in range(len(data[:5000])):
        found, lines = read_or_refuse("kgtk", data[:end]), data[:end].count(b"\n")
        if isinstance(found, HKG):
            assert len(found) <= lines
        else:
            assert isinstance(found, FormatError)
            assert found.line in (lines, lines + 1)


def test_noise_gives_data_errors_only() -> None:
    rng = random.Random(1)
    bits = [
        b"\t",
        b"\n",
        b"|",
        b"\\",
        b'"',
        b"'",
        b"@",
        b"^",
        b"#",
        b"e1",
        b"\xff",
        b"+",
        b" ",
        b"!",
    ]
    for _ in range(1500):
        data = bytearray((HEADER + "a\tr\tb\te1\ne1\tq\t'v'@en\t\nc\tr\t+5kg\t\n").encode())
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randrange(3)] = rng.choice(bits)
        read_or_refuse("kgtk", bytes(data))  # anything but a DataError fails the test


def test_other_tables_are_not_taken_for_kgtk() -> None:
    def found(text: str) -> str:
        return recognise(MemorySource(Path("facts.txt"), text.encode())).name

    assert found(HEADER + "a\tr\tb\t\n") == "kgtk"
    assert found(SAMPLE) == "kgtk"
    assert found("a\tlabel\tb\nc\tlabel\td\ne\tlabel\tf\n") == "tab"
    assert found("label\tnode1\tx\nlabel\ty\tz\nlabel\tu\tv\n") == "nary"


def test_literals_can_be_dropped_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.kgtk"
    path.write_text(HEADER + "a\tr\tb\te1\ne1\tq\t5kg\t\na\tr\t'x'@en\t\n")
    splits, report = read(path, literals="drop")
    assert [str(fact) for fact in splits.train] == ["a | r | b"]
    assert (report.dropped_facts, report.dropped_qualifiers) == (1, 1)
    with pytest.raises(FormatError, match=":3: the literal '5kg'"):
        read(path, literals="error")


def test_columns_of_labels_tell_what_names_are_called(tmp_path: Path) -> None:
    path = tmp_path / "a.kgtk"
    path.write_text(
        "node1\tlabel\tnode2\tid\tnode1;label\tlabel;label\tnode2;label\n"
        "Q1\tP1\tQ2\te1\t'Ada'@en|'Ade'@de\t\"wrote to\"\tBob\n"
        "e1\tP2\t5kg\t\t\t\t\n"
    )
    splits, report = read(path)
    assert splits.labels.fact(splits.train[0]).startswith("Ada | wrote to | Bob | P2 = ")
    assert not report.warnings
