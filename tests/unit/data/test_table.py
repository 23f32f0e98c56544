"""Tables with a header: which column is what, what is left out, and what is not guessed."""

from pathlib import Path

import pytest

from hyperfact.data import load, notes, read, write
from hyperfact.data.formats import recognise
from hyperfact.data.formats.headers import asked_columns
from hyperfact.errors import FormatError, NotWritableError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source
from tests.support.memory import MemorySource

SAMPLE = (
    'subject,relation,object,role,since\n"Lovelace, Ada",at,Atlas,"le""ad",2019\nBen,at,Atlas,,\n'
)
WRONG_LINES = ["a,b", "a,b,c,d,e,f", '"a,b,c,d,e', '"a"x,b,c,d,e', "a,b\rc,c,d,e"]
PEOPLE = (
    '"person";"company";"start";"role"\n'
    '"Lovelace, Ada";Atlas;2019;"lead\nand ""more"""\n'
    "Ben;Atlas;;engineer\n"
    "Cem;;2020;tester\n"
)
TRIPLE = "subject=person, relation=:worked at, object=company"


def file(folder: Path, text: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def facts(path: Path, columns: str | None = None) -> list[str]:
    return sorted(str(fact) for fact in load(path, columns=columns).train)


def test_named_columns_are_read_and_the_others_left_out(tmp_path: Path) -> None:
    splits, report = read(file(tmp_path, PEOPLE), columns=f"{TRIPLE}, since=start")
    assert [str(fact) for fact in splits.train] == [
        "Lovelace, Ada | worked at | Atlas | since = 2019",
        "Ben | worked at | Atlas",
    ]
    assert report.formats == ("table",)
    assert report.guesses == (
        f"read {tmp_path / 'people.csv'} as table: subject = person, relation = :worked at, "
        "object = company, since = start; left out: role",
    )
    assert "1 rows without subject, relation or object" in notes(report)[0]
    assert "the first in line 5" in notes(report)[0]


def test_without_further_pairs_all_other_columns_are_qualifiers(tmp_path: Path) -> None:
    splits = load(file(tmp_path, PEOPLE), columns=TRIPLE)
    assert splits.train[0] == Fact(
        "Lovelace, Ada", "worked at", "Atlas", (("role", 'lead\nand "more"'), ("start", "2019"))
    )
    assert str(splits.train[1]) == "Ben | worked at | Atlas | role = engineer"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_delimiters_and_line_ends_are_recognised(
    delimiter: str, ending: str, tmp_path: Path
) -> None:
    rows = [["subject", "relation", "object", "as"], ["a", "r", "b", "x"], ["b", "r", "c", ""]]
    text = "\ufeff" + ending.join(delimiter.join(row) for row in rows) + ending
    assert facts(file(tmp_path, text)) == ["a | r | b | as = x", "b | r | c"]


def test_a_blank_behind_every_delimiter_is_layout(tmp_path: Path) -> None:
    text = 'Subject, Relation, Object\n"a", r, "b, c"\n'
    assert facts(file(tmp_path, text)) == ["a | r | b, c"]


def test_kgx_edges_have_lists_and_ids(tmp_path: Path) -> None:
    text = (
        "id\tsubject\tpredicate\tobject\tpublications\n"
        "e1\tCHEBI:1\tbiolink:treats\tMONDO:2\tPMID:1|PMID:2\n"
    )
    path = file(tmp_path, text, "edges.tsv")
    shown = "CHEBI:1 | biolink:treats | MONDO:2 | publications = PMID:1 | publications = PMID:2"
    assert facts(path) == [shown]
    assert read(path)[1].guesses[0].endswith("left out: id")


def test_neo4j_relationships_have_typed_headers(tmp_path: Path) -> None:
    text = (
        ":START_ID(Person),roles:string[],:END_ID(Film),:TYPE,year:int,note:IGNORE\n"
        'keanu,"Neo;Thomas",matrix,ACTED_IN,1999,x\n'
    )
    shown = "keanu | ACTED_IN | matrix | roles = Neo | roles = Thomas | year = 1999"
    assert facts(file(tmp_path, text, "roles.csv")) == [shown]


def test_what_is_written_keeps_repeated_attributes(tmp_path: Path) -> None:
    fact = Fact("a,b", "r", 'c"d\ne', (("predicate", "x"), ("subject", "y"), ("subject", "z")))
    graph = HKG.from_facts([fact, Fact("c", "r", "d")])
    for name in ("out.csv", "out.tsv"):
        write(graph, tmp_path / name)
        assert load(tmp_path / name).train == graph
    with pytest.raises(NotWritableError, match="is empty"):
        write(HKG.from_facts([Fact("", "r", "b")]), tmp_path / "empty.csv")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("subject=person, object=company", "people.csv:1: no column is named for the relation"),
        (f"{TRIPLE}, x=strat", "people.csv:1: unknown column 'strat'; did you mean 'start'"),
        ("person", "expected attribute=column, got 'person'"),
        ("subject=person, subject=role", "'subject' twice"),
        ('"subject=person', "cannot be read"),
    ],
)
def test_wrong_columns_are_explained(columns: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=reason):
        load(file(tmp_path, PEOPLE), columns=columns)


