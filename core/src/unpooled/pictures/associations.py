"""The result columns of an association study, under one name for each quantity whatever the test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.formats import titles
from unpooled.formats.adjusted import refused
from unpooled.kernels.statistics import odds_ratio_interval, with_limits
from unpooled.panel.chromosomes import chromosome_name
from unpooled.plan.common_options import CI, in_odds_ratios
from unpooled.plan.plan import Plan

Floats = NDArray[np.float64]
Part: TypeAlias = slice | NDArray[np.integer]
"""Selection of variants: neighbours, or some by their rows."""

BLOCK = 1 << 19
"""Variants that are looked at together."""


ODDS_RATIO = titles.ODDS_RATIO.plink

_TABLE = ("case_a1", "case_a2", "control_a1", "control_a2")
_USUAL_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Associations:
    """m tested variants in the panel's order, that is by chromosome, position and ID."""

    columns: Mapping[str, NDArray[Any]]
    """Result columns, (m,) each, and `chromosome`, `position`, `id`, `a1`, `a2`, `alleles` (the text of all
    alleles, a line each). Looked up anew for each part: maps of files are held no longer than needed."""
    plan: Plan

    def __len__(self) -> int:
        return len(self.columns["position"])

    def blocks(self) -> Iterator[slice]:
        """All variants, in pieces."""
        size = len(self)
        return (slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK))

    # Where they are

    def chromosomes(self) -> dict[int, slice]:
        """The rows of each chromosome that there is, by its code."""
        codes = np.arange(256, dtype=np.uint8)
        column = self.columns["chromosome"]
        start, stop = (np.searchsorted(column, codes, side).tolist() for side in ("left", "right"))
        return {code: slice(start[code], stop[code]) for code in range(256) if start[code] < stop[code]}

    def within(self, chromosome: int, first: int, last: int) -> slice:
        """The rows of the variants from one position to another, both included."""
        rows = self.chromosomes().get(chromosome, slice(0, 0))
        position = self.columns["position"][rows]
        # Bounds of the column's own type: another would have the whole column converted.
        bounds = np.clip([first, last], 0, np.iinfo(position.dtype).max).astype(position.dtype)
        start = int(np.searchsorted(position, bounds[0], "left"))
        stop = int(np.searchsorted(position, bounds[1], "right")) if first <= last else start
        return slice(rows.start + start, rows.start + stop)

    def chromosome(self, part: Part) -> list[str]:
        """Return the usual names of the chromosomes."""
        codes = self.columns["chromosome"][part].tolist()
        names = {code: chromosome_name(code, self.plan.autosomes) for code in set(codes)}
        return [names[code] for code in codes]

    def position(self, part: Part) -> NDArray[np.int64]:
        return np.asarray(self.columns["position"][part], np.int64)

    def id(self, part: Part) -> list[str]:
        return [name.decode("utf-8", "replace") for name in self.columns["id"][part].tolist()]

    def alleles(self, part: Part) -> tuple[list[str], list[str]]:
        """A1 and A2."""
        text = self.columns["alleles"]
        end = np.append(
            np.flatnonzero(text == ord("\n")), len(text)
        )  # there may be millions, of which few count
        start = np.append(0, end[:-1] + 1)

        def word(code: int) -> str:
            return text[start[code] : end[code]].tobytes().decode("utf-8", "replace")

        a1, a2 = ([word(code) for code in self.columns[name][part].tolist()] for name in ("a1", "a2"))
        return a1, a2

    # What was found

    def neg_log10_p(self, part: Part) -> Floats:
        """-log10 P; NaN where PLINK 1.9's report has none."""
        found = self._reported("neg_log10_p", part)
        return np.where(np.isfinite(found), found, np.nan)

    def chi_square(self, part: Part) -> Floats:
        """The statistic whose median is the genomic inflation; of a regression the square of t or z."""
        if "chi_square" in self.columns:
            return np.asarray(self.columns["chi_square"][part])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.asarray(np.square(self._reported("beta", part) / self.columns["se"][part]))

    def a1_freq(self, part: Part) -> Floats:
        """Frequency of A1 among the people of the test; NaN without any call."""
        if "a1_freq" in self.columns:
            return np.asarray(self.columns["a1_freq"][part])
        case_a1, case_a2, control_a1, control_a2 = self._table(part)
        with np.errstate(invalid="ignore"):
            return np.asarray((case_a1 + control_a1) / (case_a1 + case_a2 + control_a1 + control_a2))

    @property
    def effect_name(self) -> str:
        """`OR`, per copy of A1, or `BETA`."""
        return ODDS_RATIO if in_odds_ratios(self.plan) else titles.BETA.plink

    @property
    def confidence(self) -> float:
        return confidence(self.plan)

    def effects(self, part: Part) -> tuple[Floats, Floats, Floats, Floats]:
        """Effect of a copy of A1, its lower and upper limit, and the standard error (of log OR, or of beta).

        NaN where PLINK 1.9's report has none.
        """
        if "odds_ratio" in self.columns:
            case_a1, case_a2, control_a1, control_a2 = self._table(part)
            limits = odds_ratio_interval(case_a1, case_a2, control_a1, control_a2, self.confidence)
            ratio = np.asarray(self.columns["odds_ratio"][part])
            se, lower, upper = (np.where(np.isnan(ratio), np.nan, limit) for limit in limits)
            return ratio, lower, upper, se
        beta, se = self._reported("beta", part), self._reported("se", part)
        effect, lower, upper = with_limits(beta, se, self.confidence, odds=in_odds_ratios(self.plan))
        return effect, lower, upper, se

    def _reported(self, name: str, part: Part) -> Floats:
        values = np.asarray(self.columns[name][part])
        return np.where(refused(self.columns["code"][part]), np.nan, values) if self._is_fitted else values

    @property
    def _is_fitted(self) -> bool:
        return "code" in self.columns

    def _table(self, part: Part) -> list[NDArray[np.int64]]:
        return [self.columns[name][part].astype(np.int64) for name in _TABLE]


def confidence(plan: Plan) -> float:
    """Return the confidence level of all limits: what the plan says, else 0.95."""
    return CI.of(plan) or _USUAL_CONFIDENCE


def p_text(neg_log10_p: float) -> str:
    """P in four digits, as small as it may be: 0.01234, 1.234e-05, 1.234e-400."""
    if neg_log10_p < 4:
        return f"{10**-neg_log10_p:.4g}"
    exponent = math.ceil(neg_log10_p)
    mantissa = f"{10 ** (exponent - neg_log10_p):.4g}"
    return f"1e-{exponent - 1:02d}" if mantissa == "10" else f"{mantissa}e-{exponent:02d}"


def plain(values: Floats, digits: int = 6) -> list[float | None]:
    """Numbers for JSON, in so many significant digits; None for what is none."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]
