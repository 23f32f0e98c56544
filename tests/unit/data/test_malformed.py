"""Wrong files: `file:line: reason`, exit code 2, nothing written, and never a traceback."""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.errors import FormatError
from hyperfact.graph.hkg import HKG
from tests.support.memory import count_or_refuse, read_bytes, read_or_refuse

#: Two good lines of each format that is read line by line.
GOOD = {
    "stare": ["Q1,P1,Q2", "Q1,P1,Q3,P2,Q4,P3,+5"],
    "tab": ["Q1\tP1\tQ2", "Q1\tP1\tQ3\tP2\tQ4"],
    "hynt": ["3", "Q1\tP1\tQ2\tP2\t+5"],
    "nary": ["r\ta\tb\tc", "s\ta\tb"],
    "nary-instance": ["instance0\tr\ta\tb\tc", "instance1\ts\ta\tb"],
    "nary-int": ["0\t0\t1\t2", "1\t1\t0"],
    "roles": ["P1_h/P1_t\tQ1\tQ2", "P2/P1_h/P1_t\tQ3\tQ1\tQ2"],
    "nalp": [
        '{"P1_h": "Q1", "P1_t": "Q2", "N": 2}',
        '{"N": 3, "P1_h": "Q1", "P1_t": "Q2", "P2": ["Q3"]}',
    ],
    "gran": [
        '{"N": 2, "relation": "P1", "subject": "Q1", "object": "Q2"}',
        '{"N": 3, "relation": "P1", "subject": "Q1", "object": "Q2", "P2": ["Q3"]}',
    ],
    "hinge": ['{"P1": ["Q1", "Q2"], "N": 2}', '{"P1": ["Q1", "Q2"], "P2": "Q3", "N": 3}'],
    "jsonl": [
        '{"subject": "a", "relation": "r", "object": "b"}',
        '{"subject": "a", "relation": "r", "object": "c", "qualifiers": [["x", "y"]]}',
    ],
}
TEXT = sorted(GOOD.keys() - {"nalp", "gran", "hinge", "jsonl"})
JSON = sorted(GOOD.keys() - set(TEXT))

#: Wrong lines, a blank between them; a tilde stands for a tab.
_WRONG = {
    "stare": "Q1 Q1,P1 Q1,P1,Q2,P2 Q1,,Q2 ,P1,Q2 Q1,P1, Q1,P1,Q2,P2, ,, , Q1,P1,Q2,,Q3 Q1;P1;Q2 "
    "Q1,P1,Q2,P2,Q3,P4 Q1~P1~Q2 {} [] Q1,P1,,P2,Q3 ,,, Q1,P1,Q2, ,Q1,P1,Q2 ,,,, Q1|P1|Q2 x,y",
    "tab": "Q1 Q1~P1 Q1~P1~Q2~P2 Q1~~Q2 ~P1~Q2 Q1~P1~ Q1~P1~Q2~P2~ ~~ ~ Q1~P1~Q2~~Q3 Q1;P1;Q2 "
    "Q1~P1~Q2~P2~Q3~P4 Q1,P1,Q2 {} [] Q1~P1~~P2~Q3 ~~~ Q1~P1~Q2~ ~Q1~P1~Q2 ~~~~ Q1|P1|Q2 x~y",
    "nary": "r r~a r~a~b r~a~b~c~d r~~b~c ~a~b r~a~b~ ~~ s~a~b~c s~a r,a,b,c t~a~ ~ {} t t~~ ~~~ "
    "r~a~b~c~ ~r~a~b~c r~a~~c s~~b s~a~ r~a~b~c~d~e",
    "nary-int": "0 0~0 0~0~1 0~0~1~2~2 5~0~1 0~0~1~9 x~0~1~2 0~~1~2 ~0~1~2 0,0,1,2 -1~0~1 ~ ~~ "
    "1~0~1.0 1~0~x 00~0~1~2 1~0 1 1~0~1~2 0~0~1~2~ 9999999999999999999999~0~1 0~0~1~+2 ٠~0~1~2",
    "roles": "P1_h/P1_t P1_h/P1_t~Q1 P1_h/P1_t~Q1~Q2~Q3 P1_h/P2_t~Q1~Q2 /~Q1~Q2 P1_h~Q1 ~Q1 x ~ "
    "P1_t/P1_x~Q1~Q2 P1_h/P1_t~~Q2 P1_h/P1_t/~Q1~Q2~Q3 P1_h/P1_h~Q1~Q2 ~~ P1_h,P1_t~Q1~Q2 "
    "A/P1_h/P1_t/P2_h/P2_t~a~b~c~d~e P1_h/P1_t~Q1~ //~a~b~c P1_h~Q1~Q2 P1_h/P1_t,Q1,Q2 _h~a",
}
_TEXT_FAULTS = {name: text.replace("~", "\t").split(" ") for name, text in _WRONG.items()}
_TEXT_FAULTS["hynt"] = _TEXT_FAULTS["tab"]
_TEXT_FAULTS["nary-instance"] = [f"instance7\t{line}" for line in _TEXT_FAULTS["nary"]] + [
    "r\ta\tb\tc",
    "instance\tr\ta\tb\tc",
    "instancex\tr\ta\tb\tc",
]

