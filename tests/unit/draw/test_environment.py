"""One set of templates: values are escaped, pictures are not, what is missing is an error."""

import re

import pytest
from jinja2 import UndefinedError

from hyperfact.draw import draw_fact
from hyperfact.draw.pages.environment import environment, static_content
from hyperfact.graph.facts import Fact, Literal


def made(template: str, **values: object) -> str:
    return environment().from_string(template).render(**values)


def test_every_template_can_be_read() -> None:
    names = environment().list_templates()
    assert {"base.html", "service.html", "standalone.html", "audit.html", "run.html"} <= set(names)
    for name in names:
        environment().get_template(name)


def test_values_are_escaped_and_pictures_are_not() -> None:
    assert made("{{ x }}", x="<b>'\"&") == "&lt;b&gt;&#39;&#34;&amp;"
    assert made("{{ x|short }}", x="<b>\u202e") == "&lt;b&gt;\ufffd"
    picture = draw_fact(Fact("<b>", "r", "o"))
    assert made("{{ x }}", x=picture) == picture
    assert "<b>" not in picture


def test_what_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        made("{{ x }}")


def test_a_literal_is_known() -> None:
    assert made("{{ x is literal }}", x=Literal("1954")) == "True"
    assert made("{{ x is literal }}", x="1954") == "False"


def test_colours_stand_in_one_sheet() -> None:
    assert re.search(r"--ink: #\w+", static_content("page.css").decode())
    for name in ("service.css", "parts.css", "report.css"):
        assert not re.findall(r"#[0-9a-f]{3,8}\b", static_content(name).decode()), name
