"""Checks of a line's numbers: near PLINK's, and right."""

from __future__ import annotations

import numpy as np
from scipy import stats

from unpooled.kernels import least_squares as codes
from unpooled.plan.genotype_model import CHOSEN, JOINT, terms_of

from ...oracles.regression import Fit, Rows
from .models import indicators
from .ours import Results
from .study import Study
from .truth import Truth

Line = dict[str, str]
"""A line of a report, by its titles."""

ASSOC = ("CHR", "SNP", "BP", "A1", "TEST", "NMISS")
GLM = ("#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST", "OBS_CT")
"""Columns that must be the same words in PLINK 1.9's report and in plink2's."""
_OF_TWO = ("Z_OR_F_STAT", "T_OR_F_STAT")
_STATISTICS = ("STAT", "Z_STAT", "T_STAT", *_OF_TWO)
_ERRORS = ("SE", "LOG(OR)_SE")
_NEAR = 1e-3
"""Tolerance against PLINK of a number that has come through single precision, besides a last digit."""
_PENALISED = 3e-5, 3e-5
"""The same of Firth's fit, which ends with steps of 1e-6: where they shrink slowly, a few 1e-5 away."""
_BETA, _SE = 1e-9, 1e-6
"""Tolerances against statsmodels: of a coefficient, as a share of the larger of itself and its error; and of
that error.
"""
_OF_RANKS = 1e-8
"""Tolerance of a coefficient of normal scores, whose quantiles have nine digits, as PLINK's."""
_LEAST_P = 1e-300
"""P below which SciPy may have none."""
_SURE = 3.0
"""Standard error, per deviation of a column, below which an iteration has come to a maximum."""


def parsed(report: bytes) -> list[Line]:
    header, *lines = report.decode().splitlines() or [""]
    return [dict(zip(header.split(), line.split(), strict=True)) for line in lines]


def is_joint(test: str) -> bool:
    """Tell whether a line is about several columns at once."""
    return test == JOINT or test.startswith(CHOSEN.partition("{")[0])


def is_number(line: Line) -> bool:
    return line["P"] != "NA"