_DEEP = "[" * 70 + "]" * 70
_JSON_FAULTS = [
    "",
    "{",
    "}",
    "[]",
    "1",
    "null",
    '"x"',
    "{}",
    '{"N": 2}',
    "nonsense",
    "{'a': 1}",
    '{"a": 1,}',
    '{"a": NaN}',
    '{"a": Infinity}',
    '{"a": -Infinity}',
    '{"a": "\\ud800", "b": 1}',
    '{"a": "\\x41"}',
    '{"a": "unclosed}',
    '{"a": ' + _DEEP + "}",
    '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    '{"a": ' + "9" * 5000 + "}",
    '{"a": {"b": {"c": 1}}}',
    '{"a": 1} {"b": 2}',
    '{"a": "tab\tinside"}',
    '{"a": 1e999}',
    "\ufeff{}",
]


def _json_breakages(good: str) -> Iterator[str]:
    """A good object with one thing wrong."""
    yield from (good[: len(good) * k // 10] for k in range(1, 10))
    row = json.loads(good)
    for key in row:
        yield json.dumps({k: v for k, v in row.items() if k != key})
        values: list[object] = [None, 1.5, True, {}, {"x": 1}, [[]], [None], [1], [["a"]]]
        for wrong in values:
            yield json.dumps({**row, key: wrong})
        yield good[:-1] + f", {json.dumps(key)}: {json.dumps(row[key])}}}"
    yield good[:-1] + ', "extra_h": {}}'
    yield good[:-1] + ', "extra": 5}'
    yield good[:-1] + ', "extra": [5]}'


def faults(name: str) -> list[str]:
    if name in TEXT:
        return [line for line in _TEXT_FAULTS[name] if line]
    lines = [*_JSON_FAULTS, *_json_breakages(GOOD[name][1]), *_json_breakages(GOOD[name][0])]
    return [line for line in lines if line]


def companions(folder: Path) -> None:
    (folder / "entities.txt").write_text("0\tzero\n1\tone\n2\ttwo\n")
    (folder / "relations.txt").write_text("0\tr\n1\ts\n")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("name", sorted(GOOD))
def test_good_lines_are_good(name: str, tmp_path: Path) -> None:
    companions(tmp_path)
    graph = read_bytes(name, ("\n".join(GOOD[name]) + "\n").encode(), folder=tmp_path)
    assert len(graph) == len(GOOD[name]) - (name == "hynt")


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_wrong_line_is_named_through_the_command_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    companions(tmp_path)
    path, target = tmp_path / "wrong.txt", tmp_path / "out"
    count = 0
    for wrong in faults(name):
        for place in (1, 2) if name == "hynt" else (0, 1, 2):
            lines = [*GOOD[name][:place], wrong, *GOOD[name][place:]]
            path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n")
            if isinstance(read_or_refuse(name, path.read_bytes(), folder=tmp_path), HKG):
                continue  # this breakage makes a good line of its own
            code = run("convert", str(path), str(target), "--from", name, "--to", "jsonl")
            out = capsys.readouterr()
            where = f"error: {path}:{place + 1}: "
            if not out.err.startswith(where):  # an arity clash shows on the later line
                assert "places here" in out.err, (wrong, out.err)
            assert code == 2, wrong
            assert out.out == ""
            assert out.err.count("\n") == 1
            assert "Traceback" not in out.err
            assert not target.exists()
            count += 1
    assert count >= 40 if name == "hynt" else count >= 60


@pytest.mark.parametrize("name", sorted(GOOD))
def test_bytes_that_are_not_text_are_named(name: str, tmp_path: Path) -> None:
    companions(tmp_path)
    good = [line.encode() for line in GOOD[name]]
    for wrong in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80abc"):
        for place in (1, 2):
            data = b"\n".join([*good[:place], wrong, *good[place:]])
            with pytest.raises(FormatError, match=rf":{place + 1}: not UTF-8"):
                read_bytes(name, data, folder=tmp_path)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_empty_lines_belong_to_the_end(name: str, tmp_path: Path) -> None:
    companions(tmp_path)
    first, second = (line.encode() for line in GOOD[name])
    read_bytes(name, first + b"\n" + second + b"\n\n\n", folder=tmp_path)
    with pytest.raises(FormatError, match=":2: an empty line"):
        read_bytes(name, first + b"\n\n" + second, folder=tmp_path)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_carriage_returns_of_a_whole_file_are_not_text(name: str, tmp_path: Path) -> None:
    companions(tmp_path)
    text = "\n".join(GOOD[name]) + "\n"
    windows = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    plain = read_bytes(name, text.encode(), folder=tmp_path)
    assert read_bytes(name, windows, folder=tmp_path) == plain


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_prefix_is_refused_at_its_cut_or_read(name: str, tmp_path: Path) -> None:
    """Of a cut-off file all whole lines are read; the cut one is read or named, nothing else."""
    companions(tmp_path)
    rng = random.Random(name)
    head = int(name == "hynt")
    lines = [*GOOD[name][:head], *(rng.choice(GOOD[name][head:]) for _ in range(2000))]
    data = "\n".join(lines).encode()[:2000]
    for end in range(head and data.index(b"\n") + 1, len(data)):
        whole = data[:end].count(b"\n") - head
        found = count_or_refuse(name, data[:end], folder=tmp_path)
        if isinstance(found, FormatError):
            assert found.line == whole + head + 1
        else:
            assert found in (whole, whole + 1)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_noise_gives_data_errors_only(name: str, tmp_path: Path) -> None:
    _fuzz(name, tmp_path, 1500)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GOOD))
def test_much_noise_gives_data_errors_only(name: str, tmp_path: Path) -> None:
    _fuzz(name, tmp_path, 20_000)


def _fuzz(name: str, folder: Path, cases: int) -> None:
    companions(folder)
    rng = random.Random(name)
    seed = ("\n".join(GOOD[name]) + "\n").encode()
    bits = [b"\t", b",", b"\n", b"\r", b'"', b"{", b"}", b"[", b":", b"\\u", b"_h", b"/", b"\x00"]
    for _ in range(cases):
        data = bytearray(seed)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data) + 1)
            change = rng.randrange(4)
            if change == 0:
                data[at:at] = rng.choice(bits)
            elif change == 1:
                del data[at : at + rng.randint(1, 5)]
            elif change == 2:
                data[at:at] = bytes([rng.randrange(256)])
            else:
                data[at:at] = data[: rng.randrange(len(data) + 1)]
        read_or_refuse(name, bytes(data), folder=folder)  # anything but a DataError fails the test


