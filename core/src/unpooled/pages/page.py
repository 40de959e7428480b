"""A document of HTML that can be kept: one file that loads nothing, for screen and paper.

It runs nothing either, but for a long one: that runs the script beside this module, which its policy names by
the script's digest.

    page = document("Data check", section("Samples", table("Samples", ["", "number"], [["kept", "60"]])))
    Path("check.html").write_bytes(encoded(page))

Text is escaped wherever it goes in; only `Html`, which these functions make, stays as it is.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path

Attribute = str | int | float | None

STYLE = """
:root { color-scheme: light;
  --page: #f5f7f7; --surface: #fff; --text: #17232a; --muted: #51616a; --line: #d3dbde; --mark: #14566f;
  --track: #e2e8ea; --good: #1c6a3a; --good-soft: #e2f3e8; --warning: #7a4b00; --warning-soft: #fdf1dc;
  --bad: #a61b1b; --bad-soft: #fdeaea; --plain: #51616a; --plain-soft: #eceff0 }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark;
  --page: #11171a; --surface: #192124; --text: #e4ebed; --muted: #9fb0b7; --line: #33424a; --mark: #6fc3da;
  --track: #2b383e; --good: #7fd3a0; --good-soft: #16352a; --warning: #f0c067; --warning-soft: #3a2d12;
  --bad: #ff9b93; --bad-soft: #421d1c; --plain: #9fb0b7; --plain-soft: #263238 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 }
h2 { font-size: 1.15rem; margin: 0 0 .75rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .5rem }
p { margin: .5rem 0 }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 6px;
  padding: 1.1rem 1.25rem; margin-top: 1.25rem }
.muted, figcaption, caption { color: var(--muted) }
code { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; font-size: .92em;
  overflow-wrap: anywhere }
.wide { overflow-x: auto }
.more { color: var(--muted); font-weight: 400; font-size: .92em }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; padding-bottom: .4rem }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: break-word }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom }
tbody th { font-weight: 600 }
.number { text-align: right }
td.number { white-space: nowrap }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: .5rem 0 }
dt { color: var(--muted) }
dd { margin: 0; overflow-wrap: anywhere }
.mark { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap }
.good { color: var(--good); background: var(--good-soft) }
.warning { color: var(--warning); background: var(--warning-soft) }
.bad { color: var(--bad); background: var(--bad-soft) }
.plain { color: var(--plain); background: var(--plain-soft) }
figure { margin: .75rem 0 0 }
svg { display: block; max-width: 100%; height: auto }
td svg { margin-top: .45rem }
svg .bar { fill: var(--mark) } svg .track { fill: var(--track) } svg .axis { stroke: var(--line) }
svg text { fill: var(--muted); font-size: 12px }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr } dd { margin-bottom: .5rem } }
@media print { body { background: none; font-size: 10.5pt } main { max-width: none; padding: 0 }
  section { border: 0; padding: 0 } tr, figure, dt, dd { break-inside: avoid }
  h2, h3, caption { break-after: avoid } .mark { background: none } }
"""

_STYLE_OF_LONG = """
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem }
nav { margin-top: 1rem } nav a { color: var(--mark) }
section { scroll-margin-top: 1rem }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px;
  padding: .1rem .6rem; cursor: pointer }
thead button { border: 0; padding: 0; text-align: inherit; text-decoration: underline dotted }
[aria-sort=ascending] button::after { content: " ▲"; content: " ▲" / "" }
[aria-sort=descending] button::after { content: " ▼"; content: " ▼" / "" }
.tools { display: flex; gap: .5rem } figure svg { touch-action: pan-y }
@media screen and (min-width: 92rem) {
  nav { position: fixed; top: 2rem; left: 1.5rem; width: 11rem }
  nav ol { display: block } nav li { margin: .4rem 0 }
  main { margin-left: max(14rem, calc(50vw - 36rem)) } }
