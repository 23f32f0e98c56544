"""The pages as the app sends them, without a browser."""

import re
from functools import lru_cache
from html.parser import HTMLParser

import pytest

from hyperfact.data.audit import percent
from hyperfact.draw.pages.filters import figure, short, times
from hyperfact.graph.facts import show
from hyperfact.predict import Predictor
from hyperfact.serve.addresses import address, entity_address
from hyperfact.serve.app import Service, create_app
from hyperfact.serve.download import file_name, harmless
from hyperfact.serve.opened import Models
from hyperfact.serve.static_files import static_files
from tests.support.asgi import Reply, get
from tests.support.serving import league_path
from tests.unit.serve.page.hostile import PAYLOADS, hostile_run

QUESTION = "player 1 | plays for | ? | position = wing"


@lru_cache
def app() -> Service:
    predictors = {"league": league_path(), "hostile": hostile_run()}
    return create_app(Models({name: Predictor.load(path) for name, path in predictors.items()}))


def ask(**query: object) -> Reply:
    return get(app(), "/m/league", query)


class Strict(HTMLParser):
    """Notes whatever a policy without inline script and style would block."""

    def __init__(self) -> None:
        super().__init__()
        self.blocked: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "style" or name.startswith("on"):
                self.blocked.append(f"{tag} {name}")
            if name in ("href", "src", "action"):
                self.links.append(value or "")
        if tag == "style" or (tag == "script" and not dict(attrs).get("src")):
            self.blocked.append(tag)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/", {}),
        ("/m/hostile", {}),
        ("/m/hostile", {"q": '"<svg onload=window.canary=1>" | plain | ?', "k": 100}),
        ("/m/hostile/entity", {"name": PAYLOADS[0]}),
        ("/m/hostile/map", {}),
        ("/m/hostile/query", {}),
        ("/m/hostile/query", {"q": f"?x : {show(PAYLOADS[0])} | plain | ?x or ?x | plain | ?y"}),
        ("/m/hostile/query", {"q": "?x : <script>x | plain"}),
        ("/m/hostile/card", {}),
        ("/m/hostile/entity", {"name": "<x>"}),
    ],
)
def test_nothing_inline_and_every_link_stays_here(path: str, query: dict[str, object]) -> None:
    reply = get(app(), path, query)
    parser = Strict()
    parser.feed(reply.text)
    assert parser.blocked == []
    assert parser.links
    assert all(re.match(r"/(?!/)|#", link) for link in parser.links)
    assert "script-src 'self'" in reply.headers["content-security-policy"]


def test_a_form_of_facts_becomes_a_query() -> None:
    form = {
        **{"s1": "player 1", "r1": "plays for", "o1": "?y", "a1_1": "position", "v1_1": "wing"},
        **{"how2": "and not", "s2": "?y", "r2": "in", "o2": " ?x ", "find": "?x"},
    }
    reply = get(app(), "/m/league/query", form)
    assert reply.status == 303
    text = "?x : player 1 | plays for | ?y | position = wing and not ?y | in | ?x"
    assert reply.headers["location"] == address("/m/league/query", [("q", text)])
    found = get(app(), reply.headers["location"])
    assert found.status == 200
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="hf"' in found.text
    for name, value in form.items():
        word = "not" if name.startswith("how") else f'name="{name}" value="{value.strip()}"'
        assert word in found.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"s1": "player 1", "r1": "", "o1": "?x"}, "the relation of fact 1 is empty"),
        ({"s1": ""}, "there is no fact in the query"),
        ({"s1": "a", "r1": "in", "o1": "?x", "a1_1": "since"}, "needs an attribute and a value"),
        ({"s1": "a", "r1": "in", "o1": "b"}, "stands in no fact"),
        ({"q": "?x : player 1 | plays"}, "expected &#39;|&#39;"),
        ({"q": "?x : playr 1 | plays for | ?x"}, "did you mean"),
        ({"q": "player 1 | ? | club 1"}, "with one blank"),
    ],
)
def test_a_query_that_cannot_be_answered_is_said(query: dict[str, object], words: str) -> None:
    reply = get(app(), "/m/league/query", query)
    assert reply.status == 400
    assert words in reply.text