class Judge:
    """Judge of the lines of one report."""

    def __init__(self, study: Study, results: Results, truth: Truth, glm: bool) -> None:
        self.study, self.plan, self.results, self.truth, self.glm = study, study.plan, results, truth, glm
        self.logistic, self.digits = study.test == "logistic", 6 if glm else 4
        of_genotype, _ = terms_of(results.plan).tests(results.plan.covariate_columns)
        self.own = (*of_genotype, JOINT)
        """The tests of the genotype itself."""
        columns = results.regression(glm)
        penalised = columns["variant"][:][np.isin(columns["code"][:], codes.OF_PENALISED)]
        self._penalised = {results.panel.name[variant].decode() for variant in penalised.tolist()}
        self._estimable: dict[str, bool | None] = {}
        self._fits: dict[str, Fit | None] = {}

    def name(self, line: Line) -> str:
        return line["ID" if self.glm else "SNP"]

    def rows(self, line: Line) -> Rows:
        """The people of the variant's regression."""
        return self.truth.rows(self.name(line), line["A1"], self.glm)

    def is_estimable(self, line: Line) -> bool | None:
        """Tell whether there is a unique estimate; None where that is a matter of rounding."""
        name = self.name(line)
        if name not in self._estimable:
            self._estimable[name] = self.rows(line).is_estimable()
        return self._estimable[name]

    def is_penalised(self, line: Line) -> bool:
        """Tell whether ours is Firth's fit."""
        return self.glm and self.name(line) in self._penalised

    def has_no_maximum(self, line: Line) -> bool:
        """Tell whether the likelihood has no maximum, though ours has a number."""
        if not self.logistic or line["TEST"] != self.own[0] or self.is_penalised(line):
            return False
        errors, (_, size) = [error for _, error in self.estimates(line).values()], self.rows(line).scaled
        if len(errors) == len(size) and np.max(errors * size) < _SURE:
            return False
        return self.is_estimable(line) is False

    def near(self, ours: Line, theirs: Line) -> bool:
        """Within a step of the last digit; a logistic report, and plink2's, within `_NEAR` beside that."""
        titles = [title for title in ours if title not in (*ASSOC, *GLM, "FIRTH?", "ERRCODE")]
        return all(ours[title] == theirs[title] or self._is_near(title, ours, theirs) for title in titles)

    def _is_near(self, title: str, ours: Line, theirs: Line) -> bool:
        x, y = float(ours[title]), float(theirs[title])
        allowed = 1.001 * unit(y, self.digits)
        if self.glm or self.logistic:
            allowed += _NEAR * self._scale(title, y, theirs)
        return abs(x - y) <= allowed

    def _scale(self, title: str, value: float, line: Line) -> float:
        """Return what `_NEAR` is a share of: the number, or its error if larger; 1 for a statistic."""
        if title in _STATISTICS:
            return 1.0
        if title != "BETA":
            return abs(value)
        statistic = abs(float(next(line[name] for name in _STATISTICS if name in line)))
        scale = max(abs(value), abs(value) / statistic if statistic else 0.0)
        return min(scale, 1.0) if self.logistic else scale

    def is_right(self, line: Line) -> bool:
        """Tell whether every printed number is what statsmodels finds."""
        expected = self.expected(line)
        return bool(expected) and all(
            (shown := float(line[title])) == value
            or abs(shown - value) <= 0.501 * unit(shown, self.digits) + slack
            for title, (value, slack) in expected.items()
        )

    def expected(self, line: Line) -> dict[str, tuple[float, float]]:
        """Return statsmodels' numbers for the columns of a line, and how far an error of SE moves each."""
        fit = self.fit(line)
        if fit is None:
            return {}
        if is_joint(line["TEST"]):
            return self._expected_together(line, fit)
        beta, se, p = fit.of(line["TEST"])
        close = _PENALISED[1] if self.is_penalised(line) else _SE
        effects = {"OR": beta, "BETA": beta}
        if ci := float(self.plan.get("ci", 0)):  # type: ignore[arg-type]
            reach, percent = stats.norm.ppf(1 - (1 - ci) / 2), int(ci * 100 + 1e-9)
            effects |= {f"L{percent}": beta - reach * se, f"U{percent}": beta + reach * se}
        with np.errstate(over="ignore"):
            odds = {title: float(np.exp(effect)) for title, effect in effects.items()}
        z = beta / se
        found = {title: (value, close * se * value) for title, value in odds.items()}
        if "OR" not in line:
            found = {title: (effect, close * se) for title, effect in effects.items()}
        found |= dict.fromkeys(_ERRORS, (se, close * se))
        found |= {title: (z, close * (1 + abs(z))) for title in _STATISTICS}
        found["P"] = (p, close * p * (1 + z * z) + _LEAST_P)
        return {title: value for title, value in found.items() if title in line}

    def _expected_together(self, line: Line, fit: Fit) -> dict[str, tuple[float, float]]:
        """Return the numbers of the joint test: chi-square in PLINK 1.9's report, F in plink2's."""
        rows, places = self.rows(line), list(range(len(self.own) - 1))
        places += [k - 1 for k, _, _ in rows.products if line["TEST"] != JOINT]
        count, joint = len(places), fit.together(places)
        size = joint / count if self.glm else joint
        p = stats.f(count, len(rows.y)).sf(size) if self.glm else stats.chi2(count).sf(size)
        close = _PENALISED[1] if self.is_penalised(line) else _SE
        found = dict.fromkeys(_STATISTICS, (size, close * (1 + size)))
        found["P"] = (float(p), close * p * (1 + size))
        return {title: value for title, value in found.items() if title in line}

    def is_tolerated(self, line: Line) -> bool:
        """Tell whether the plan has a tolerance, and the likelihood is as near to its maximum as that."""
        tolerance = float(self.plan.get("tolerance", 0))  # type: ignore[arg-type]
        betas = {test: beta for test, (beta, _) in self.estimates(line).items()}
        return tolerance > 0 and self.rows(line).shortfall(betas) <= tolerance

    def far_from_statsmodels(self, line: Line) -> str:
        """Compare all tests of a variant in full precision, and say what is not statsmodels'."""
        of_usual = _OF_RANKS if self.plan.get("rint") else _BETA, _SE
        fit, (exact, close) = self.fit(line), _PENALISED if self.is_penalised(line) else of_usual
        for test, (beta, se) in self.estimates(line).items():
            b, e, _ = fit.of(test) if fit else (np.nan, np.nan, np.nan)
            if not (abs(beta - b) <= exact * max(abs(b), e) and abs(se - e) <= close * e):
                return f"{test} {beta!r} {se!r}, statsmodels {b!r} {e!r}"
        return ""

    def estimates(self, line: Line) -> dict[str, tuple[float, float]]:
        """Coefficients and standard errors of the variant's regression in full precision, by test."""
        columns, others = self.results.regression(self.glm), [name for name, _ in indicators(self.study)]
        names = [name for name in self.rows(line).names if name not in others]
        at = int(np.flatnonzero(columns["variant"][:] == self.results.place[self.name(line)])[0])
        beta, se = (columns[name][at : at + 1][0].tolist() for name in ("beta", "se"))
        signs = [-1.0 if self.glm and name in self.truth.of_sex else 1.0 for name in names]
        return {name: (x * sign, e) for name, x, e, sign in zip(names, beta, se, signs, strict=False)}

    def fit(self, line: Line) -> Fit | None:
        name = self.name(line)
        if name not in self._fits:
            rows = self.rows(line)
            self._fits[name] = (
                rows.penalised(self._whole(name, rows)) if self.is_penalised(line) else rows.fit()
            )
        return self._fits[name]

    def _whole(self, name: str, rows: Rows) -> np.ndarray:
        """Return where the search for Firth's estimates begins: at ours, of the tests that the report has."""
        columns = self.results.regression(self.glm)
        at = int(np.flatnonzero(columns["variant"][:] == self.results.place[name])[0])
        known = columns["beta"][at : at + 1][0][: len(rows.names)].copy()
        of_sex = [self.glm and name in self.truth.of_sex for name in rows.names[: len(known)]]
        known[of_sex] *= -1  # as plink2 counts it
        return np.concatenate([np.nan_to_num(known), np.zeros(len(rows.names) - len(known))])

    def in_words(self, line: Line) -> str:
        values = " ".join(f"{title}={value:.8g}" for title, (value, _) in self.expected(line).items())
        return f"(statsmodels {values or 'finds nothing'})"


def unit(value: float, digits: int) -> float:
    """Return one unit in the last of so many digits."""
    if not value or not np.isfinite(value):
        return 0.0
    return float(10.0 ** (np.floor(np.log10(abs(value))) - digits + 1))
