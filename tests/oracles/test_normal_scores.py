"""Normal scores beside plink2 --pheno-quantile-normalize on the pool's phenotype, cut into the same bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pooled import Quantities, quantities

from unpooled.methods.regression.normal_scores import TABLE
from unpooled.methods.shared.groups import complete
from unpooled.run import run

from ..contract.studies import STUDIES
from .normal_scores import cut, scored
from .reports import LINEAR, Row, pairs

SHARES = (1, 2, 4)
NORMALIZE = ("--pheno-quantile-normalize", "--glm")


def in_bins(pool: Quantities) -> Quantities:
    """The pool with the number of the bin in the place of the phenotype, of people with complete data."""
    s, of = pool.samples, pool.cohort_of(SHARES)
    bins = cut(np.where(complete(s), s.phenotype, np.nan), of, pool.plan(len(SHARES)))
    return replace(pool, samples=replace(s, phenotype=bins))


def of_phenotype(of: Callable[[np.ndarray], np.ndarray], n: int = 1500) -> Quantities:
    pool = quantities(4, n=n, each=8)
    return replace(pool, samples=replace(pool.samples, phenotype=of(pool.samples.phenotype)))


def shifted(y: np.ndarray) -> np.ndarray:
    """The smallest cohort has other values."""
    return y + 1.5 * (quantities(4, n=len(y), each=8).cohort_of(SHARES) == 0)


def results(files: dict[str, bytes], plinks: list[list[str]]) -> list[tuple[Row, Row]]:
    """The lines about variants that have a result."""
    found = [(a, b) for a, b in pairs(files["glm"], plinks) if a["TEST"] == "ADD"]
    assert all(a["ERRCODE"] == b["ERRCODE"] for a, b in found)
    return [(a, b) for a, b in found if a["ERRCODE"] == "."]


@pytest.mark.parametrize(
    "of",
    [
        lambda y: y,
        lambda y: np.exp(3 * y),
        shifted,
        lambda y: np.maximum(np.round(y), 0),  # most are zero
        lambda y: 1e9 + y,
        lambda y: np.round(y, 1),
        lambda y: np.where(y > np.nanquantile(y, 0.995), 1e30, -y),
    ],
    ids=["normal", "skewed", "shifted", "counts", "far from 0", "rounded", "codes"],
)
def test_it_is_plink2_on_the_bins_of_the_pool(of: Callable[[np.ndarray], np.ndarray], tmp_path: Path) -> None:
    """Three uneven cohorts with covariates, missing values of every kind, and all kinds of chromosomes."""
    pool = of_phenotype(of)
    files, _ = pool.study(SHARES, files=("glm",), rint=True)
    found = results(files, in_bins(pool).plink2(tmp_path, *NORMALIZE))
    assert len(found) > 40
    for ours, plinks in found:
        for title, (relative, absolute) in LINEAR.items():
            expected = pytest.approx(float(plinks[title]), rel=relative, abs=absolute)
            assert float(ours[title]) == expected, (title, ours, plinks)


def test_it_is_nearly_plink2_on_the_pool(tmp_path: Path) -> None:
    pool = of_phenotype(lambda y: np.exp(2 * y), n=6000)
    s = pool.samples
    known = replace(pool, samples=replace(s, phenotype=np.where(complete(s), s.phenotype, np.nan)))
    files, _ = pool.study(SHARES, files=("glm",), rint=True)
    ours, plinks = np.array(
        [
            [float(each["T_STAT"]) for each in both]
            for both in results(files, known.plink2(tmp_path, *NORMALIZE))
        ]
    ).T
    assert np.corrcoef(ours, plinks)[0, 1] > 0.999


@pytest.mark.parametrize("name", [name for name in STUDIES if "normal scores" in name])
def test_all_else_is_as_with_scores_for_phenotypes(name: str) -> None:
    """Tests of genes, predictions, and several phenotypes, of the same people or each of its own."""
    one = STUDIES[name]()
    plan = one.plan.without("rint")
    samples = [cohort.samples for cohort in one.cohorts]
    of, scores = np.repeat(range(len(samples)), list(map(len, samples))), []
    for place in range(len(plan.phenotype_names)):
        seen = [each.of_phenotype(place) for each in samples]
        known = np.concatenate([np.where(complete(each), each.phenotype, np.nan) for each in seen])
        scores.append(scored(known, of, plan))
    cohorts = [
        replace(cohort, samples=cohort.samples.with_phenotypes(np.column_stack(scores)[of == number]))
        for number, cohort in enumerate(one.cohorts)
    ]
    ours, expected = run(one.plan, one.panel, one.cohorts), run(plan, one.panel, cohorts)
    assert {table for table in ours if not table.startswith(TABLE)} == expected.keys()
    for table, columns in expected.items():
        for column, values in columns.items():
            np.testing.assert_allclose(ours[table][column], values, rtol=1e-6, atol=1e-9, err_msg=table)
