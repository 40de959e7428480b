"""A cohort against the pool, as a table for programs and as a page for people. Both stay in this folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from unpooled.formats import titles
from unpooled.methods.shared.options import FAR
from unpooled.pages.page import Html, document, encoded, facts, mark, section, table, tag
from unpooled.panel.chromosomes import chromosome_name
from unpooled.pictures.associations import confidence
from unpooled.plan.common_options import FILE_STEM
from unpooled.plan.plan import Plan
from unpooled_client.compare import across
from unpooled_client.compare.estimates import NONE, Contrast, Estimate, as_text
from unpooled_client.compare.frequencies import Frequencies
from unpooled_client.state.written import Written

if TYPE_CHECKING:
    from unpooled_client.compare.tables import PoolAndOwn

_NAME = "own-against-pool"
TITLE = "This cohort against the pool"


@dataclass(frozen=True)
class Study:
    """Heading of both files."""

    name: str
    cohort: str
    plan: Plan


@dataclass(frozen=True)
class Place:
    """Destination of both files."""

    folder: Path
    written: Written
    plan: Plan

    @property
    def paths(self) -> tuple[Path, Path]:
        return own_files(self.folder, self.plan)

    def refuse_foreign(self) -> None:
        """NotOurs if somebody else's files stand there: to be known before anything is computed."""
        for path in self.paths:
            self.written.refuse_foreign(path)


def own_files(folder: Path, plan: Plan) -> tuple[Path, Path]:
    """The table and the page among the results of a study in `folder`, named as its result files are."""
    parts = (FILE_STEM.of(plan), plan.phenotype if plan.of_several else "", _NAME)
    name = ".".join(filter(None, parts))
    return folder / f"{name}.tsv", folder / f"{name}.html"


def write_variants(
    place: Place,
    study: Study,
    compared: Sequence[Contrast],
    *,
    odds: bool,
    left_out: Sequence[str],
    frequencies: Frequencies | None = None,
) -> tuple[Path, Path]:
    """Write both files about variants; their paths. Raises NotOurs. `left_out` are columns of covariates."""
    level = confidence(study.plan)
    percent = titles.percent(level)
    effect = "OR" if odds else "BETA"
    names = ("N", "FREQ", effect, "SE", *titles.of_limits(level), "P")
    head = [
        *("CHR", "BP", "SNP", "A1", "A2"),
        *(f"{whose}_{name}" for whose in ("POOL", "OWN") for name in names),
        *("SAME_DIRECTION", "IN_POOL_LIMITS", "IN_OWN_LIMITS", "NOTE"),
    ]
    rows = [_line(one, study.plan, odds=odds) for one in compared]
    combined = any(one.across for one in compared)
    if combined:
        head += across.titles(names[2:])
        rows = [row + across.cells(one.across) for row, one in zip(rows, compared, strict=True)]
    page = document(
        TITLE,
        section("How to read this", *_reading(study, percent, left_out, odds=odds)),
        section("The strongest variants", _forest_table(compared, study.plan, percent, odds=odds)),
        *([section(across.TITLE, *across.shown(compared, percent, odds=odds))] if combined else []),
        *([section("Frequencies", *_frequencies(frequencies))] if frequencies else []),
        about=_about(study),
    )
    return _write(place, [head, *rows], page)


def write_tables(place: Place, study: Study, compared: Sequence[PoolAndOwn]) -> tuple[Path, Path]:
    """Write both files about columns; their paths. Raises NotOurs."""
    head = ["COLUMN", "UNIT", "WHAT", "POOL", "OWN"]
    rows = [[one.feature, one.unit, one.what, _full(one.pool), _full(one.own)] for one in compared]
    page = document(
        TITLE,
        section(
            "How to read this",
            tag(
                "p",
                "For each column, what the study found for all cohorts together, and what the same method "
                "finds for this cohort's table alone.",
            ),
        ),
        *(
            section(feature, _numbers_table(list(some)))
            for feature, some in groupby(compared, key=lambda one: one.feature)
        ),
        about=_about(study),
    )
    return _write(place, [head, *rows], page)


def _write(place: Place, rows: Iterable[Iterable[str]], page: str) -> tuple[Path, Path]:
    lines, shown = place.paths
    place.written.put(lines, "".join("\t".join(row) + "\n" for row in rows).encode("utf-8"))
    place.written.put(shown, encoded(page))
    return lines, shown


def _about(study: Study) -> str:
    return (
        f"Study “{study.name}”, cohort {study.cohort}. Computed on this computer after the study; "
        "nothing of it was sent."
    )