def test_columns_may_hold_commas_and_be_a_mapping() -> None:
    assert asked_columns('subject=a, "object=b, c"') == {"subject": "a", "object": "b, c"}
    assert asked_columns({"subject": "a"}) == {"subject": "a"}


def test_columns_are_of_tables_only(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not of the format 'stare'"):
        load(file(tmp_path, PEOPLE), columns=TRIPLE, format="stare")


# -- what is not guessed --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["people.csv", "people.txt"])
def test_quoted_fields_are_never_read_as_bare_ones(name: str, tmp_path: Path) -> None:
    text = '"a","r","b"\n"b","r","c"\n"c","r","d"\n'
    with pytest.raises(FormatError, match=r"may be a table .*--columns.* or stare.*--format stare"):
        load(file(tmp_path, text, name))
    with pytest.raises(FormatError, match="looks like a table with the header person, company"):
        load(file(tmp_path, PEOPLE, name))


def test_a_header_without_quotes_is_a_doubt_where_the_name_says_table(tmp_path: Path) -> None:
    text = "person,firm,since\nAda Byron,Atlas,2019\nBen Ali,Atlas,2020\nCem Can,Beacon,2020\n"
    with pytest.raises(FormatError, match="--format stare"):
        load(file(tmp_path, text))
    assert len(load(file(tmp_path, text), format="stare").train) == 4
    triples = "a,r,b\nb,r,c\n"
    assert recognise(Source(file(tmp_path, triples))).name == "stare"


def test_the_format_of_train_settles_a_doubt_about_test(tmp_path: Path) -> None:
    file(tmp_path, "a,r,b\nb,r,c\nc,q,d\n", "train.csv")
    file(tmp_path, "a,r,c\nb,q,d\n", "test.csv")
    splits, report = read(tmp_path)
    assert (len(splits.train), len(splits.test)) == (3, 2)
    assert report.guesses[0].startswith(f"read {tmp_path / 'train.csv'} as stare, comma")


def test_a_literal_with_a_type_is_no_quoted_field() -> None:
    text = 'Q64\tarea\t"3.73"^^<km2>\nQ65\tarea\t"chat"@fr\nQ66\tarea\tx\n'
    assert recognise(MemorySource(Path("x.txt"), text.encode())).name == "tab"


def test_quoted_numbers_among_bare_fields_are_no_table() -> None:
    text = 'model\ta\tb\tc\tx\nengine\td\t"173.0"\t"2.4"\nengine\te\t"138.0"\t"1.8"\n'
    assert recognise(MemorySource(Path("x.txt"), text.encode())).name == "nary"
