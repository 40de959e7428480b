"""A meta-analysis of the cohorts' own estimates, of which none is known to anybody else.

Each cohort fits its own data at home, as the study fits the pool, and says of which variants it has an
estimate b. Where enough cohorts have one, each adds what its own and the weight w = 1 / SE^2 contribute to
the sums that fixed effect, Cochran's Q and DerSimonian and Laird's variance between cohorts follow from
(`unpooled.kernels.meta_analysis`). Where that variance is above 0, a last question names it, and asks for the
sums of the random effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.result_columns import Turned
from unpooled.asking.sizes import Sizes
from unpooled.kernels.meta_analysis import FixedEffect, fixed_effect, random_weight
from unpooled.methods.regression.options import FEWEST, fewest_of_random, fewest_studies
from unpooled.methods.regression.own_fit import kept_estimates
from unpooled.methods.shared.allele_coding import by_plink2
from unpooled.methods.shared.chunks import Chunk, OfAsked, flags, foreseen_chunks, foreseen_of
from unpooled.methods.shared.genotype_counts import Counted
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.summary import VARIANTS
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META

TABLE = "meta-analysis"
"""A row per variant that passes the filters, float64 (m,) but for `variant` and `studies`:

studies                     how many cohorts have an estimate
fixed, fixed_se             per copy of the panel's first allele; NaN where too few cohorts have one
random, random_se           likewise; where effects differ, NaN of fewer than a random effect takes
q_p, i_squared              P of Cochran's Q; I^2 in per cent
"""

WEIGHT, SCORE, SQUARE = 2.0**40, 2.0**52, 2.0**64
"""Bounds of w, of wb and of wb^2, in the units of the phenotype that sums are in: docs/meta-analysis.md."""


def compare_cohorts(study: Study, chunk: Chunk, counted: Counted, exponent: int) -> Asks[None]:
    """Combine the cohorts' own estimates of variants of a chunk, if the plan asks for that.

    `exponent`: effects are of a phenotype in units of 2^exponent.
    """
    plan, variants = study.plan, counted.variants
    again = by_plink2(chunk.chromosome) and not DOSAGES.of(plan)
    if META not in plan.files or again or not len(variants):
        return
    about = plan, chunk.start, flags(chunk, variants), chunk.chromosome, exponent
    studies = (yield CountEstimates(*about))["studies"]
    enough = studies >= fewest_studies(plan)
    yield Rows.later(lambda: [_rows(exponent, variants[~enough], FixedEffect.none(studies[~enough]))])
    if enough.any():
        yield from _combine(study, chunk, exponent, variants[enough], studies[enough])


def _combine(
    study: Study, chunk: Chunk, exponent: int, variants: np.ndarray, studies: np.ndarray
) -> Asks[None]:
    """Combine the estimates of variants of which enough cohorts have one."""
    about = study.plan, chunk.start, flags(chunk, variants), chunk.chromosome, exponent
    sums = yield SumEstimates(*about)
    found = fixed_effect(studies, **sums)
    again = (found.between > 0) & (studies >= fewest_of_random(study.plan))
    yield Rows.later(lambda: [_rows(exponent, variants[~again], found.some(~again))])
    if again.any():
        yield Finish(weigh_again(study, chunk, exponent, variants[again], found.some(again)))


@procedure("regression/weigh-again")
def weigh_again(
    study: Study, chunk: Chunk, exponent: int, variants: np.ndarray, found: FixedEffect
) -> Asks[None]:
    """Ask for the random effect on variants whose effect differs between cohorts, and report them."""
    about = study.plan, chunk.start, flags(chunk, variants), chunk.chromosome, exponent
    sums = yield SumAgain(*about, found.between)
    random = sums["effects"] / sums["weights"], 1 / np.sqrt(sums["weights"])
    yield _rows(exponent, variants, found, random)


def _rows(
    exponent: int,
    variants: np.ndarray,
    found: FixedEffect,
    random: tuple[np.ndarray, np.ndarray] | None = None,
) -> Rows:
    """Rows of the table; the random effect is given, or the fixed one where effects are the same."""
    same = found.between == 0
    effect, se = random or (np.where(same, values, np.nan) for values in (found.effect, found.se))
    of_pool = {"fixed": found.effect, "fixed_se": found.se, "random": effect, "random_se": se}
    columns = {name: np.ldexp(values, exponent) for name, values in of_pool.items()}
    columns |= {"q_p": found.q_p, "i_squared": found.i_squared}
    return Rows(TABLE, {"variant": variants, "studies": found.studies, **columns})


def with_meta(tables: Mapping[str, Arrays]) -> Arrays:
    """The columns of the variants that were tested, and those of the meta-analysis, as `across_...`, per A1.

    Both tables have a row for each variant that passes the filters.
    """
    rows = tables[VARIANTS]
    return _WithMeta(rows, tables[TABLE]) if TABLE in tables else rows


class _WithMeta(Mapping[str, Any]):
    """Columns of both tables. What was looked up is not held."""

    def __init__(self, rows: Arrays, found: Arrays) -> None:
        self._rows, self._found = rows, found

    def __getitem__(self, name: str) -> Any:
        if not name.startswith(_ACROSS):
            return self._rows[name]
        column = self._found[name.removeprefix(_ACROSS)]
        of_allele = name.removeprefix(_ACROSS) in ("fixed", "random")
        return Turned(column, self._rows["first_is_a1"]) if of_allele else column

    def __iter__(self) -> Iterator[str]:
        yield from self._rows
        yield from (_ACROSS + name for name in self._found if name != "variant")

    def __len__(self) -> int:
        return len(self._rows) + len(self._found) - 1


_ACROSS = "across_"


@dataclass(frozen=True, eq=False)
class OfEstimates(OfAsked, UnderPlan, ring_bits=128):
    """A question about the cohorts' own estimates of some variants of a chunk."""

    each: ClassVar[dict[str, str]] = {"variants": "variant"}
    asked_if: ClassVar[Condition] = lambda plan: META in plan.files

    start: int
    asked: np.ndarray
    """Flags, one per variant of the chunk: 1 if it is asked about, else 0. uint8."""
    chromosome: str
    exponent: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return foreseen_of(foreseen_chunks(plan, sizes), lambda chunk: cls.largest(plan, chunk))

    @classmethod
    def largest(cls, plan: Plan, chunk: Chunk) -> OfEstimates:
        """The question about all variants of a chunk."""
        return cls(plan, chunk.start, np.ones(chunk.variants, np.uint8), chunk.chromosome, 0)

    def estimates(self, cohort: Cohort) -> tuple[np.ndarray, np.ndarray]:
        """This cohort's effects in units of 2^exponent, and their weights; 0 where it has no estimate."""
        effect, se = (
            np.ldexp(values, -self.exponent)
            for values in kept_estimates(self.plan, self.chromosome, self.items, cohort)
        )
        # Below that, next to nothing is left to explain: of few people whose phenotypes are tied, rounding.
        has = np.isfinite(effect) & np.isfinite(se) & (se >= WEIGHT**-0.5)
        return np.where(has, effect, 0.0), np.where(has, 1 / np.where(has, se, 1) ** 2, 0.0)


