"""The strongest variants of a study, out of the result files that every cohort gets.

From PLINK 1.9's `.assoc`, `.assoc.linear` or `.assoc.logistic`, or else plink2's `.glm`; frequencies from
`.frq` where it is among the results. Files may have many millions of lines: they are read once, line by line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unpooled.algorithms.result_files import report_name
from unpooled.chromosomes import chromosome_code
from unpooled.errors import UnpooledError
from unpooled.plan import Plan
from unpooled.statistics import normal_quantile
from unpooled_client.compare.estimates import Estimate, Variant

REACH = 500_000
"""Base pairs to either side of a variant in which no other one is taken."""

_BIN = 100_000  # of each so many base pairs only the strongest variant is remembered
_SOURCES = ("assoc", "glm")
_USUAL_CONFIDENCE = 0.95

_NAMES = {
    "chromosome": ("CHR", "CHROM"),
    "position": ("BP", "POS"),
    "name": ("SNP", "ID"),
    "a1": ("A1",),
    "a2": ("A2", "REF", "AX"),
    "effect": ("OR", "BETA"),
    "se": ("SE", "LOG(OR)_SE"),
    "statistic": ("STAT", "T_STAT", "Z_STAT", "CHISQ"),
    "p": ("P",),
    "n": ("NMISS", "OBS_CT"),
    "test": ("TEST",),
    "frequency": ("A1_FREQ", "MAF"),
    "alleles": ("NCHROBS",),
}
_NEEDED = ("chromosome", "position", "name", "a1", "effect", "p")


class NothingToCompare(UnpooledError):
    """The results have nothing that could be set against a cohort; says why."""


@dataclass(frozen=True)
class Pool:
    """The strongest variants of a study, the strongest first."""

    file: str
    """The report that they are from, by its name in the plan."""
    odds: bool
    """Whether effects are odds ratios."""
    has_frequencies: bool
    """Whether frequencies are those of `.frq`, of founders."""
    leads: tuple[tuple[Variant, Estimate], ...]


def confidence(plan: Plan) -> float:
    """Of all limits: what the plan says, else 0.95."""
    return plan.ci or _USUAL_CONFIDENCE


def strongest(files: Iterable[Path], plan: Plan, count: int) -> Pool:
    """At most `count` variants of the smallest P, each far from the others, out of the delivered `files`.

    Raises NothingToCompare if there are none.
    """
    files = list(files)
    given = {file: file_of(file, files, plan) for file in (*_SOURCES, "frq") if file in plan.files}
    source = next(((file, path) for file in _SOURCES if (path := given.get(file))), None)
    if source is None:
        raise NothingToCompare("the results have no report with effects: neither .assoc nor .glm")
    file, path = source
    header, lines = _strongest_lines(path, count)
    if not lines:
        raise NothingToCompare(f"no variant has a P value in {path.name}")
    odds = header.titles["effect"] == "OR"
    leads = [header.lead(words, plan, odds) for words in lines]
    if frq := given.get("frq"):
        leads = _with_frequencies(leads, frq, plan)
    return Pool(file, odds, frq is not None, tuple(leads))


def file_of(file: str, files: Iterable[Path], plan: Plan) -> Path | None:
    """The delivered file that the plan calls `file`."""
    name = report_name(file, plan)
    return next((path for path in files if path.name == name), None)


@dataclass(frozen=True)
class _Header:
    """Which word of a line is what."""

    at: Mapping[str, int]
    titles: Mapping[str, str]

    @classmethod
    def of(cls, line: bytes) -> _Header:
        words = line.decode().lstrip("#").split()
        found = {
            what: title for what, titles in _NAMES.items() for title in reversed(titles) if title in words
        }
        return cls({what: words.index(title) for what, title in found.items()}, found)

    def lead(self, words: Sequence[bytes], plan: Plan, odds: bool) -> tuple[Variant, Estimate]:
        def text(what: str) -> str:
            return words[self.at[what]].decode("utf-8", "replace") if what in self.at else ""

        def number(what: str) -> float:
            return _number(words[self.at[what]]) if what in self.at else math.nan

        variant = Variant(
            chromosome_code(text("chromosome"), plan.autosomes) or 0,
            int(text("position")),
            text("name"),
            text("a1"),
            text("a2"),
        )
        effect = number("effect")
        size = math.log(effect) if odds and effect > 0 else math.nan if odds else effect
        se = number("se")
        if math.isnan(se):
            se = _by_statistic(size, number("statistic"), squared=self.titles.get("statistic") == "CHISQ")
        reach = normal_quantile(1 - (1 - confidence(plan)) / 2) * se
        lower, upper = (_exp(x) if odds else x for x in (size - reach, size + reach))
        n = int(text("n")) if "n" in self.at else None
        score = neg_log10(words[self.at["p"]])
        return variant, Estimate(number("frequency"), effect, se, lower, upper, score, n)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _by_statistic(size: float, statistic: float, *, squared: bool) -> float:
    """The standard error that a report without one implies by its test: Wald's, or Miettinen's."""
    z = math.sqrt(statistic) if squared and statistic >= 0 else statistic
    return abs(size / z) if z and size else math.nan


def _strongest_lines(path: Path, count: int) -> tuple[_Header, list[list[bytes]]]:
    """The header, and the lines of the strongest variants, the strongest first."""
    with path.open("rb") as file:
        header = _Header.of(file.readline())
        if missing := [what for what in _NEEDED if what not in header.at]:
            raise NothingToCompare(f"{path.name} has no column with the {missing[0]}")
        best = _best_by_place(header, file)
    taken: list[tuple[bytes, int]] = []
    chosen: list[list[bytes]] = []
    for (chromosome, _), (_, line) in sorted(best.items(), key=lambda item: item[1][0], reverse=True):
        if len(chosen) == count:
            break
        words = line.split()
        position = int(words[header.at["position"]])
        if all(chromosome != other or abs(position - place) > REACH for other, place in taken):
            taken.append((chromosome, position))
            chosen.append(words)
    return header, chosen


def _best_by_place(
    header: _Header, lines: Iterable[bytes]
) -> dict[tuple[bytes, int], tuple[tuple[float, float], bytes]]:
    """The strongest variant's line in each stretch of the genome, with how strong it is."""
    chromosome, position, p = (header.at[what] for what in ("chromosome", "position", "p"))
    test, statistic = header.at.get("test"), header.at.get("statistic")
    best: dict[tuple[bytes, int], tuple[tuple[float, float], bytes]] = {}
    for line in lines:
        if test is not None and b"ADD" not in line:
            continue  # of a covariate: to split it takes longer
        words = line.split()
        if words[p] == b"NA" or (test is not None and words[test] != b"ADD"):
            continue
        place = (words[chromosome], int(words[position]) // _BIN)
        # Where P is too small to be printed, the statistic still says which is the stronger.
        size = abs(_number(words[statistic])) if statistic is not None else 0.0
        score = (neg_log10(words[p]), size)
        if place not in best or score > best[place][0]:
            best[place] = (score, line)
    return best


def neg_log10(p: bytes) -> float:
    """-log10 of P as printed: 0.01, 1e-5, 1.2e-400; infinite where 0 is printed."""
    value = float(p)
    if value > 0:
        return abs(math.log10(value))
    mantissa, _, exponent = p.partition(b"e")
    return -math.log10(float(mantissa)) - int(exponent) if exponent else math.inf


def _number(word: bytes) -> float:
    """A number of PLINK's; NaN for NA, and what else is none."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def _with_frequencies(
    leads: Sequence[tuple[Variant, Estimate]], path: Path, plan: Plan
) -> list[tuple[Variant, Estimate]]:
    """Frequency, other allele, and number of people if it is not known, out of a `.frq`."""
    wanted = {(variant.chromosome, variant.name) for variant, _ in leads}
    found = {}
    with path.open("rb") as file:
        header = _Header.of(file.readline())
        for chromosome, name, words in _of_names({name.encode() for _, name in wanted}, header, file, plan):
            if (chromosome, name) in wanted:
                found[chromosome, name] = words
    return [_filled(variant, estimate, header, found) for variant, estimate in leads]


def _of_names(
    names: set[bytes], header: _Header, lines: Iterable[bytes], plan: Plan
) -> Iterator[tuple[int, str, list[bytes]]]:
    at, chromosome = header.at["name"], header.at["chromosome"]
    for line in lines:
        words = line.split()
        if words[at] in names:
            code = chromosome_code(words[chromosome].decode(), plan.autosomes) or 0
            yield code, words[at].decode("utf-8", "replace"), words


def _filled(
    variant: Variant, estimate: Estimate, header: _Header, found: Mapping[tuple[int, str], Sequence[bytes]]
) -> tuple[Variant, Estimate]:
    words = found.get((variant.chromosome, variant.name))
    if words is None or words[header.at["a1"]].decode() != variant.a1:
        return variant, estimate
    people = int(words[header.at["alleles"]]) // 2
    frequency = _number(words[header.at["frequency"]])
    return (
        replace(variant, a2=words[header.at["a2"]].decode()),
        replace(estimate, frequency=frequency, n=people if estimate.n is None else estimate.n),
    )
