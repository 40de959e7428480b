"""A kept HTML document: it escapes, it runs and loads nothing, and it is well formed."""

from __future__ import annotations

from xml.etree import ElementTree

from unpooled.page import (
    Html,
    columns,
    document,
    encoded,
    facts,
    joined,
    mark,
    section,
    share,
    table,
    tag,
)

EVIL = "<script>alert(1)</script>\"'&"


def parsed(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(markup)  # noqa: S314 - our own


def test_text_is_escaped_wherever_it_goes_in() -> None:
    made = [
        tag("p", EVIL, title=EVIL),
        section(EVIL, EVIL),
        table(EVIL, [EVIL], [[EVIL]]),
        facts([(EVIL, EVIL)]),
        mark("bad", EVIL),
        columns(EVIL, [(EVIL, 3)]),
        joined([EVIL]),
    ]
    page = document(EVIL, *made, about=EVIL)
    assert "<script" not in page
    for part in made[:-1]:
        assert EVIL in "".join(parsed(part).itertext())


def test_markup_is_kept() -> None:
    assert tag("p", tag("b", "a<b"), "c") == "<p><b>a&lt;b</b>c</p>"
    assert (
        tag("td", "x", class_="number", aria_label="y", scope=None)
        == '<td class="number" aria-label="y">x</td>'
    )
    assert isinstance(joined(["a"]), Html)


def test_a_table_names_its_rows_and_columns() -> None:
    found = parsed(table("Counts", ["what", "number"], [["kept", "60"]], numbers={1}))
    assert [(cell.text, cell.get("scope"), cell.get("class")) for cell in found.iter("th")] == [
        ("what", "col", None),
        ("number", "col", "number"),
        ("kept", "row", None),
    ]
    assert found.get("aria-label") == "Counts"


def test_pictures_say_their_numbers() -> None:
    picture = parsed(columns("Variants", [("1", 2000), ("X", 1000)]))
    assert picture.find("svg/title").text == "Variants. 1: 2,000, X: 1,000"  # type: ignore[union-attr]
    heights = [float(bar.get("height", "")) for bar in picture.iter("rect")]
    assert heights[0] == 2 * heights[1]
    assert [float(bar.get("width", "")) for bar in parsed(share(1, 4)).iter("rect")] == [100, 25]
    assert columns("Nothing", []) and share(0, 0)


def test_a_page_loads_and_runs_nothing() -> None:
    page = encoded(document("Título", section("One", "é"), style=".one { color: red }")).decode()
    assert "default-src &#x27;none&#x27;" in page and ".one { color: red }</style>" in page
    assert not any(
        word in page for word in ("<script", "<link", "src=", "http:", "https:", "url(", "@import")
    )
