"""People in a logistic regression at a cohort, with their covariates; bounds of sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unpooled.asking.cohort import MALE, Samples
from unpooled.errors import ProtocolError
from unpooled.methods.regression.about_variants import Bounded
from unpooled.methods.shared.allele_coding import counted, of_one_copy, sexes
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.standardise import Columns, fraction_bits


@dataclass(frozen=True, eq=False)
class People:
    """People in the regressions of a class of chromosomes at one cohort, with their covariates."""

    covariates: np.ndarray
    """float64 (n, c): standardised, then on X, if sex varies, 1 for men; 0 for whoever is not inside."""
    inside: np.ndarray
    case: np.ndarray
    unit: np.ndarray
    """Value of one copy: 1/2 where there is one allele, of which a homozygous call has two copies."""
    group: np.ndarray
    """int64: which of the `sexes` of this class each person belongs to."""

    @classmethod
    def of(
        cls, samples: Samples, chromosome: str, with_sex: bool, centre: np.ndarray, exponent: np.ndarray
    ) -> People:
        if samples.covariates.shape[1] != len(centre):
            raise ProtocolError("the question has another number of covariates than this cohort's data")
        men = samples.sex == MALE
        inside = complete(samples) & counted(chromosome, samples)
        values = Columns(centre, exponent).apply(np.where(inside[:, None], samples.covariates, 0))
        columns = [values, men[:, None]] if with_sex else [values]
        return cls(
            np.where(inside[:, None], np.concatenate(columns, axis=1), 0),
            inside,
            np.where(inside, samples.phenotype, 0),
            np.where(of_one_copy(chromosome, samples), 0.5, 1.0),
            np.where(men | (len(sexes(chromosome)) == 1), 0, 1),
        )

    def null(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate the model without genotype: design (n, 1 + c), weights, residuals, log-likelihoods; 0
        outside.
        """
        x = np.where(self.inside[:, None], np.column_stack([np.ones(len(self.case)), self.covariates]), 0)
        # Not a product of matrices: BLAS adds in an order that goes with the processor and its cores.
        eta = np.clip(np.einsum("ni,i->n", x, beta), -40, 40)
        p = 1 / (1 + np.exp(-eta))
        likelihood = self.case * eta - np.logaddexp(0, eta)
        weight, residual = p * (1 - p), self.case - p
        weight, residual, likelihood = (np.where(self.inside, a, 0) for a in (weight, residual, likelihood))
        return x, weight, residual, likelihood


class LikelihoodBounded(Bounded):
    """Bounds that include sums of log-likelihoods, none beyond 64: linear predictors are clipped at +-40."""

    @property
    def likelihoods(self) -> int:
        return 64 * max(self.people, 1)

    @property
    def likelihood_bits(self) -> int:
        return fraction_bits(self.likelihoods, self.cohorts, 64)