def _line(one: Contrast, plan: Plan, *, odds: bool) -> list[str]:
    variant = one.variant
    return [
        chromosome_name(variant.chromosome, plan.autosomes),
        str(variant.position),
        variant.name,
        variant.a1,
        variant.a2 or NONE,
        *_numbers(one.pool),
        *(_numbers(one.own) if one.own else [NONE] * 7),
        *(
            {True: "yes", False: "no", None: NONE}[answer]
            for answer in (one.same_direction(odds=odds), one.in_pool_limits, one.in_own_limits)
        ),
        one.note or ".",
    ]


def _numbers(of: Estimate) -> list[str]:
    return [NONE if of.n is None else str(of.n), as_text(of.frequency), *of.texts]


def _full(value: float) -> str:
    return repr(value) if math.isfinite(value) else NONE


# The page


def _reading(study: Study, percent: int, left_out: Sequence[str], *, odds: bool) -> list[Html]:
    effect = "Odds ratio" if odds else "Effect"
    said = [
        tag(
            "p",
            "The variants with the smallest P in the pool, at most one per million base pairs. Next to the "
            "pool's estimate is what the same test finds in this cohort's data alone. This cohort is part of "
            "the pool.",
        ),
        facts(
            [
                ("Estimates", f"{effect} per copy of A1, with limits of {percent} %"),
                ("In line", "this cohort's limits contain the pool's effect"),
                ("Apart", f"they do not. By chance alone about {100 - percent} in 100 are"),
                ("Other way", "apart, and this cohort's effect goes the other way"),
            ]
        ),
    ]
    if left_out:
        more = "Not in this cohort's own model, as all here have the same or it follows from others: "
        said.append(tag("p", f"{more}{', '.join(left_out)}."))
    return said


def _forest_table(compared: Sequence[Contrast], plan: Plan, percent: int, *, odds: bool) -> Html:
    scale = _Scale.of(compared, odds=odds)
    effect = "odds ratio" if odds else "beta"
    heads = ["Variant", "A1", "", f"{effect} ({percent} %)", "A1 freq.", "P", "picture", "verdict"]
    rows = [_row(one, plan, scale, odds=odds) for one in compared]
    if scale is not None:
        rows.append([tag("span", "scale", class_="muted"), "", "", "", "", "", scale.axis(), ""])
    caption = "Pool: diamond over its limits. This cohort: square on the line of its limits."
    return table(caption, heads, rows, numbers={4, 5})


def _row(one: Contrast, plan: Plan, scale: _Scale | None, *, odds: bool) -> list[str]:
    variant = one.variant
    place = f"{chromosome_name(variant.chromosome, plan.autosomes)}:{variant.position:,}"
    own = one.own if one.own and one.own.is_known else None
    return [
        tag("span", variant.name, Html("<br>"), tag("span", place, class_="muted", style=_ONE_LINE)),
        variant.a1,
        _two("pool", "here"),
        _two(_with_limits(one.pool), _with_limits(own) if own else "none"),
        _two(_short(one.pool.frequency), _short(one.own.frequency if one.own else math.nan)),
        _two(one.pool.p, own.p if own else ""),
        scale.picture(one.pool, own) if scale else "",
        _verdict(one, odds=odds),
    ]


_ONE_LINE = "white-space: nowrap"


def _two(first: str, second: str) -> Html:
    """The pool's over this cohort's."""
    return tag("span", first, Html("<br>"), second, style=_ONE_LINE)


def _with_limits(of: Estimate) -> str:
    limits = f" ({_short(of.lower)} to {_short(of.upper)})" if math.isfinite(of.se) else ""
    return f"{_short(of.effect)}{limits}"


def _short(value: float) -> str:
    return "" if math.isnan(value) else "∞" if value == math.inf else f"{value:.3g}"


def _verdict(one: Contrast, *, odds: bool) -> Html:
    if one.in_own_limits is None:
        return tag("span", mark("plain", "none"), Html("<br>"), tag("span", one.note, class_="muted"))
    if one.in_own_limits:
        return mark("good", "in line")
    return mark("warning", "apart" if one.same_direction(odds=odds) else "other way")


def _frequencies(found: Frequencies) -> list[Html]:
    said = tag(
        "p",
        f"Of {found.variants:,} autosomal variants, {found.far:,} have a frequency here that is more than "
        f"{FAR:g} standard deviations from the pool's, which chance does for hardly any. A few may be other "
        "ancestry; many may be another strand, build or array, or bad genotyping. Look at them before you "
        "use these data again.",
    )
    if not found.farthest:
        return [said]
    rows = [
        [one.name, one.allele, _short(one.pool), _short(one.own), f"{one.score:+.1f}"]
        for one in found.farthest
    ]
    heads = ["Variant", "Allele", "pool", "here", "deviations"]
    return [said, table("The farthest", heads, rows, numbers={2, 3, 4})]


