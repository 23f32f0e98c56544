"""Wrong RDF: the line is named, and pyoxigraph's own errors never reach the user."""

import gzip
import random
from pathlib import Path

import pytest

from hyperfact.data import load, write
from hyperfact.data.formats import FORMATS
from hyperfact.errors import FormatError
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG
from tests.support.memory import read_bytes, read_or_refuse

ALL = ["ntriples", "nquads", "turtle", "trig"]
LINES = ALL[:2]
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
GOOD = "<x:s> <x:r> <x:o> .\n"
TRIPLE = "<<( <x:s> <x:r> <x:o> )>>"
WRONG_LINES = [
    "<x:s>", "<x:s> <x:r>", "<x:s> <x:r> <x:o>", "<x:s> <x:r> <x:o> <x:g> <x:h> .", ".", "x", "{}",
    "<x:s> <x:r> .", "<s> <x:r> <x:o> .", "<x:s> <r> <x:o> .", "<x:s> <x:r> <o> .", "[]", "( )",
    '"x" <x:r> <x:o> .', '<x:s> "x" <x:o> .', "<x:s> _:r <x:o> .", '<x:s> <x:r> "x .', "<x:s",
    '<x:s> <x:r> "x"@ .', '<x:s> <x:r> "x"@e1 .', '<x:s> <x:r> "x"^^ .', '<x:s> <x:r> "x"^^<y> .',
    '<x:s> <x:r> "x"^<x:y> .', '<x:s> <x:r> "\\x" .', '<x:s> <x:r> "\\ud800" .', "x:s x:r x:o .",
    '<x:s> <x:r> "\\u12" .', '<x:s> <x:r> "x"@ar--up .', "<x:%zz> <x:r> <x:o> .", "a,b,c",
    "a\tb\tc", "<x:s y> <x:r> <x:o> .", "<x:{}> <x:r> <x:o> .", "<x:s> <x:r> <x:o> ;",
    "<x:s> <x:r> <x:o>, .", "_: <x:r> <x:o> .", "<x:s> <x:r> _: .", "<x:s> a <x:o> .",
    "<x:s> <x:r> 5 .", "<x:s> <x:r> true .", f"{TRIPLE} <x:a> <x:v> .",
    "<< <x:s> <x:r> <x:o> >> <x:a> <x:v> .", f"<x:s> <x:r> {TRIPLE} .",
    f"_:b {REIFIES} <<( <x:s> <x:r> )>> .", f"_:b {REIFIES} <<( <x:s> <x:r> <x:o> .",
    f"_:b {REIFIES} <<( <x:s> <x:r> {TRIPLE} )>> .",
    f"_:b {REIFIES} <<( {TRIPLE} <x:r> <x:o> )>> .", f'_:b {REIFIES} <<( "x" <x:r> <x:o> )>> .',
    f"_:b {REIFIES} << <x:s> <x:r> <x:o> >> .", f"_:b {REIFIES} <<( <x:s> <x:r> <x:o> )>>",
    f"_:b {REIFIES} <<( <x:s> _:r <x:o> )>> .",
    f"_:b {REIFIES} {'<<( <x:s> <x:r> ' * 20000}<x:o>{' )>>' * 20000} .",
    f"_:b {REIFIES} {'<<( <x:s> <x:r> ' * 20000}", "<x:s> <x:r> <x:o> . <x:s> <x:r> <x:p> .",
    "<urn:hyperfact:name:%ff> <x:r> <x:o> .", "<x:s> <urn:hyperfact:name:%41> <x:o> .",
    "<x:s> <x:r> <urn:hyperfact:name:%2f> .", "<x:s> <x:r> <urn:hyperfact:literal:é> .",
    "<x:s> <urn:hyperfact:derived:a/b> <x:o> .", "VERSION 1.2", "@prefix : <x:> .", "PREFIX : <x:>",
    "<x:s>\u00a0<x:r> <x:o> .", "<x:s> <x:r> <x:o> \u3002", "\u2028", "<x:s> <x:r> \"a\rb\" .",
]  # fmt: skip


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("wrong", WRONG_LINES, ids=lambda line: line[:40])
def test_a_wrong_line_is_named(name: str, wrong: str) -> None:
    for before in (0, 3):
        data = GOOD * before + wrong + "\n" + GOOD
        with pytest.raises(FormatError) as error:
            read_bytes(name, data.encode())
        assert error.value.line == before + 1


def test_there_are_many_wrong_lines() -> None:
    assert len(WRONG_LINES) >= 60
    assert len(WRONG_TURTLE) >= 60


