"""The meta-analysis of the cohorts' own estimates, beside that of statsmodels' fits of each cohort's rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled.methods.regression.heterogeneity import TABLE

from ...oracles.regression import Fit
from .judge import Line, parsed
from .ours import Results
from .outcome import Disagreement, Outcome
from .plinks import meta_analysis
from .study import Study
from .truth import Truth

_CLOSE = 1e-5
"""Tolerance of an estimate, in standard errors, and of a standard error, as a share: statsmodels' iterations
end elsewhere than ours.
"""
_CLEAR = 1e-3
"""Smallest singular value of columns from which on they surely do not depend on one another."""


def look_at_combined(
    study: Study, results: Results, truth: Truth, count: int, folder: Path, outcome: Outcome
) -> None:
    """Put some variants' fixed and random effects before those of statsmodels' fits, and their lines before
    PLINK's meta-analysis of these."""
    if TABLE not in results.tables or {"max_iterations", "tolerance"} & set(study.plan):
        return
    found = results.tables[TABLE]
    random, each = np.random.default_rng(study.seed), dict[str, list[Fit]]()
    for row in random.permutation(len(found["variant"]))[:count].tolist():
        name = results.panel.name[found["variant"][row]].decode()
        first, second = (allele.decode() for allele in results.alleles(name))
        fits = own_fits(study, truth, name, (first, second))
        if fits is None:
            continue
        outcome.exact += 1
        ours = {title: found[title][row] for title in ("studies", "fixed", "fixed_se", "random", "random_se")}
        if wrong := _wrong(fits, ours):
            theirs = " ".join(f"{beta:.8g} {se:.8g}" for beta, se, _ in (fit.of("ADD") for fit in fits))
            outcome.disagreements.append(Disagreement(TABLE, wrong, name, str(ours), theirs))
        elif len(fits) > 2:
            each[name] = fits
    if each:
        _look_at_lines(study, results, each, folder, outcome)


def _look_at_lines(
    study: Study, results: Results, each: dict[str, list[Fit]], folder: Path, outcome: Outcome
) -> None:
    """Put lines of `.meta` before PLINK 1.9's, which prints four decimals of an effect."""
    files = []
    for k in range(max(map(len, each.values()))):
        rows = ["CHR SNP BP A1 A2 NMISS BETA SE P"]
        for at, (name, fits) in enumerate(each.items()):
            first, second = (allele.decode() for allele in results.alleles(name))
            if k < len(fits):
                beta, se, _ = fits[k].of("ADD")
                rows.append(f"1 {name} {at} {first} {second} 1 {beta:.17g} {se:.17g} 0.5")
        files.append(folder / f"fits{k}")
        files[-1].write_text("\n".join(rows) + "\n")
    theirs = {line["SNP"]: line for line in parsed(meta_analysis(study, files, folder / "meta"))}
    for line in parsed(results.files["meta"]):
        if (other := theirs.get(line["SNP"])) and not _is_near(line, other):
            outcome.disagreements.append(
                Disagreement("meta", "another line", line["SNP"], str(line), str(other))
            )


def _is_near(ours: Line, theirs: Line) -> bool:
    numbers = [(float(ours[title]), float(theirs[title])) for title in ("N", "P", "P(R)", "Q", "I")]
    (n, m), (p, q), (r, s), (x, y), (i, j) = numbers
    of_p = all(abs(a - b) <= 2e-3 * b or b < 1e-300 for a, b in ((p, q), (r, s)))
    return n == m and of_p and abs(x - y) <= 2e-4 and abs(i - j) <= 0.05


def own_fits(study: Study, truth: Truth, name: str, pair: tuple[str, str]) -> list[Fit] | None:
    """Return the fit of each cohort that has one; None where it is unclear whether a cohort has one."""
    found, (allele, other) = [], pair
    for cohort in range(study.cohorts):
        rows = truth.of_cohort(name, allele, cohort)
        if len(rows.x) <= rows.x.shape[1] or not np.ptp(rows.x[:, 1]):
            continue
        both = rows, truth.of_cohort(name, other, cohort)  # on X sex inflates the variance of one of them
        if min(each.least for each in both) < _CLEAR:
            return None
        if (inflated := rows.is_inflated) is None or both[1].is_inflated != inflated:
            return None
        if inflated:
            continue
        own = truth.complete & (study.people.cohort == cohort)
        told = study.test == "logistic" and {truth.is_told_by_calls(name, one, own) for one in pair}
        if told == {False, True}:  # on X, where sex is a covariate: it goes by the rarer one
            return None
        if told == {True}:
            continue
        if study.test == "logistic" and (estimable := rows.is_estimable()) is not True:
            if estimable is None:
                return None
            continue
        fit = rows.fit()
        if fit is None or not np.isfinite(fit.se).all() or fit.of("ADD")[1] <= 1e-5 * np.ptp(rows.y):
            return None  # next to nothing is left to explain
        found.append(fit)
    return found


def _wrong(fits: list[Fit], ours: dict[str, float]) -> str:
    """Say what does not follow from statsmodels' fits by the formulas of meta-analysis; empty if nothing."""
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
