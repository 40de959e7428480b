"""The meta-analysis of the cohorts' own estimates, beside that of statsmodels' fits of each cohort's rows."""

from __future__ import annotations

import numpy as np

from unpooled.algorithms.regression.heterogeneity import TABLE

from ...oracles.regression import Fit
from .ours import Results
from .outcome import Disagreement, Outcome
from .study import Study
from .truth import Truth

_CLOSE = 1e-5
"""In standard errors, and of one: statsmodels and ours end their iterations in other places."""
_CLEAR = 1e-3
"""Smallest singular value of columns from which on they surely do not depend on one another."""


def look_at_combined(study: Study, results: Results, truth: Truth, count: int, outcome: Outcome) -> None:
    """Put some variants' fixed and random effects before those of statsmodels' fits."""
    if TABLE not in results.tables or {"max_iterations", "tolerance"} & set(study.plan):
        return
    found = results.tables[TABLE]
    random = np.random.default_rng(study.seed)
    for row in random.permutation(len(found["variant"]))[:count].tolist():
        name = results.panel.name[found["variant"][row]].decode()
        first = results.panel.pair(int(found["variant"][row]))[0].decode()
        fits = own_fits(study, truth, name, first)
        if fits is None:
            continue
        outcome.exact += 1
        ours = {title: found[title][row] for title in ("studies", "fixed", "fixed_se", "random", "random_se")}
        if wrong := _wrong(fits, ours):
            theirs = " ".join(f"{beta:.8g} {se:.8g}" for beta, se, _ in (fit.of("ADD") for fit in fits))
            outcome.disagreements.append(Disagreement(TABLE, wrong, name, str(ours), theirs))


def own_fits(study: Study, truth: Truth, name: str, allele: str) -> list[Fit] | None:
    """Those of each cohort that has one; None where a cohort may have one, or may not."""
    found = []
    for cohort in range(study.cohorts):
        rows = truth.of_cohort(name, allele, cohort)
        if len(rows.x) <= rows.x.shape[1] or not np.ptp(rows.x[:, 1]):
            continue
        if rows.least < _CLEAR:
            return None
        if (inflated := rows.is_inflated) is None:
            return None
        if inflated:
            continue
        own = truth.complete & (study.people.cohort == cohort)
        if study.test == "logistic" and truth.is_told_by_calls(name, allele, own):
            continue
        if study.test == "logistic" and (estimable := rows.is_estimable()) is not True:
            if estimable is None:
                return None
            continue
        fit = rows.fit()
        if fit is None or not np.isfinite(fit.se).all() or fit.of("ADD")[1] <= 1e-9 * np.ptp(rows.y):
            return None  # next to nothing is left to explain
        found.append(fit)
    return found


def _wrong(fits: list[Fit], ours: dict[str, float]) -> str:
    """What is not as it follows from statsmodels' fits, by the formulas over studies; or nothing."""
    if int(ours["studies"]) != len(fits):
        return f"{len(fits)} cohorts have an estimate"
    if len(fits) < 3:
        return "" if np.isnan(ours["fixed"]) else "too few cohorts for a result"
    beta, se = np.array([fit.of("ADD")[:2] for fit in fits]).T
    weight = 1 / se**2
    fixed, error = np.average(beta, weights=weight), 1 / np.sqrt(weight.sum())
    q = (weight * (beta - fixed) ** 2).sum()
    spread = (q - len(fits) + 1) / (weight.sum() - (weight**2).sum() / weight.sum())
    other = 1 / (se**2 + max(0, spread))
    random, random_error = np.average(beta, weights=other), 1 / np.sqrt(other.sum())
    pairs = {"fixed": fixed, "fixed_se": error, "random": random, "random_se": random_error}
    for title, value in pairs.items():
        if not abs(ours[title] - value) <= _CLOSE * error * (1 + abs(fixed / error)):
            return f"{title} is {value:.8g}"
    return ""
