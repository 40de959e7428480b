"""The model without genotypes; scores and their covariance, from sums of genotypes beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Samples
from unpooled.asking.question import Arrays, UnderPlan
from unpooled.kernels import least_squares as codes
from unpooled.kernels.fixed_order import product, solve_positive, square
from unpooled.methods.regression.fitting import CovariatesModel
from unpooled.methods.regression.logistic_questions import People
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared.chunks import DIPLOID
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import PooledColumns, column_names, is_number, standardised
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan

_NO_RESIDUAL = 1e-10
"""Part of the phenotype's variance below which what covariates leave of it is rounding."""
NEGLIGIBLE = 1e-9
"""Part of a column's squares below which what covariates leave of it is rounding."""


@dataclass(frozen=True, eq=False)
class NullModel:
    """The model without genotypes, in standardised columns: q of them, one and the covariates."""

    name: ClassVar[str] = "gene-tests/null-model"

    columns: PooledColumns
    beta: np.ndarray
    """float64 (q,): where residuals and weights of cases and controls are taken; 0 for a number."""
    gradient: np.ndarray
    """float64 (q,): sums of these columns times the residual there, nearly 0, or times the number."""
    products: np.ndarray
    """float64 (q, q): weighted products of these columns; of a number all weights are 1."""
    variance: float
    """Residual variance of a number; 1 of cases and controls; NaN where there is no model."""
    people: int

    @classmethod
    def of_number(cls, pool: Pool, columns: PooledColumns, sums: Arrays) -> NullModel:
        """The regression of a number on the covariates, from the sums of `linear_questions.SumColumns`."""
        q = len(columns.centre)
        whole = np.zeros((q + 1, q + 1))
        whole[0, 0] = pool.complete
        whole[0, 1:] = whole[1:, 0] = sums["sums"]
        whole[1:, 1:] = square(sums["products"], q)
        beta = solve_positive(whole[:-1, :-1], whole[:-1, -1])
        squares = whole[-1, -1] - float(product(whole[-1, :-1], beta))
        variance = squares / (pool.complete - q) if pool.complete > q else math.nan
        if variance <= _NO_RESIDUAL * whole[-1, -1] / max(pool.complete, 1):
            variance = math.nan
        return cls(columns, np.zeros(q), whole[:-1, -1], whole[:-1, :-1], variance, pool.complete)

    @classmethod
    def of_cases(cls, pool: Pool, columns: PooledColumns, model: CovariatesModel) -> NullModel:
        """The covariates' model of cases and controls."""
        hessian = square(model.hessian, len(model.beta))
        variance = 1.0 if model.code == codes.FITTED else math.nan
        return cls(columns, model.beta, model.gradient, hessian, variance, pool.complete)

    @property
    def fields(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """The fields of `BesideNull`."""
        return self.columns.centre, self.columns.exponent, self.beta, self.people

    @property
    def residual_squares(self) -> float:
        """Sum of the squared residuals of a number."""
        return self.variance * (self.people - len(self.beta))

    def score_statistics(
        self, sums: np.ndarray, products: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of m genotypes, (m,), their covariance (m, m), both times the variance, and who varies.

        `sums`, (m, q + 1), are of each genotype with the columns of `BesideNull.null_design`, and `products`,
        (m, m), of two of them. What covariates determine, or nearly, has no covariance.
        """
        inverse, with_columns = np.linalg.inv(self.products), sums[:, :-1]
        scores = sums[:, -1] - with_columns @ inverse @ self.gradient
        covariance = products - with_columns @ inverse @ with_columns.T
        varies = np.diag(covariance) > NEGLIGIBLE * np.diag(products)
        covariance[~varies], covariance[:, ~varies] = 0, 0
        return scores, covariance, varies


@dataclass(frozen=True, eq=False)
class Begun:
    """A regression's pool, and its model without genotypes."""

    name: ClassVar[str] = "regression/begun"

    pool: Pool
    null: NullModel


@dataclass(frozen=True, eq=False)
class BesideNull(UnderPlan):
    """About genotypes beside the model without them."""

    centre: np.ndarray
    exponent: np.ndarray
    beta: np.ndarray
    """float64 (1 + covariates,): the covariates' model of cases and controls; 0 for a number."""
    people: int

    @staticmethod
    def foreseen_null(plan: Plan) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Fill these fields before the model is known."""
        columns = len(column_names(plan))
        return np.zeros(columns), np.zeros(columns, np.int64), np.zeros(1 + len(plan.covariate_columns)), 1

    @property
    def bound(self) -> int:
        return 4 * self.people

    def null_design(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return what genotypes are multiplied with, (n, q + 1), and weights, (n,); 0 for who lacks a value.

        Of a number one, the covariates and the number; of cases and controls one and the covariates, times
        the weight, and the residual.
        """
        if is_number(self.plan):
            inside = complete(samples).astype(float)
            return np.column_stack([inside, standardised(samples, self.centre, self.exponent)]), inside
        people = People.of(samples, DIPLOID, False, self.centre, self.exponent)
        x, weight, residual, _ = people.null(self.beta)
        return np.column_stack([weight[:, None] * x, residual]), weight


def file_problem(plan: Plan, file: str, title: str, own: Mapping[str, bool]) -> dict[str, str]:
    """Say why a plan cannot have a file of scores at the model without genotypes, by the plan's field.

    `own` are further reasons of the file, with whether they hold.
    """
    reasons = {
        "effects of a copy of A1 are needed: leave out this file, or choose the additive model without "
        "interactions": not terms_of(plan).is_plain,
        "cohorts that are kept apart have no common model of the covariates: leave out this file, or have "
        "covariates say what differs between cohorts": is_apart(plan),
        "normal noise would take digits that are needed: leave out this file, or choose modular masks": (
            plan.masking != "modular"
        ),
        **own,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    return {"files": f"{title}, {file}: {found[0]}"} if file in plan.files and found else {}
