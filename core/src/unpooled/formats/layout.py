"""Layout of result files: all that their form depends on beside the result columns."""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.plan.genotype_model import Terms


@dataclass(frozen=True)
class Layout:
    """The part of a study's plan that decides how result files about variants are written."""

    phenotype: str
    trait: str
    build: str
    autosomes: int
    limits: float
    """Level of the confidence limits, such as 0.95; 0 for none."""
    odds: bool
    """True if effects are odds ratios, not betas."""
    covariates: tuple[str, ...]
    """Names of the covariates' columns."""
    hides_covariates: bool
    """True if there is no line about covariates."""
    terms: Terms
    """The columns of a regression that come of the genotype."""
    terms_with_sex: Terms
    """The same on X, where sex is a covariate."""
    glm_columns: tuple[str, ...] = ()
    """Columns of plink2's report; empty for the usual ones."""