def test_planted_errors_point_at_their_line(tmp_path: Path) -> None:
    rng = random.Random(6)
    odd = ["a\x0bb", "a\x0cb", "a\x85b", "a\u2028b", "a\u2029b", "a\x1cb"]
    for _ in range(200):
        lines = [f"{rng.choice(odd)},P1,Q{i}" for i in range(40)]
        at = rng.randrange(40)
        lines[at] = "Q1,P1"
        with pytest.raises(FormatError) as error:
            read_bytes("stare", "\n".join(lines).encode(), folder=tmp_path)
        assert error.value.line == at + 1


def test_space_is_data(tmp_path: Path) -> None:
    names = ["x", "x\u00a0", "\u3000x", " x", "x ", "X"]
    data = "\n".join(f"{name},P1,y" for name in names).encode()
    graph = read_bytes("stare", data, folder=tmp_path)
    assert {f.subject for f in graph} == set(names)


def test_a_damaged_archive_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = gzip.compress(("Q1,P1,Q2\n" * 5000).encode())
    path = tmp_path / "facts.txt.gz"
    for data in (whole[: len(whole) // 2], b"\x1f\x8b\x08" + b"x" * 50, b"plain text"):
        path.write_bytes(data)
        assert run("stats", str(path), "--format", "stare") == 2
        assert "damaged or cut off" in capsys.readouterr().err


def test_a_relation_keeps_its_arity_across_files(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("r\ta\tb\tc\n")
    (tmp_path / "test.txt").write_text("x\tr\ta\tb\nr\ta\tb\n")
    assert run("stats", str(tmp_path), "--format", "nary") == 2
