"""Heterozygous calls where there is one copy: by the rule `mean` no two sums differ by who has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from asking import followed
from pooled import GENERATED, MT, Pool, X, Y

from unpooled.algorithms.regression.linear import SumWithGenotypes
from unpooled.algorithms.shared.coding import PLACES, by_plink2
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan


def without_heterozygous(pooled: Pool) -> Pool:
    """The same data in which those calls are missing."""
    chromosome = np.array([row[0] for row in pooled.variants])[:, None]
    men = pooled.samples.sex == 1
    single = ((chromosome == X) & men) | ((chromosome == Y) & men) | (chromosome == MT)
    return replace(pooled, copies=np.where(single & (pooled.copies == 1), -1, pooled.copies).astype(np.int8))


@pytest.mark.parametrize("test", ["linear", "logistic"])
@pytest.mark.parametrize("missing", ["exact", "mean"])
def test_plink2s_report_counts_them_by_the_rule_exact_only(test: str, missing: str) -> None:
    pooled = GENERATED[test](6, n=300, each=12)
    (file, rows), (without, others) = (
        data.study(missing=missing, files=("glm",), hide_covar=True)
        for data in (pooled, without_heterozygous(pooled))
    )
    header, *lines = file["glm"].splitlines()
    assert without["glm"].splitlines()[0] == header
    # On MT such calls count for the frequency that decides on A1.
    same_a1 = rows["first_is_a1"] == others["first_is_a1"]
    chromosomes = [pooled.variants[variant][0] for variant in rows["variant"]]
    reports = zip(chromosomes, same_a1, lines, without["glm"].splitlines()[1:], strict=True)
    different = {chromosome for chromosome, same, line, other in reports if same and line != other}
    assert different == (set() if missing == "mean" else {X, Y, MT})


def test_both_questions_about_a_variant_have_the_same_sums() -> None:
    pooled = GENERATED["linear"](6, n=300, each=12)
    plan = Plan(
        "linear", "trait", 3, bytes(32), trait="quantitative", missing="mean", files=("glm",),
        covariates=tuple(map(Covariate, pooled.covariates)),
    )  # fmt: skip
    cohorts = pooled.cohorts((1, 2, 4), 0)
    answers = followed(plan, Panel.of(pooled.variants), cohorts).answers
    found = {
        (question.start, question.chromosome): total
        for question, total in answers
        if isinstance(question, SumWithGenotypes)
    }
    pairs = [
        (total, found[start, PLACES[chromosome]])
        for (start, chromosome), total in found.items()
        if by_plink2(chromosome)
    ]
    assert len(pairs) == 3
    for again, first in pairs:
        np.testing.assert_array_equal(again["genotype"], first["genotype"])
