"""Parameters of a simulation, and which requests cannot be met."""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.errors import UnpooledError
from unpooled.simulate import oddities

CASE_CONTROL, QUANTITATIVE = "case/control", "quantitative"


@dataclass(frozen=True)
class Request:
    """The arguments of `simulate`, with one entry per cohort where that applies."""

    sizes: tuple[int, ...]
    variants: int
    seed: int
    case_fractions: tuple[float, ...]
    missing: tuple[float, float]
    missing_phenotype_rate: float
    nonfounder_rate: float
    oddities: bool
    effects: tuple[float, ...]
    trait: str
    covariates: int
    autosomes: int
    sex_chromosomes: bool
    phenotype_files: bool
    pooled: bool


def check(request: Request) -> None:
    """UnpooledError, in words, for a request that cannot be met."""
    cohorts = len(request.sizes)
    shares = {
        "a case fraction": request.case_fractions,
        "a rate of missing calls": request.missing,
        "the rate of missing phenotypes": (request.missing_phenotype_rate,),
        "the rate of nonfounders": (request.nonfounder_rate,),
    }
    for what, values in shares.items():
        for value in values:
            _require(0 <= value <= 1, f"{what} is a share between 0 and 1; got {value}")
    _require(cohorts >= 1, "at least one cohort is needed; got none")
    _require(min(request.sizes) >= 4, f"a cohort needs at least 4 samples; got {min(request.sizes)}")
    _require(
        len(request.case_fractions) == cohorts,
        f"there are {cohorts} cohorts but {len(request.case_fractions)} case fractions: give 1 or {cohorts}",
    )
    _require(
        request.missing[1] <= 0.5, f"at most half of a variant's calls are missing; got {request.missing[1]}"
    )
    _require(request.seed >= 0, f"a seed is not negative; got {request.seed}")
    _require(1 <= request.autosomes <= 90, f"autosomes: want 1 to 90; got {request.autosomes}")
    least = oddities.LEAST_VARIANTS if request.oddities else request.autosomes + 10
    _require(
        request.variants >= least,
        f"at least {least} variants are needed{' to plant every oddity' if request.oddities else ''}; "
        f"got {request.variants}",
    )
    _require(
        request.trait in (CASE_CONTROL, QUANTITATIVE),
        f"trait is case/control or quantitative; got {request.trait}",
    )
    _require(request.covariates >= 0, f"the number of covariates is not negative; got {request.covariates}")
    if request.trait == CASE_CONTROL:
        _require(all(e > 0 for e in request.effects), "an odds ratio is above 0")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise UnpooledError(f"simulate: {otherwise}.")