@dataclass(frozen=True, eq=False)
class CountEstimates(
    OfEstimates, name="regression/count-estimates", title="Count the cohorts' own estimates", ring_bits=64
):
    """Counts the cohorts that have an estimate of their own."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Count(
            "studies",
            ("variants",),
            1,
            "per variant: 1 if this cohort's data alone have an estimate b of its effect, else 0",
            "how many cohorts have an estimate",
        ),
    )

    def local(self, cohort: Cohort) -> Arrays:
        return {"studies": (self.estimates(cohort)[1] > 0).astype(np.int64)}


_LEARNS = (
    "what a meta-analysis of the cohorts says of the variant; where the plan allows so few cohorts that one "
    "can work out another's estimate, and a single person there has the allele, that person's phenotype, "
    "without name"
)


@dataclass(frozen=True, eq=False)
class SumEstimates(OfEstimates, name="regression/estimates", title="Compare the cohorts' own estimates"):
    """Sums over the cohorts of what their own estimates contribute to a meta-analysis."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "weights",
            ("variants",),
            WEIGHT,
            f"per variant of which {FEWEST} cohorts have an estimate, or as few as the plan allows: "
            "w = 1/SE² of this cohort's own; 0 without one, here and below",
            _LEARNS,
            of_one=True,
        ),
        Real("effects", ("variants",), SCORE, "likewise: wb", _LEARNS, of_one=True),
        Real("squares", ("variants",), SQUARE, "likewise: wb²", _LEARNS, of_one=True),
        Real("weight_squares", ("variants",), WEIGHT**2, "likewise: w²", _LEARNS, of_one=True),
    )

    def local(self, cohort: Cohort) -> Arrays:
        b, w = self.estimates(cohort)
        return {"weights": w, "effects": w * b, "squares": w * b**2, "weight_squares": w**2}


@dataclass(frozen=True, eq=False)
class SumAgain(OfEstimates):
    """Sums of the estimates with the weights of a random effect."""

    name: ClassVar[str] = "regression/estimates-again"
    title: ClassVar[str] = "Weigh the cohorts' own estimates again"
    only_server: ClassVar[Condition] = lambda plan: True
    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "weights",
            ("variants",),
            WEIGHT,
            "per variant whose effect differs between cohorts: u = 1/(SE² + variance between cohorts)",
            "the random effect of the meta-analysis, and no cohort's own estimate",
        ),
        Real(
            "effects",
            ("variants",),
            SCORE,
            "likewise: ub",
            "the random effect of the meta-analysis, and no cohort's own estimate",
        ),
    )

    between: np.ndarray
    """float64 (m,): the variance between cohorts, in units of 2^exponent squared."""

    @classmethod
    def largest(cls, plan: Plan, chunk: Chunk) -> SumAgain:
        asked = np.ones(chunk.variants, np.uint8)
        return cls(plan, chunk.start, asked, chunk.chromosome, 0, np.zeros(chunk.variants))

    def local(self, cohort: Cohort) -> Arrays:
        b, w = self.estimates(cohort)
        u = random_weight(w, self.between)
        return {"weights": u, "effects": u * b}


ESTIMATES_ASKS = (CountEstimates, SumEstimates, SumAgain)
"""The kinds of questions about the cohorts' own estimates, in the order in which they are asked."""
