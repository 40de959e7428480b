"""The report of a study: one page of HTML with what was asked, what was found, who took part, and how.

Everybody who took part gets it. It loads nothing, and can be read on any screen and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unpooled.asking.question import Arrays
from unpooled.described.facts import plan_facts
from unpooled.described.methods_section import Run, methods
from unpooled.described.parties import what_parties_get
from unpooled.described.what_leaves import without_compensator
from unpooled.errors import listed
from unpooled.formats import table_summary
from unpooled.kernels.statistics import inflation_text
from unpooled.methods import algorithm
from unpooled.methods.algorithm import NOT_POOLED, VariantMethod
from unpooled.methods.components import procedure as components
from unpooled.methods.loco import procedure as loco
from unpooled.methods.regression import (
    credible_report,
    credible_sets,
    normal_scores,
    saddlepoint,
    saddlepoint_report,
)
from unpooled.methods.regression.dependent import sex_is_determined
from unpooled.methods.shared.options import FAR
from unpooled.methods.shared.summary import FREQUENCIES_FAR
from unpooled.pages.page import Html, document, facts, mark, section, table, tag
from unpooled.panel.panel import Panel
from unpooled.pictures import drawing, forest_svg, manhattan_svg, people_svg, quantiles_svg
from unpooled.pictures.associations import ODDS_RATIO, confidence
from unpooled.pictures.drawing import shortened
from unpooled.pictures.loci import GENOME_WIDE, REACH, SUGGESTIVE
from unpooled.plan.common_options import CONDITION, COVARIATES
from unpooled.plan.plan import Plan
from unpooled.protocol import sealing

MOST_LOCI = 100
_LONGEST_NAME = 40  # letters of an ID or an allele, which may have thousands

STYLE = (
    drawing.STYLE
    + people_svg.STYLE
    + table_summary.STYLE
    + """
main { max-width: 72rem }
.numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem;
  margin: 1.25rem 0 0 }
.numbers dd { font-size: 1.75rem; font-weight: 650; line-height: 1.2 }
.numbers small { display: block; font-size: .8125rem; font-weight: 400; color: var(--muted) }
.plots { display: grid; grid-template-columns: minmax(0, 30rem) minmax(0, 1fr); gap: 1.5rem }
.wide svg.plot { min-width: 44rem }
.methods { max-width: 46rem; overflow-wrap: anywhere }
.asked dl { grid-template-columns: 13rem 1fr }
td { min-width: 4rem }
td code { white-space: nowrap }
@media (max-width: 56rem) { .plots { grid-template-columns: minmax(0, 1fr) } }
@media (max-width: 34rem) { .asked dl { grid-template-columns: 1fr } }
@media print { .numbers, section.plots { break-inside: avoid } svg.plot { min-width: 0 }
  .wide { overflow: visible } table { font-size: 8.5pt } td code { white-space: normal } td { min-width: 0 } }
