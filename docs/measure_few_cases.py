"""Measures logistic regression with few cases and rare carriers; writes docs/measured/few-cases.md.

    .venv/bin/python docs/measure_few_cases.py

The grid, and what decides, are those of tests/oracles/test_few_cases.py. Both PLINKs run on the pooled
file of each study.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import measuring
import numpy as np

sys.path.insert(0, str(measuring.HERE.parent / "core" / "tests"))
sys.path.insert(0, str(measuring.HERE.parent))

from tests.oracles.test_few_cases import CASES, plinks, regression_of, studied

COLUMNS = (
    "Cases",
    "Variants",
    "With a maximum",
    "Estimates here",
    "`plink1.9`",
    "`plink2`",
    "Coefficients off by",
    "Standard errors off by",
)
COVARIATES = (0, 2, 5)
WRITES = (measuring.Table("few-cases", free=(6, 7)),)
NOTE = """
Coefficients are off by this share of the larger of themselves and their standard errors, standard errors by
this share of themselves, at most; both from statsmodels. plink2's estimates are those without a code."""


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    measured = table(CASES[-1:], COVARIATES[:1]) if given.small else table(CASES, COVARIATES)
    measuring.write(given.out, WRITES[0].name, measured)


def table(shares: Sequence[float], covariates: Sequence[int]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + " ---: |" * len(COLUMNS)
    for share in shares:
        found = [row(share, columns) for columns in covariates]
        counts = sum(counts for counts, _ in found)
        far = np.max([far for _, far in found], axis=0)
        cells = [f"{100 * share:g} %", *map(str, counts), *(f"{distance:.0e}" for distance in far)]
        yield f"| {' | '.join(cells)} |"
    yield NOTE


def row(share: float, covariates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for one study: variants, those with a maximum, with an estimate here, in both PLINKs; how far
    off.
    """
    pooled, rows = studied(share, covariates)
    with tempfile.TemporaryDirectory() as folder:
        by_one, by_two = plinks(pooled, Path(folder))
    estimable, far = 0, np.zeros(2)
    for k in range(len(rows["variant"])):
        of = regression_of(pooled, rows, k)
        estimable += bool(of.is_estimable())
        if rows["code"][k] == 0 and (truth := of.fit()) is not None:
            beta, se = (rows[name][k, : len(of.names)] for name in ("beta", "se"))
            near = np.maximum(np.abs(truth.beta), truth.se)
            off = np.abs(beta - truth.beta) / near, np.abs(se / truth.se - 1)
            far = np.maximum(far, [part.max() for part in off])
    ones = sum(line[6] != "NA" for line in by_one.values())
    twos = sum(line[-1] == "." for line in by_two.values())
    return np.array([len(rows["code"]), estimable, np.sum(rows["code"] == 0), ones, twos]), far


if __name__ == "__main__":
    main()
