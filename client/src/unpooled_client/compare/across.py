"""The page and the table about what the cohorts' estimates say together, and say without this cohort."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from unpooled.pages.page import Html, tag
from unpooled.pages.page import table as html_table
from unpooled.pictures import forest_svg
from unpooled.pictures.forest_svg import Effect
from unpooled_client.compare.estimates import NONE, Across, Contrast, Estimate, as_text

TITLE = "Across the cohorts, and without this one"


def titles(names: Sequence[str]) -> list[str]:
    """Titles of the columns that a table has beside the others; `names` are those of an estimate."""
    each = [f"{whose}_{name}" for whose in ("FIXED", "RANDOM", "WITHOUT_US") for name in names]
    return ["COHORTS", *each, "Q", "I"]


def cells(one: Across | None) -> list[str]:
    """Return the cells under these titles."""
    if one is None:
        return [NONE] * len(titles(["effect", "SE", "lower", "upper", "P"]))
    each = [word for of in (one.fixed, one.random, one.without) for word in of.texts]
    return [str(one.studies), *each, as_text(one.q_p), as_text(one.i_squared)]


def shown(compared: Sequence[Contrast], percent: int, *, odds: bool) -> list[Html]:
    """The section of the page: how to read it, and each variant with its picture."""
    effect = "odds ratio" if odds else "beta"
    heads = ["Variant", "A1", f"{effect} ({percent} %)", "P", "picture", "cohorts", "Q", "I²"]
    rows = [_row(one, one.across, odds=odds) for one in compared if one.across]
    return [
        tag(
            "p",
            "Each cohort's own estimate counts by the inverse of its variance: the fixed effect. The random "
            "effect allows effects to differ between cohorts. Q is the P value of Cochran's test that they "
            "do not differ, I² how much of their variation is more than chance, in per cent. Without us is "
            "the fixed effect of the other cohorts: what this cohort added is taken off again.",
        ),
        tag("p", "What is said without us follows from the results and this cohort's own data. It is about "
            "the others, so keep it to yourselves.", class_="muted"),
        html_table("The same variants", heads, rows, numbers={5, 6, 7}),
    ]  # fmt: skip


def _row(one: Contrast, across: Across, *, odds: bool) -> list[str]:
    own = one.own if one.own and one.own.is_known else None
    told = [("fixed effect", across.fixed, True), ("random effect", across.random, True),
            ("without us", across.without, True)]  # fmt: skip
    if own:
        told.append(("this cohort", own, False))
    effects = [Effect(name, of.effect, of.lower, of.upper, combined) for name, of, combined in told]
    return [
        one.variant.name,
        one.variant.a1,
        _under(_limits(of) for _, of, _ in told),
        _under(of.p for _, of, _ in told),
        forest_svg.draw(effects, odds=odds),
        str(across.studies),
        f"{across.q_p:.3g}" if math.isfinite(across.q_p) else "",
        f"{across.i_squared:.0f}" if math.isfinite(across.i_squared) else "",
    ]


def _limits(of: Estimate) -> str:
    return f"{of.effect:.3g} ({of.lower:.3g} to {of.upper:.3g})" if math.isfinite(of.se) else "none"


def _under(words: Iterable[str]) -> Html:
    """Lines under one another, as high as those of the picture."""
    lines = [tag("div", word, style="line-height: 22px; white-space: nowrap") for word in words]
    return tag("div", *lines)
