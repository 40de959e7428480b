"""Ridge regression by products with noise, whose penalty is by the size of the noise.

The penalty is that of AdaSSP (Wang, Revisiting differentially private linear regression, UAI 2018): none
where every direction of the features varies more than noise can, else as much as makes up for what lacks.
There the smallest eigenvalue is asked for apart; here it is read off the products, which costs no privacy.
The intercept is not penalised: products are taken about the means that they say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unpooled.asking.procedure import Asks, Rows, Study, procedure
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import eigen, product
from unpooled.methods.learning.result import COEFFICIENTS, MODEL
from unpooled.methods.private_ridge.questions import SumProductsWithNoise

_RARELY = 0.05
"""Chance with which noise is larger than the penalty takes it for, as in the paper."""


@dataclass(frozen=True, eq=False)
class NoisyRidge:
    """A model of columns from -1 at their lowest to 1 at their highest value."""

    n: float
    coefficients: np.ndarray
    """float64 (features,)"""
    intercept: float
    penalty: float

    @classmethod
    def fitted(cls, sums: np.ndarray, noise: float) -> NoisyRidge:
        """The model of noisy sums of products, the constant first and the outcome last.

        `noise` is the deviation of the noise in each sum.
        """
        n = max(1.0, float(sums[0, 0]))
        mean = np.clip(sums[0, 1:] / n, -1, 1)
        about = sums[1:, 1:] - n * np.outer(mean, mean)
        values, vectors = eigen(about[:-1, :-1])
        penalty = penalty_for(float(values.min()), noise, len(values))
        w = product(vectors / (values + penalty), product(vectors.T, about[:-1, -1]))
        return cls(n, w, float(mean[-1] - product(mean[:-1][None], w)[0]), penalty)


def penalty_for(least: float, noise: float, features: int) -> float:
    """Return the penalty of AdaSSP, given the smallest eigenvalue of noisy products."""
    bound = noise * math.sqrt(features * math.log(2 * features**2 / _RARELY))
    surely = max(least - bound, 0.0)
    # Noise beyond its bound may leave an eigenvalue below 0: then more is added, until none is.
    return max(bound - surely, noise - least, 0.0)


@procedure("private-ridge/fit")
def fit_private_ridge(study: Study) -> Asks[None]:
    """Sum products with noise, and report the model."""
    question = SumProductsWithNoise(study.plan)
    if not question.promise.is_kept(question.size, question.units):
        raise Refuse(
            "epsilon",
            "for so small an epsilon products of so many columns need more noise than sums can bear",
            "Choose a larger epsilon, or fewer columns.",
        )
    sums = question.matrix((yield question)["products"])
    features = question.columns - 2  # beside the constant and the outcome
    if sums[0, 0] <= question.deviation * math.sqrt(features):
        raise Refuse(
            "epsilon",
            "the noise of this epsilon is as large as the sums that it is in",
            "Choose a larger epsilon, or fewer columns; or invite more people.",
        )
    yield Rows.later(lambda: _rows(question, sums))


def _rows(question: SumProductsWithNoise, sums: np.ndarray) -> Iterator[Rows]:
    found = NoisyRidge.fitted(sums, question.deviation)
    middle, half = question.middle, question.half
    yield Rows(
        COEFFICIENTS,
        {
            "index": np.arange(len(found.coefficients)),
            "mean": middle[:-1],
            "unit": half[:-1],
            "coefficient": found.coefficients * half[-1] / half[:-1],
        },
    )
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "intercept": np.array([middle[-1] + half[-1] * found.intercept]),
            "people": np.array([round(found.n)]),
            "penalty": np.array([found.penalty]),
            "noise": np.array([question.deviation]),
            "spent": np.array([question.promise.spent]),
        },
    )
