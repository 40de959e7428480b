"""The strongest variants of a study, out of the result files that every cohort gets.

From PLINK 1.9's `.assoc`, `.assoc.linear` or `.assoc.logistic`, or else plink2's `.glm`; frequencies from
`.frq` where it is among the results. Files may have many millions of lines: they are read once, line by line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.described.file_list import report_name
from unpooled.errors import UnpooledError
from unpooled.formats import titles
from unpooled.formats.reading import Line, Report, neg_log10, number
from unpooled.kernels.statistics import with_limits
from unpooled.methods import algorithm
from unpooled.panel.chromosomes import chromosome_code
from unpooled.pictures.associations import confidence
from unpooled.plan.plan import Plan
from unpooled_client.compare.estimates import Estimate, Variant

REACH = 500_000
"""Base pairs to either side of a variant in which no other one is taken."""

Floats = NDArray[np.float64]
Lead: TypeAlias = tuple[Variant, Estimate]

_BIN = 100_000  # of each so many base pairs only the strongest variant is remembered
_SOURCES = ("assoc", "glm")

EFFECT = (titles.ODDS_RATIO, titles.BETA)
STATISTIC = (titles.CHI_SQUARE, titles.T, titles.Z)


def tests_variants(plan: Plan) -> bool:
    """Tell whether the method tests variants one by one, so that there are effects to speak of."""
    return not {*_SOURCES}.isdisjoint(algorithm(plan.test).files)


class NothingToCompare(UnpooledError):
    """The results have nothing that could be set against a cohort; says why."""


@dataclass(frozen=True)
class Pool:
    """The strongest variants of a study, the strongest first."""

    file: str
    """The report that they are from, by its name in the plan."""
    odds: bool
    """True if effects are odds ratios."""
    has_frequencies: bool
    """True if frequencies are those of `.frq`, of founders."""
    leads: tuple[Lead, ...]


def strongest(files: Iterable[Path], plan: Plan, count: int) -> Pool:
    """Return the variants of smallest P in the delivered `files`, `count` at most, each far from the others.

    Raises NothingToCompare if there are none.
    """
    files = list(files)
    given = {file: file_of(file, files, plan) for file in (*_SOURCES, "frq") if file in plan.files}
    source = next(((file, path) for file in _SOURCES if (path := given.get(file))), None)
    if source is None:
        raise NothingToCompare("the results have no report with effects: neither .assoc nor .glm")
    file, path = source
    report = Report(path)
    if not report.has(*EFFECT):
        raise NothingToCompare(f"{path.name} has no column with the effect")
    lines = _strongest_lines(report, count)
    if not lines:
        raise NothingToCompare(f"no variant has a P value in {path.name}")
    leads = _leads(report, lines, plan)
    if frq := given.get("frq"):
        leads = _with_frequencies(leads, Report(frq), plan)
    return Pool(file, report.has(titles.ODDS_RATIO), frq is not None, tuple(leads))


def file_of(file: str, files: Iterable[Path], plan: Plan) -> Path | None:
    """The delivered file that the plan calls `file`."""
    name = report_name(file, plan)
    return next((path for path in files if path.name == name), None)


class Tested(NamedTuple):
    """A line of a report about a variant that has a P value."""

    start: int
    """Byte of the file at which it begins."""
    line: Line
    chromosome: bytes
    position: int
    size: float
    """-log10 P."""
    statistic: float
    """NaN where the report has none. Where P is too small to be printed, it still says what is stronger."""


def tested(report: Report) -> Iterator[Tested]:
    """Go through the variants of a report that have a P value, in its order."""
    chromosome, position, p = map(report.place, (titles.CHROMOSOME, titles.POSITION, titles.P))
    statistic = report.place(*STATISTIC) if report.has(*STATISTIC) else None
    for start, line in report.placed_lines():
        if line[p] != b"NA":
            value = math.nan if statistic is None else number(line[statistic])
            size = neg_log10(line[p].decode())
            yield Tested(start, line, line[chromosome], int(line[position]), size, value)


def _strongest_lines(report: Report, count: int) -> list[Line]:
    """The lines of the strongest variants, the strongest first."""
    best: dict[tuple[bytes, int], tuple[tuple[float, float], Tested]] = {}
    for one in tested(report):
        place = one.chromosome, one.position // _BIN
        strength = one.size, 0.0 if math.isnan(one.statistic) else abs(one.statistic)
        if place not in best or strength > best[place][0]:
            best[place] = strength, one

    def far(one: Tested, other: Tested) -> bool:
        return one.chromosome != other.chromosome or abs(one.position - other.position) > REACH

    chosen: list[Tested] = []
    for _, one in sorted(best.values(), key=lambda found: found[0], reverse=True):
        if len(chosen) < count and all(far(one, other) for other in chosen):
            chosen.append(one)
    return [one.line for one in chosen]


def _leads(report: Report, lines: Sequence[Line], plan: Plan) -> list[Lead]:
    found = estimates(report, lines, plan)
    variants = map(
        Variant,
        _chromosomes(report, lines, plan),
        map(int, report.texts(lines, titles.POSITION)),
        report.texts(lines, titles.NAME),
        report.texts(lines, titles.A1),
        report.texts(lines, titles.A2, titles.OTHER_ALLELE),
    )
    columns = (report.numbers(lines, titles.FREQUENCY), *found)
    told = map(
        Estimate,
        *(column.tolist() for column in columns),
        map(neg_log10, report.texts(lines, titles.P)),
        [int(text) if text else None for text in report.texts(lines, titles.PEOPLE)],
    )
    return list(zip(variants, told, strict=True))


class Effects(NamedTuple):
    """Effects of A1, odds ratios or betas, with standard errors (of log OR) and limits; (m,) each."""

    effect: Floats
    se: Floats
    lower: Floats
    upper: Floats


def estimates(report: Report, lines: Sequence[Line], plan: Plan) -> Effects:
    """Return the effects in some lines of a report; their limits are at the plan's confidence."""
    odds, effect = report.has(titles.ODDS_RATIO), report.numbers(lines, *EFFECT)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        size = np.log(np.where(effect > 0, effect, np.nan)) if odds else effect
        se = _standard_errors(report, lines, size)
    _, lower, upper = with_limits(size, se, confidence(plan), odds=odds)
    return Effects(effect, se, lower, upper)