@media print { nav, .tools { display: none } thead button { text-decoration: none } }
"""

# The file may hold what strangers wrote: whatever it holds, a browser loads nothing for it, and runs nothing
# but our own script.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"


class Html(str):
    """Markup that is to stay as it is. Made by `tag`, of parts that were escaped."""

    __slots__ = ()


def tag(name: str, *content: str, **attributes: Attribute) -> Html:
    """An element. Text in it is escaped, and so are attributes; one that is None is left out.

    `class_` stands for class, and `_` in other names for `-`.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{joined(content)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Parts one after the other; what is not Html is escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def document(title: str, *body: str, about: str = "", style: str = "", is_long: bool = False) -> str:
    """A whole document with its title as heading, and below that in small what it is `about`.

    `style` are rules for what only this document has. A long one begins with links to its sections, its
    tables can be sorted, and one can zoom into its pictures.
    """
    script = _script() if is_long else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = _POLICY + (f"; script-src 'sha256-{digest}'" if is_long else "")
    head = joined(
        (
            Html('<meta charset="utf-8"/>'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}"/>'),
            tag("title", title),
            Html(f"<style>{STYLE}{_STYLE_OF_LONG * is_long}{style}</style>"),
        )
    )
    opening = tag("header", tag("h1", title), tag("p", about, class_="muted") if about else "")
    parts = _with_contents(joined(body)) if is_long else joined(body)
    running = Html(f"<script>{script}</script>") if is_long else ""
    whole = tag("html", tag("head", head), tag("body", tag("main", opening, parts), running), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _script() -> str:
    return (Path(__file__).parent / "closer.js").read_text("utf-8")


def _with_contents(body: Html) -> Html:
    """A body whose sections have ids, with links to them before the first."""
    opening = re.compile("<section><h2>(.*?)</h2>")  # markup of our own: a text has no less-than sign
    titles = [Html(found[1]) for found in opening.finditer(body)]
    numbers = iter(range(1, len(titles) + 1))
    numbered = opening.sub(lambda found: f'<section id="part{next(numbers)}"><h2>{found[1]}</h2>', body)
    links = [tag("li", tag("a", text, href=f"#part{k}")) for k, text in enumerate(titles, start=1)]
    contents = tag("nav", tag("ol", *links), aria_label="Contents")
    before, first, rest = numbered.partition("<section")
    return Html(f"{before}{contents}{first}{rest}")


def section(title: str, *content: str) -> Html:
    return tag("section", tag("h2", title), *content)


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()
) -> Html:
    """A table whose first column names the rows; the columns in `numbers`, from 0, stand to the right."""

    def cell(name: str, k: int, content: str, **more: Attribute) -> Html:
        return tag(name, content, class_="number" if k in numbers else None, **more)

    head = [cell("th", k, text, scope="col") for k, text in enumerate(heads)]
    body = [
        tag(
            "tr",
            *(cell("td" if k else "th", k, text, scope=None if k else "row") for k, text in enumerate(row)),
        )
        for row in rows
    ]
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", whole, class_="wide", tabindex=0, role="region", aria_label=caption)


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Names and what they are."""
    return tag("dl", *(part for name, value in rows for part in (tag("dt", name), tag("dd", value))))


def mark(tone: str, word: str) -> Html:
    """A word in the colour of its tone: good, warning, bad or plain. The word must say it by itself."""
    return tag("span", word, class_=f"mark {tone}")


def share(part: float, whole: float) -> Html:
    """A small bar: how much of the whole a part is. The number stands beside it, so it is no news to hear."""
    width = round(100 * part / whole, 1) if whole else 0
    return tag(
        "svg",
        tag("rect", class_="track", width=100, height=8, rx=2),
        tag("rect", class_="bar", width=width, height=8, rx=min(2, width / 2)),
        width=100,
        height=8,
        viewBox="0 0 100 8",
        aria_hidden="true",
    )


def columns(caption: str, values: Sequence[tuple[str, int]], width: int = 640, height: int = 120) -> Html:
    """A picture of counts by name, as columns; a screen reader hears them as one sentence."""
    most, step = max((count for _, count in values), default=0) or 1, width / max(len(values), 1)
    bars = [
        part
        for k, (name, count) in enumerate(values)
        for part in _column(k, name, count / most, count, step, height)
    ]
    words = ", ".join(f"{name}: {count:,}" for name, count in values)
    picture = tag(
        "svg",
        tag("title", f"{caption}. {words}"),
        *bars,
        tag("line", class_="axis", x1=0, x2=width, y1=height - 20, y2=height - 20),
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )
    return tag("figure", picture, tag("figcaption", caption))


def _column(k: int, name: str, part: float, count: int, step: float, height: int) -> list[Html]:
    """The k-th column, its name below, and above it its number if there is room."""
    middle, tall = round((k + 0.5) * step, 1), round(part * (height - 40), 1)
    wide = round(min(0.7 * step, 60), 1)
    made = [
        tag(
            "rect",
            class_="bar",
            x=round(middle - wide / 2, 1),
            y=round(height - 20 - tall, 1),
            width=wide,
            height=tall,
        ),
        tag("text", name, x=middle, y=height - 5, text_anchor="middle"),
    ]
    if len(f"{count:,}") * 7 < step:
        made.append(tag("text", f"{count:,}", x=middle, y=round(height - 24 - tall, 1), text_anchor="middle"))
    return made


def encoded(page: str) -> bytes:
    """The bytes of a document."""
    return page.encode("utf-8", "backslashreplace")  # a path may hold bytes that are no text