PREFIX = "@prefix : <x:> .\n"
WRONG_TURTLE = [
    ":s :r :o", ":s :r", ":s", ":s :r .", ". :s", ":s :r :o ; ; , .", "x:s :r :o .", ":s :r x:o .",
    "a :r :o .", ":s 5 :o .", ":s [] :o .", ":s :r :o {| :a |} .", ":s :r :o {| |",
    ":s :r :o {| :a :v .", ":s :r :o {| :a :v |} |} .", ":s :r :o ~ ~ |} .", ":s :r ( :o .",
    ":s :r [ :o .", ":s :r :o ] .", ":s :r :o ) .", "<< :s :r >> :a :v .", "<< :s :r :o :a :v .",
    "<<( :s :r :o )>> :a :v .", ":s :r <<( :a :b :c )>> .",
    ":s :r <<( :a :b <<( :c :d :e )>> )>> .", ":s <<( :a :b :c )>> :o .",
    f":b {REIFIES} <<( :s :r <<( :a :b :c )>> )>> .", ":s :r :o {| :a :v {| :b :w |} |} .",
    ":s :r :o {| :a <<( :x :y :z )>> |} .", '"x" :r :o .', ':s "x" :o .', ':s :r "x .',
    ":s :r 'x .", ':s :r """x" .', ':s :r "x"@ .', ':s :r "x"@e1 .', ':s :r "x"^^y .',
    ':s :r "x"^^ .', ':s :r "\\x" .', ':s :r "\\ud800" .', ":s :r 5e .", ":s :r +", ":s :r 1.2.3 .",
    "@prefix x", "@prefix x: y .", "@base", "@base <y> .", "@foo <x:> .", "PREFIX x <x:>",
    "<y> :r :o .", ":s :r <y> .", "<x:%zz> :r :o .", "<x:s y> :r :o .", ":s :r :%4 .",
    ":s :r :o . }", "{ :s :r", ":g { :s :r :o .", "GRAPH", "true :r :o .",
    ":s :r <urn:hyperfact:name:%2f> .", "<urn:hyperfact:name:%ff> :r :o .", ":s :r tru .", "= => .",
    ":s <urn:hyperfact:derived:%41> :o .", f":s :r {'<<( :s :r ' * 20000} :o {' )>>' * 20000} .",
    ":s :r :o .\u00a0", ":s\u2028:r :o .", "<x:\x01> :r :o .", ":s :r \ufeff .",
]  # fmt: skip


@pytest.mark.parametrize("name", ALL[2:])
@pytest.mark.parametrize("wrong", WRONG_TURTLE, ids=lambda text: text[:40])
def test_a_wrong_statement_is_named(name: str, wrong: str) -> None:
    for before in (1, 4):
        data = PREFIX + ":s :r :o .\n" * (before - 1) + wrong
        with pytest.raises(FormatError) as error:
            read_bytes(name, data.encode())
        assert error.value.line == before + 1


def test_faults_of_meaning_point_at_the_end_of_their_triple() -> None:
    rng = random.Random(3)
    good = [":s :r :o ;\n  :q 5 .\n", ':s :r """two\nlines""" .\n', ":s :r :o {| :a :v |} .\n"]
    for _ in range(50):
        before = PREFIX + "".join(rng.choices(good, k=rng.randint(0, 2000)))
        after = "".join(rng.choices(good, k=5))
        with pytest.raises(FormatError) as error:
            read_bytes("turtle", (before + ":s :r\n <<( :s :r :o )>> .\n" + after).encode())
        assert error.value.line == before.count("\n") + 2


@pytest.mark.parametrize("name", ALL)
def test_bytes_that_are_not_text_and_damaged_archives(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=":3: not UTF-8"):
        read_bytes(name, GOOD.encode() * 2 + b'<x:s> <x:r> "\xff" .\n')
    path = tmp_path / "facts.nt.gz"
    path.write_bytes(gzip.compress((GOOD * 50_000).encode())[:-20])
    with pytest.raises(FormatError, match="damaged or cut off"):
        load(path, format=name)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL)
def test_every_prefix_is_read_or_refused(name: str, step: int, tmp_path: Path) -> None:
    rng = random.Random(name)
    rows = [
        Fact(
            f"x:{rng.randrange(9)}", "played for", Literal(f'"{i}"@en'), (("at", "b c"),) * (i % 3)
        )
        for i in range(60)
    ]
    path = tmp_path / f"whole{FORMATS[name].suffix}"
    write(HKG.from_facts(rows), path)
    data = path.read_bytes()[:5000]
    for end in range(0, len(data), step):
        found = read_or_refuse(name, data[:end])
        lines = data[:end].count(b"\n")
        if isinstance(found, HKG):
            assert len(found) <= lines + 1
        else:
            assert isinstance(found, FormatError)
            assert found.line in (lines, lines + 1)
