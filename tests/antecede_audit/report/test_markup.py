"""Whatever comes from a file is escaped before it reaches the page."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.report.page.markup import Markup, element, joined, json_script


def test_texts_are_escaped_and_markup_is_not() -> None:
    inner = element("b", "a < b & c")

    assert inner == "<b>a &lt; b &amp; c</b>"
    assert element("p", inner, "<i>") == "<p><b>a &lt; b &amp; c</b>&lt;i&gt;</p>"


def test_attributes_are_escaped_and_may_be_left_out() -> None:
    made = element(
        "a", 1, None, 2.50, class_='x"y', data_run=3, hidden=True, title=None, disabled=False
    )

    assert made == '<a class="x&quot;y" data-run="3" hidden>12.5</a>'


def test_an_element_may_have_an_attribute_called_name() -> None:
    assert element("meta", name="generator", content="x") == '<meta name="generator" content="x">'


def test_pieces_join_into_markup() -> None:
    assert isinstance(joined(["<", Markup("<br>")]), Markup)
    assert joined(["<", Markup("<br>")]) == "&lt;<br>"


@given(st.text())
def test_data_for_scripts_survives_and_cannot_break_out(text: str) -> None:
    script = json_script("run-0", {"name": text + "</script><script>"})
    found = re.fullmatch(r'<script type="application/json" id="run-0">(.*)</script>', script, re.S)

    assert found is not None
    assert "<" not in found[1]
    assert json.loads(found[1]) == {"name": text + "</script><script>"}