def _chromosomes(report: Report, lines: Sequence[Line], plan: Plan) -> list[int]:
    return [chromosome_code(text, plan.autosomes) or 0 for text in report.texts(lines, titles.CHROMOSOME)]


def _standard_errors(report: Report, lines: Sequence[Line], size: Floats) -> Floats:
    """Return standard errors as printed; where a report has none, those implied by its test, Miettinen's or
    Wald's.
    """
    z = report.numbers(lines, *STATISTIC)
    if report.has(titles.CHI_SQUARE):
        z = np.sqrt(z)
    printed = report.numbers(lines, titles.SE, titles.SE_OF_LOG_ODDS)
    implied = np.where((z != 0) & (size != 0), np.abs(size / z), np.nan)
    return np.where(np.isnan(printed), implied, printed)


def _with_frequencies(leads: Sequence[Lead], report: Report, plan: Plan) -> list[Lead]:
    """Frequency, other allele, and number of people if it is not known, out of a `.frq`."""
    name, wanted = report.place(titles.NAME), {variant.name.encode() for variant, _ in leads}
    lines = [line for line in report.lines() if line[name] in wanted]
    chromosomes = _chromosomes(report, lines, plan)
    keys = zip(chromosomes, report.texts(lines, titles.NAME), report.texts(lines, titles.A1), strict=True)
    numbers = (report.numbers(lines, title) for title in (titles.FREQUENCY, titles.ALLELES))
    rows = zip(report.texts(lines, titles.A2), *(column.tolist() for column in numbers), strict=True)
    found = dict(zip(keys, rows, strict=True))
    return [_filled(lead, found.get((lead[0].chromosome, lead[0].name, lead[0].a1))) for lead in leads]


def _filled(lead: Lead, row: tuple[str, float, float] | None) -> Lead:
    if row is None:
        return lead
    (variant, estimate), (a2, frequency, alleles) = lead, row
    people = int(alleles) // 2 if estimate.n is None else estimate.n
    return replace(variant, a2=a2), replace(estimate, frequency=frequency, n=people)