@page { margin: 15mm }
"""
)


@dataclass(frozen=True)
class Member:
    """A cohort that took part, as the others know it."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class File:
    """A result file."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Pictures:
    """The output of `unpooled.pictures` for a study, reduced to what a page can show."""

    overview: Mapping[str, Any]
    quantiles: Mapping[str, Any]
    loci: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class About:
    """The facts about a study that a report gives beside its plan and its results."""

    name: str
    description: str
    run: Run
    members: Sequence[Member]
    panel_digest: str
    """Digest of the agreed variants, in hex; empty for a study of tables."""
    files: Sequence[File]


def report(
    plan: Plan, about: About, found: Pictures | None, tables: Mapping[str, Arrays], panel: Panel | None = None
) -> str:
    """The page of one phenotype. `found` is None where there is nothing to draw; `tables` are the results.

    `panel`: its variants; None for a study of tables.
    """
    shown = algorithm(plan.test).shown
    parts = [
        *_warning(plan),
        _numbers(plan, about.run, found),
        *_of_x(plan, panel, tables),
        *(_results(plan, found) if found else []),
        *([credible_report.shown(tables, panel)] if panel and credible_sets.TABLE in tables else []),
        *([saddlepoint_report.shown(tables, panel)] if panel and saddlepoint.TABLE in tables else []),
        *([normal_scores.shown(tables)] if normal_scores.TABLE in tables else []),
        *([components.shown(tables)] if components.VALUES in tables else []),
        *([loco.shown(tables)] if loco.FIT in tables else []),
        *([shown(tables, plan)] if shown else []),
        _asked(plan, about),
        _people(plan, about),
        _methods(plan, about.run),
        _privacy(plan, about.run),
        _files(plan, about),
    ]
    return document(about.name, *parts, about=_in_short(plan, about.run), style=STYLE, is_long=True)


def _in_short(plan: Plan, run: Run) -> str:
    method = algorithm(plan.test)
    has_phenotype = isinstance(method, VariantMethod) and method.needs_phenotype
    what = method.title + (f" of {plan.phenotype}" if has_phenotype else "")
    return f"{what} · {len(run.cohorts)} cohorts that kept their data · ended on {run.ended}"


def _warning(plan: Plan) -> list[Html]:
    said = algorithm(plan.test).differs(plan)
    return [tag("p", mark("warning", NOT_POOLED), f": {said}.")] if said else []


# Results


def _numbers(plan: Plan, run: Run, found: Pictures | None) -> Html:
    told = list(_told(plan, run, found))
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in told),
        class_="numbers",
    )


def _told(plan: Plan, run: Run, found: Pictures | None) -> Iterator[tuple[str, str, str]]:
    """The most telling numbers: a name, the number, and what goes with it."""
    numbers = run.summaries[0] if run.summaries else {}
    yield "Cohorts", str(len(run.cohorts)), ""
    yield from algorithm(plan.test).key_numbers(plan)
    if people := numbers.get("people"):
        parts = ((f"{numbers[name]:,} {name}") for name in ("cases", "controls") if numbers.get(name))
        yield "People", f"{people:,}", ", ".join(parts)
    if (variants := numbers.get("variants")) is not None:
        yield "Variants tested", f"{variants:,}", f"of {run.panel_size or 0:,} that the cohorts agreed on"
    if (inflation := numbers.get("genomic_inflation")) is not None:
        yield "Genomic inflation λ", inflation_text(inflation), "1 is no inflation"
    if (far := numbers.get(FREQUENCIES_FAR)) is not None:
        yield "Frequencies far from the pool's", f"{far:,}", f"beyond {FAR} SD, over cohorts and variants"
    if found:
        beyond = sum(_is_genome_wide(row) for row in found.loci)
        yield "Loci", f"{beyond:,}", f"with P ≤ 5e-8; {len(found.loci):,} with P ≤ 1e-5"


def _of_x(plan: Plan, panel: Panel | None, tables: Mapping[str, Arrays]) -> Iterator[Html]:
    """Warn if covariates say what the sex says, which is one more on X."""
    rows = tables.get(algorithm(plan.test).table, {})
    if panel is None or not COVARIATES.of(plan) or CONDITION.of(plan) or "code" not in rows:
        return  # beside a variant that is conditioned on, its neighbours have no results either
    if sex_is_determined(plan, panel, rows):
        names = listed(plan.covariate_columns, 6)
        yield section(
            "Chromosome X",
            f"No variant on X has a result. There sex is one more covariate, and the study's ({names}) "
            "determine it, or nearly. Leave out the one that says the same, or X.",
        )


def _is_genome_wide(row: Mapping[str, Any]) -> bool:
    return bool(10.0 ** -row["neg_log10_p"] <= GENOME_WIDE)


def _results(plan: Plan, found: Pictures) -> list[Html]:
    return [
        section("Manhattan plot", _manhattan(found.overview)),
        section("Loci", *_loci(plan, found)),
        *_across(plan, found),
        section("QQ plot", tag("div", _quantiles(found.quantiles), _curves(found.quantiles), class_="plots")),
    ]


def _manhattan(overview: Mapping[str, Any]) -> Html:
    drawn = "the strongest as points, the others as the range they fill"
    one_by_one = "each a point"
    missing = f" {overview['without_p']:,} variants have no P." if overview["without_p"] else ""
    caption = (
        f"{overview['variants']:,} variants, {drawn if overview['segments']['low'] else one_by_one}."
        f"{missing} Diamonds lead a locus; the solid line is P = 5e-8, the dashed one 1e-5."
    )
    picture = tag("div", manhattan_svg.draw(overview), class_="wide", tabindex=0, role="region",
                  aria_label="Manhattan plot")  # fmt: skip
    return tag("figure", picture, tag("figcaption", caption))


def _quantiles(quantiles: Mapping[str, Any]) -> Html:
    caption = (
        "Dashed: as expected if nothing is associated. Shaded: where 95 % of such studies lie, by rank, if "
        "tests are independent."
    )
    return tag("figure", quantiles_svg.draw(quantiles), tag("figcaption", caption))


def _curves(quantiles: Mapping[str, Any]) -> Html:
    rows = [
        (quantiles_svg.name_of(curve), f"{curve['variants']:,}", quantiles_svg.inflation_of(curve))
        for curve in quantiles["curves"]
    ]
    note = "λ is the median chi-square over the one that is expected. Frequencies are the rarer allele's."
    heads = ("Frequency", "Variants", "λ")
    return tag("div", table("λ by frequency", heads, rows, {1, 2}), tag("p", note, class_="muted"))


def _loci(plan: Plan, found: Pictures) -> list[Html]:
    if not found.loci:
        return [
            tag("p", "No locus: no variant has P ≤ 1e-5."),
            tag("p", "That is a result: the data show no association as strong as that.", class_="muted"),
        ]
    percent = f"{confidence(plan) * 100:g} %"
    heads = ("Lead variant", "Chr", "Position", "A1 / A2", "Frequency of A1",
             f"{found.overview['effect']} ({percent} limits)", "P", "Variants")  # fmt: skip
    more = len(found.loci) - MOST_LOCI
    note = (
        f"A locus reaches {REACH // 1000} kb to either side of its lead variant, and counts the variants "
        f"with P ≤ {drawing.power(SUGGESTIVE)}. Effects are of a copy of A1."
        + (f" The strongest {MOST_LOCI} are listed; {more:,} more are in the result files." * (more > 0))
    )
    rows = map(_locus, found.loci[:MOST_LOCI])
    caption = f"{min(len(found.loci), MOST_LOCI):,} loci, the strongest first"
    return [table(caption, heads, rows, {2, 4, 5, 6, 7}), tag("p", note, class_="muted")]


def _locus(row: Mapping[str, Any]) -> tuple[str, ...]:
    effect, lower, upper = (_number(row[name]) for name in ("effect", "lower", "upper"))
    return (
        shortened(row["id"], _LONGEST_NAME),
        row["chromosome"],
        f"{row['position']:,}",
        " / ".join(shortened(row[name], _LONGEST_NAME) for name in ("a1", "a2")),
        _number(row["a1_freq"]),
        f"{effect} ({lower} to {upper})",
        row["p"] or "",
        f"{row['locus']['variants']:,}",
    )


def _across(plan: Plan, found: Pictures) -> list[Html]:
    rows = [row for row in found.loci if row["across"]][:MOST_LOCI]
    if not rows:
        return []
    effect = found.overview["effect"]
    heads = ("Lead variant", "Cohorts", "P, fixed", "P, random", "Q", "I²", f"{effect} with limits")
    drawn = [_one_across(row, odds=effect == ODDS_RATIO) for row in rows]
    note = (
        "Each cohort's own estimate counts by the inverse of its variance: the fixed effect. The random "
        "effect allows effects to differ between cohorts. Q is the P value of Cochran's test that they do "
        "not; I² is how much of their variation is more than chance. No cohort's own estimate is known."
    )
    listed = table("The same variants across the cohorts", heads, drawn, {1, 2, 3, 4, 5})
    return [section("Across the cohorts", listed, tag("p", note, class_="muted"))]


def _one_across(row: Mapping[str, Any], *, odds: bool) -> tuple[str, ...]:
    across = row["across"]
    share = across["i_squared"]
    return (
        shortened(row["id"], _LONGEST_NAME),
        str(across["studies"]),
        *(across[model]["p"] or "NA" for model in ("fixed", "random")),
        _number(across["q_p"]),
        "NA" if share is None else f"{share:.0f} %",
        forest_svg.draw(
            [
                _effect("pooled", row),
                _effect("fixed effect", across["fixed"]),
                _effect("random effect", across["random"]),
            ],
            odds=odds,
        ),
    )


def _effect(name: str, of: Mapping[str, Any]) -> forest_svg.Effect:
    effect, lower, upper = (
        math.nan if of[key] is None else float(of[key]) for key in ("effect", "lower", "upper")
    )
    return forest_svg.Effect(name, effect, lower, upper)


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4g}"


# What was asked, of whom, and how


def _asked(plan: Plan, about: About) -> Html:
    said = plan_facts(plan)
    parts = (("Question", said.question), ("Model", said.model), ("Rules", said.rules))
    described = [tag("p", about.description)] if about.description else []
    listed = (part for title, rows in parts for part in (tag("h3", title), facts(rows)))
    return section("What was asked", *described, tag("div", *listed, class_="asked"))


def _people(plan: Plan, about: About) -> Html:
    rows = [(member.name, tag("code", member.fingerprint)) for member in about.members]
    caption = "Cohorts"
    if not plan.in_pairs:
        caption = "Cohorts, and the compensator"
        rows.append(("Compensator", tag("code", sealing.fingerprint(plan.compensator_key))))
    return section("Who took part", table(caption, ("Party", "Fingerprint of its key"), rows))


def _methods(plan: Plan, run: Run) -> Html:
    paragraphs = methods(plan, run).strip().split("\n\n")
    return section("Methods", tag("div", *(tag("p", text) for text in paragraphs), class_="methods"))


def _privacy(plan: Plan, run: Run) -> Html:
    heads = ("Party", "Got", "Could read", "Never got")
    parties = ((party.name, party.gets, party.reads, party.never) for party in what_parties_get(plan))
    got = table("What each party got", heads, parties)
    if plan.in_pairs:
        return section(
            "Privacy", tag("p", mark("good", "No compensator"), f" {without_compensator(plan)}."), got
        )
    blind = (
        mark("warning", "One operator: not blind")
        if run.one_operator
        else mark("good", "Server and compensator apart")
    )
    consequence = (
        "The same people ran server and compensator, and could have worked out each cohort's numbers."
        if run.one_operator
        else "The platform's operator states that server and compensator were run by different operators."
    )
    return section("Privacy", tag("p", blind, " ", consequence), got)


def _files(plan: Plan, about: About) -> Html:
    made = (
        ("Software", about.run.software),
        ("Protocol version", str(plan.version)),
        ("SHA-256 of the plan", tag("code", about.run.plan_hash)),
        *([("SHA-256 of the agreed variants", tag("code", about.panel_digest))] * bool(about.panel_digest)),
    )
    rows = ((file.name, f"{file.bytes:,}", tag("code", file.sha256)) for file in about.files)
    others = table("The other result files", ("File", "Bytes", "SHA-256"), rows, {1})
    return section("Versions and files", facts(made), others)