def test_a_form_becomes_an_address_to_share() -> None:
    form = {"s": " player 1 ", "r": "plays for", "blank": "o", "a1": "position", "v1": "wing"}
    reply = get(app(), "/m/league", {**form, "a2": "", "v2": "", "k": "25", "any": "1"})
    assert reply.status == 303
    asked = "player%201%20%7C%20plays%20for%20%7C%20%3F%20%7C%20position%20%3D%20wing"
    assert reply.headers["location"] == f"/m/league?q={asked}&k=25&any=1"
    assert get(app(), reply.headers["location"]).status == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"q": "player 1 | plays for"}, "expected &#39;s | r | o&#39;, got 2 field(s)"),
        ({"q": "player 1 | plays for | ? | position = ?"}, "a question has one blank"),
        ({"q": QUESTION, "k": "0"}, "k is a number from 1 to 100"),
        ({"q": QUESTION, "k": "1e3"}, "k is a number from 1 to 100"),
        ({"q": QUESTION, "known": "perhaps"}, "known is one of mark, remove"),
        ({"q": QUESTION, "change": "position"}, "a change is"),
        ({"q": QUESTION, "change": "- position = goal"}, "no such qualifier"),
        ({"q": QUESTION, "answer_id": "99999999"}, "no answer with the number"),
        ({"s": "", "r": "plays for", "blank": "o"}, "the subject is empty"),
        ({"s": "player 1", "r": "in", "blank": "o", "a1": "since"}, "the value of qualifier 1"),
        ({"q": QUESTION, "add_a": "since", "add_v": " "}, "needs an attribute and a value"),
    ],
)
def test_what_cannot_be_answered_is_said(query: dict[str, object], words: str) -> None:
    reply = ask(**query)
    assert reply.status == 400
    assert words in reply.text


def test_an_unknown_name_offers_the_question_with_the_near_one() -> None:
    reply = ask(q="player 1 | plays for | ? | position = wingg")
    assert reply.status == 404
    assert "position%20%3D%20wing&" not in reply.text
    assert (
        'href="/m/league?q=player%201%20%7C%20plays%20for%20%7C%20%3F%20%7C%20position'
        in (reply.text.partition("Did you mean")[2])
    )


@pytest.mark.parametrize(
    "path", ["/m/none", "/m/league/entity?name=x", "/m/league/entity?id=1000000", "/static/../x"]
)
def test_what_is_not_there_has_a_page(path: str) -> None:
    reply = get(app(), path)
    assert reply.status in (400, 404)
    assert "<h1>" in reply.text or path.startswith("/static")


def test_files_are_a_frozen_list_with_the_mark_of_their_content() -> None:
    for file in static_files().values():
        kept = get(app(), file.address)
        assert kept.content == file.content
        assert "immutable" in kept.headers["cache-control"]
        assert get(app(), f"/static/{file.name}?v=old").headers["cache-control"] == "no-cache"
        assert b"http" not in file.content.replace(b"http://www.w3.org/2000/svg", b"")
    for name in ("pages.py", "..%2fpages.py", "page.css/", ""):
        assert get(app(), f"/static/{name}").status == 404


def test_facts_come_in_pages() -> None:
    first = get(app(), "/m/league/entity", {"name": "wing"})
    assert "More facts" in first.text
    link = re.search(r'href="([^"]*from=20)#facts"', first.text)
    assert link is not None
    second = get(app(), link.group(1).replace("&amp;", "&"))
    assert "Earlier facts" in second.text
    assert get(app(), "/m/league/entity", {"name": "wing", "from": "-1"}).status == 400


def test_facts_of_one_relation() -> None:
    every = get(app(), "/m/league/entity", {"name": "player 1"})
    link = re.search(r'href="([^"]*relation=plays%20for)#facts"', every.text)
    assert link is not None
    some = get(app(), link.group(1).replace("&amp;", "&"))
    assert some.status == 200
    listed = some.text.partition('id="facts-title"')[2].partition("</nav>")[2]
    assert "plays for" in listed
    assert "lives in" not in listed
    assert get(app(), "/m/league/entity", {"name": "wing", "relation": "no"}).status == 404


def test_what_else_might_be_true_is_guessed_when_asked() -> None:
    first = get(app(), "/m/league/entity", {"name": "player 1"}).text
    link = re.search(r'href="([^"]*else=1)#else"', first)
    assert link is not None
    assert "guesses" not in first
    listed = get(app(), link.group(1).replace("&amp;", "&")).text
    listed = listed.partition('<ol class="facts guesses">')[2].partition("</ol>")[0]
    assert listed.count('<li class="card">') == 10
    why = re.search(r'href="([^"]*)#why"', listed)
    assert why is not None
    assert 'id="why"' in get(app(), why.group(1).replace("&amp;", "&")).text


