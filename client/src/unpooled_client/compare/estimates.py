"""Estimates of a study for a variant, in the pool and at this cohort."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from unpooled.pictures.associations import p_text

NONE = "NA"


def as_text(value: float) -> str:
    """Return a number as it stands in tables for programs."""
    return f"{value:.6g}" if math.isfinite(value) else NONE


@dataclass(frozen=True)
class Estimate:
    """An effect of one copy of an allele; NaN where there is none."""

    frequency: float
    """Frequency of that allele."""
    effect: float
    """Odds ratio, or beta."""
    se: float
    """Standard error of the log odds ratio, or of beta."""
    lower: float
    upper: float
    """Limits of the effect."""
    neg_log10_p: float
    n: int | None = None
    """Number of people behind the estimate, if known."""

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.effect)

    @property
    def p(self) -> str:
        """P as it is written; 0 where it is too small for a number."""
        if math.isnan(self.neg_log10_p):
            return NONE
        return "0" if math.isinf(self.neg_log10_p) else p_text(self.neg_log10_p)

    @property
    def texts(self) -> list[str]:
        """The effect with its error and limits, and P, for a table."""
        return [*map(as_text, (self.effect, self.se, self.lower, self.upper)), self.p]

    def of_other_allele(self, *, odds: bool) -> Estimate:
        """The same, for a copy of the other allele."""

        def turned(value: float) -> float:
            if not odds:
                return -value
            return 1 / value if value else math.inf

        return replace(
            self,
            frequency=1 - self.frequency,
            effect=turned(self.effect),
            lower=turned(self.upper),
            upper=turned(self.lower),
        )


@dataclass(frozen=True)
class Variant:
    """A variant as the study's results name it."""

    chromosome: int
    """Its code: `unpooled.panel.chromosomes`."""
    position: int
    name: str
    a1: str
    a2: str = ""
    """Empty where the results do not say."""


@dataclass(frozen=True)
class Across:
    """A variant across the cohorts; effects are of A1, odds ratios or betas, NaN where there is none."""

    studies: int
    """Number of cohorts with an estimate of their own."""
    fixed: Estimate
    random: Estimate
    q_p: float
    i_squared: float
    without: Estimate
    """The fixed effect of the other cohorts; of all, where this one has no estimate."""


@dataclass(frozen=True)
class Contrast:
    """One of the study's strongest variants: its estimate in the pool, and in this cohort alone."""

    variant: Variant
    pool: Estimate
    own: Estimate | None
    """None where this cohort has no such variant."""
    note: str = ""
    """Why there is no estimate here."""
    across: Across | None = None
    """Combination of the cohorts' own estimates, if the study made one."""

    def same_direction(self, *, odds: bool) -> bool | None:
        """Tell whether both effects have the same direction; None if one of them has none."""
        if self.own is None:
            return None
        middle = 1.0 if odds else 0.0
        product = (self.own.effect - middle) * (self.pool.effect - middle)
        return None if math.isnan(product) or product == 0 else product > 0

    @property
    def in_pool_limits(self) -> bool | None:
        """True if this cohort's effect lies within the limits of the pool's."""
        return None if self.own is None else _within(self.own.effect, self.pool)

    @property
    def in_own_limits(self) -> bool | None:
        """True if the pool's effect lies within the limits of this cohort's."""
        return None if self.own is None else _within(self.pool.effect, self.own)


def _within(effect: float, of: Estimate) -> bool | None:
    if math.isnan(effect + of.lower + of.upper):
        return None
    return of.lower <= effect <= of.upper
