"""The questions of Firth's penalised fit, about the variants that need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Condition, Real
from unpooled.kernels.logistic import penalty
from unpooled.methods.regression.logistic_questions import Evaluate
from unpooled.methods.shared.allele_coding import counts_as_plink2
from unpooled.methods.shared.chunks import Chunk
from unpooled.plan.firth_option import NEVER, choice
from unpooled.plan.plan import Plan


def has_penalised_fit(plan: Plan, coding: str) -> bool:
    """Tell whether a study fits variants of this coding by Firth's likelihood: those of plink2's report."""
    return choice(plan) != NEVER and counts_as_plink2(coding)


@dataclass(frozen=True, eq=False)
class EvaluatePenalised(Evaluate):
    """The same sums as for the usual fit, at the coefficients of Firth's."""

    usual_rounds: ClassVar[int] = 1
    name: ClassVar[str] = "firth/evaluate"
    title: ClassVar[str] = "Penalised fit"
    asked_if: ClassVar[Condition] = lambda plan: choice(plan) != NEVER


_PENALTY_TELLS = (
    "how much weight the people with unusual genotype and covariates have in each variant's model; for a "
    "variant that only one person carries, that person's covariates, without name or cohort"
)


@dataclass(frozen=True, eq=False)
class Penalty(EvaluatePenalised):
    """Derivative of Firth's penalty of each variant, and the information that it adds."""

    name: ClassVar[str] = "firth/penalty"
    title: ClassVar[str] = "Penalty of the fit"
    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "score",
            ("variants", "parameters"),
            "bound",
            "bits",
            "per variant: derivative of the penalty, a sum weighted by each person's leverage",
            _PENALTY_TELLS,
            of_one=True,
        ),
        Real(
            "information",
            ("variants", "triangle"),
            "bound",
            "bits",
            "per variant: the information that the penalty adds, weighted likewise",
            _PENALTY_TELLS,
            of_one=True,
        ),
    )

    inverse: np.ndarray
    """Upper triangles of the pool's inverse information at `beta`: float64 (m, triangle)."""

    @classmethod
    def foreseen_models(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        fields = super().foreseen_models(plan, chunk)
        p = fields["beta"].shape[1]
        return fields | {"inverse": np.zeros((chunk.variants, p * (p + 1) // 2))}

    def fields_of(self, part: slice) -> dict[str, Any]:
        return super().fields_of(part) | {"inverse": self.inverse[part]}

    def local(self, cohort: Cohort) -> Arrays:
        copies, lacking, design, fill = self.data_of(cohort)
        score, information = penalty(
            copies.values, copies.second, lacking, design, self.beta, self.inverse, fill, self.exact
        )
        return {"score": score, "information": information}