def test_answers_are_in_range_unless_everybody_is_wanted() -> None:
    narrow, wide = ask(q=QUESTION, k="100").text, ask(q=QUESTION, k="100", any="1").text
    names = [
        set(re.findall(r'<li class="card answer.*?<bdi[^>]*>(.*?)</bdi>', t, re.S))
        for t in (narrow, wide)
    ]
    assert names[0] == {f"club {i}" for i in range(8)}
    assert len(names[1]) > 80
    assert 'name="any" value="1" checked' in wide


def test_bars_are_as_wide_as_the_probability() -> None:
    text = ask(q=QUESTION).text
    widths = [float(w) for w in re.findall(r'class="fill" width="([\d.]+)%"', text)]
    shown = [float(p) for p in re.findall(r'class="pct">(?:&lt; )?([\d.]+) %', text)]
    assert len(widths) == len(shown) == 8
    for width, percentage in zip(widths, shown, strict=True):
        assert width == pytest.approx(max(percentage, 0.8), abs=0.06)


def test_a_question_like_none_in_training_has_a_hint() -> None:
    assert "hint-note" not in ask(q=QUESTION).text
    assert "this is a guess" in ask(q="player 1 | lives in | ? | position = wing").text


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("player 1 | plays for", {"s": "player 1", "r": "plays for"}),
        (
            "player 1 | plays for | ? | position",
            {"s": "player 1", "r": "plays for", "a1": "position"},
        ),
        (
            "player 1 | plays for | club 1 | since = ? | a = ?",
            {"o": "club 1", "a1": "since", "a2": "a"},
        ),
        ("| | = | | |", {}),
    ],
)
def test_a_text_that_is_no_question_fills_the_form_as_far_as_it_goes(
    text: str, fields: dict[str, str]
) -> None:
    reply = ask(q=text)
    assert reply.status == 400
    assert 'role="alert"' in reply.text
    for field, value in fields.items():
        assert f'name="{field}" value="{value}"' in reply.text


def test_cells_of_a_download_are_no_formulas() -> None:
    for cell in ("=1", "+1", "-1", "@x", "\tx", "\rx", " =1", "＝1"):
        assert harmless(cell) == "'" + cell
    assert harmless("1=1") == "1=1"
    assert file_name('a"b\r\nc/../d') == "answers-a-b--c----d.csv"
    assert get(app(), "/m/league/answers.csv").status == 400


def test_numbers_and_names_are_readable() -> None:
    assert (percent(0.1234), percent(0.0001), percent(0)) == ("12.3 %", "< 0.1 %", "0.0 %")
    assert (times(-2.0), times(0.5), times(0.001)) == ("÷ 7.4", "× 1.6", "no change")
    assert (figure(1234), figure(0.5), figure(None), figure(True)) == ("1,234", "0.500", "–", "yes")
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert short("a\u202eb\x00") == "a\ufffdb\u2400"
    assert entity_address("/m/x", "n" * 9000, 7) == "/m/x/entity?id=7"
    assert address("/p", [("a", "b&c=d#e/\ud800"), ("z", None)]) == "/p?a=b%26c%3Dd%23e%2F%3F"


# -- colours --------------------------------------------------------------------------------------

PAIRS = [
    *(("ink", ground) for ground in ("paper", "card", "deep", "accent-soft", "blank-soft")),
    *(("soft", ground) for ground in ("paper", "card", "deep")),
    *(("accent", ground) for ground in ("paper", "card", "accent-soft")),
    *(("blank", "blank-soft"), ("good", "good-soft"), ("bad", "card"), ("bad", "bad-soft")),
    ("accent-ink", "accent"),
]
CURVES = ("c0", "c3", "c4", "c8")  # of the charts in reports


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * c for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: str) -> None:
    css = static_files()["page.css"].content.decode()
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", light))
    if scheme == "dark":
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", rest.partition("* {")[0]))
    for ink, ground in PAIRS:
        low, high = sorted((luminance(colours[ink]), luminance(colours[ground])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)
    for line in CURVES:
        low, high = sorted((luminance(colours[line]), luminance(colours["card"])))
        assert (high + 0.05) / (low + 0.05) >= 3.0, line