_WIDTH, _HEIGHT, _MARGIN = 220, 40, 8
_POOL_Y, _OWN_Y = 11, 29


@dataclass(frozen=True)
class _Scale:
    """Scale of the effects on the pictures; odds ratios are placed by their logarithms."""

    low: float
    high: float
    odds: bool

    @classmethod
    def of(cls, compared: Sequence[Contrast], *, odds: bool) -> _Scale | None:
        """Wide enough for the pool's limits and all effects, and for this cohort's limits unless these are
        far wider; None if there is nothing to show."""
        own = [one.own for one in compared if one.own and one.own.is_known]
        inner = [value for one in compared for value in (one.pool.lower, one.pool.effect, one.pool.upper)]
        ends = _finite([*inner, *(of.effect for of in own)], odds)
        if not ends:
            return None
        low, high = min(0.0, *ends), max(0.0, *ends)
        span = high - low or 1.0
        wide = _finite([value for of in own for value in (of.lower, of.upper)], odds)
        # One cohort's wide limits would leave no room for the others: they may at most treble the scale.
        low, high = max(min([low, *wide]), low - span), min(max([high, *wide]), high + span)
        room = (high - low or 1.0) * 0.04
        return cls(low - room, high + room, odds)

    def x(self, effect: float) -> float:
        share = (_place(effect, self.odds) - self.low) / (self.high - self.low)
        return round(_MARGIN + min(max(share, 0.0), 1.0) * (_WIDTH - 2 * _MARGIN), 1)

    def picture(self, pool: Estimate, own: Estimate | None) -> Html:
        none = self.x(1.0 if self.odds else 0.0)
        shapes = [tag("line", class_="axis", x1=none, x2=none, y1=0, y2=_HEIGHT)]
        if pool.is_known:
            left, middle, right = (self.x(value) for value in (pool.lower, pool.effect, pool.upper))
            left, right = min(left, middle - 4), max(right, middle + 4)
            points = f"{left},{_POOL_Y} {middle},{_POOL_Y - 6} {right},{_POOL_Y} {middle},{_POOL_Y + 6}"
            shapes.append(tag("polygon", class_="bar", points=points))
        if own is not None:
            x = self.x(own.effect)
            if math.isfinite(own.se):
                ends = {"x1": self.x(own.lower), "x2": self.x(own.upper), "y1": _OWN_Y, "y2": _OWN_Y}
                shapes.append(tag("line", stroke="currentColor", stroke_width=1.5, **ends))
            shapes.append(tag("rect", fill="currentColor", x=x - 4, y=_OWN_Y - 4, width=8, height=8))
        return self._svg(_HEIGHT, *shapes, aria_hidden="true")

    def axis(self) -> Html:
        """The scale itself: its ends, and where there is no effect."""
        none = 1.0 if self.odds else 0.0
        words = [tag("line", class_="axis", x1=0, x2=_WIDTH, y1=2, y2=2)]
        for value in (self._effect(self.low), none, self._effect(self.high)):
            x = self.x(value)
            anchor = "start" if x < 40 else "end" if x > _WIDTH - 40 else "middle"
            if value == none or abs(x - self.x(none)) > 60:
                words.append(tag("text", f"{value:.2g}", x=x, y=17, text_anchor=anchor))
        return self._svg(20, *words, role="img", aria_label="scale of the pictures")

    def _effect(self, place: float) -> float:
        return math.exp(place) if self.odds else place

    def _svg(self, height: int, *shapes: str, **more: str) -> Html:
        return tag(
            "svg",
            *shapes,
            width=_WIDTH,
            height=height,
            viewBox=f"0 0 {_WIDTH} {height}",
            style=f"min-width: {_WIDTH}px",
            **more,
        )


def _finite(effects: Iterable[float], odds: bool) -> list[float]:
    return [place for place in (_place(effect, odds) for effect in effects) if math.isfinite(place)]


def _place(effect: float, odds: bool) -> float:
    if not odds:
        return effect
    return math.log(effect) if effect > 0 else math.nan


def _numbers_table(some: Sequence[PoolAndOwn]) -> Html:
    unit = f", {some[0].unit}" if some[0].unit else ""
    rows = [[one.what, f"{one.pool:.6g}", as_text(one.own) if math.isfinite(one.own) else ""] for one in some]
    return table(f"The pool, and this cohort's table{unit}", ["", "pool", "here"], rows, numbers={1, 2})
