"""Robust standard errors: the sums of e^2 x x' over people, with their residuals e at a variant's estimates.

With B these sums and A those of w x x', w being a person's weight in the fit, A^-1 B A^-1 is the covariance
of the estimates, whatever variance each person's phenotype has, and even if the model is but near the truth
(Huber 1967; White, Econometrica 48, 1980). In a linear regression it is multiplied by n / (n - k): HC1
(MacKinnon and White, J Econometrics 29, 1985).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Condition, Real
from unpooled.kernels.logistic_weights import SQUARED, SQUARED_LINEAR
from unpooled.methods.ld.options import is_clumped
from unpooled.methods.regression.logistic_questions import Evaluate, People
from unpooled.methods.regression.options import ROBUST
from unpooled.methods.shared.standardise import standardised


@dataclass(frozen=True, eq=False)
class SquareResiduals(Evaluate, name="logistic/squares", title="Square residuals"):
    """Sums of squared residuals times products of two columns, at the estimates."""

    most_rounds: ClassVar[int] = 1
    usual_rounds: ClassVar[int] = 1
    # Leads are chosen by these errors.
    only_server: ClassVar[Condition] = lambda plan: not is_clumped(plan)
    asked_if: ClassVar[Condition] = ROBUST.of
    weights: ClassVar[int] = SQUARED
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "squares",
            ("variants", "triangle"),
            "bound",
            "per variant: sums of squared residual times products of two of 1, genotype and covariates",
            "how far people are from each variant's model, by genotype and covariates; by the rule `exact`, "
            "for a variant that only one person carries, that person's residual and covariates, without name "
            "or cohort",
            of_one=True,
        ),
    )

    @property
    def turn(self) -> int:
        return 0

    def local(self, cohort: Cohort) -> Arrays:
        regressions = self.regressions_of(cohort, self.copies_of(cohort))
        return {"squares": regressions.squares(self.beta, self.weights)}


@dataclass(frozen=True, eq=False)
class SquareLinearResiduals(SquareResiduals, name="linear/squares", ring_bits=128):
    """The same of a linear regression: the phenotype is the last of the columns that are standardised."""

    weights: ClassVar[int] = SQUARED_LINEAR

    @property
    def bound(self) -> int:
        """Residuals have a sum of squares of `people`, as the phenotype has, and so has every column: up to 4
        times that with an interaction."""
        return super().bound * max(self.people, 1)

    def people_of(self, cohort: Cohort) -> People:
        c = self.covariates
        about = cohort.samples, self.chromosome, self.with_sex
        found = People.of(*about, self.centre[:c], self.exponent[:c])
        phenotype = standardised(cohort.samples, self.centre, self.exponent)[:, c]
        return replace(found, case=np.where(found.inside, phenotype, 0))
