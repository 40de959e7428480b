"""A small study of variants with each option that no other small study has, on odd data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from unpooled.methods import ALGORITHMS
from unpooled.methods.chi_square import CHI_SQUARE
from unpooled.methods.regression.linear import LINEAR
from unpooled.methods.regression.logistic import LOGISTIC
from unpooled.plan.result_files import CLUMPED, META, SPA, SUSIE

from .studies import CHROMOSOMES, COVARIATES, SITE, Small, of_variants, panel_of

AGE = COVARIATES[:1]
_MANY = 1000


def _of(test: str, name: str, **changes: Any) -> tuple[str, Callable[[], Small]]:
    """A study with every file but those that take the most time."""
    files = tuple(file for file in ALGORITHMS[test].files if file not in (META, CLUMPED, SUSIE, SPA))
    return f"{test}: {name}", lambda: of_variants(test, odd=True, **{"files": files} | changes)


def _studies() -> Iterator[tuple[str, Callable[[], Small]]]:
    panel = panel_of(CHROMOSOMES)
    for test in (CHI_SQUARE.name, LINEAR.name, LOGISTIC.name):
        yield _of(test, "every file", files=tuple(ALGORITHMS[test].files))
        yield _of(test, "list", panel_mode="list", panel_digest=panel.digest)
        yield _of(test, "five cohorts, one chunk", cohorts=5, chunk_size=_MANY)
        yield _of(test, "founders and others", nonfounders=True)
        yield _of(test, "filters", maf=0.1, geno=0.08, hwe=0.01, mind=0.08)
        yield _of(test, "confidence", ci=0.95)
    for test in (LINEAR.name, LOGISTIC.name):
        for missing in ("exact", "mean"):
            yield _of(test, f"{missing}: no covariate", missing=missing, covariates=())
            yield _of(test, f"{missing}: a number", missing=missing, covariates=AGE, ci=0.9)
        yield _of(test, "hidden covariates", hide_covar=True)
        yield _of(test, "columns", covariates=AGE, glm_cols=("pos", "a1freq", "test", "beta", "tz", "err"))
        yield _of(test, "cohorts apart", covariates=(*AGE, SITE), cohort_sums=True)
    yield _of(LOGISTIC.name, "odds as logarithms", beta=True, ci=0.9)
    yield _of(LOGISTIC.name, "tolerance", tolerance=1e-4)
    yield _of(LOGISTIC.name, "few iterations", max_iterations=3)


OPTIONS = dict(_studies())
