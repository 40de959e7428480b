"""A polygenic score from sums, beside the ridge regression of scikit-learn on the pooled genotypes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from score_pools import Pooled, mice, pooled
from sklearn.linear_model import LinearRegression

from tests.people import people
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse, UnpooledError
from unpooled.formats.scoring_file import ScoringFile, write_scoring_file
from unpooled.methods import check
from unpooled.methods.polygenic import procedure
from unpooled.methods.polygenic.counts import groups, key_of
from unpooled.methods.polygenic.result import (
    FIT,
    PATH,
    Performance,
    columns_of,
    shown,
    write_card,
)
from unpooled.methods.shared.kept_autosomes import scores_of
from unpooled.methods.shared.layout import layout_of
from unpooled.plan.plan import PlanError
from unpooled.run import run_alone

REGIMES: dict[str, dict[str, Any]] = {
    "even": {},
    "unequal": {"weights": np.array([100, 100, 1])},
    "of twenty cohorts": {"cohorts": 20, "people": 900},
    "with covariates of far scales": {"covariates": 4},
    "missing calls": {"missing": 0.1, "covariates": 1},
    "rare": {"least": 0.03, "people": 1200},
    "more people than variants": {"variants": 40},
    "more variants than people": {"variants": 1500, "people": 500},
    "cases and controls": {"trait": "case/control", "covariates": 2},
    "half left out": {"held_out": 2},
    "of dosages": {"dosages": True, "missing": 0.1, "covariates": 1},
}


@pytest.mark.parametrize("regime", REGIMES)
def test_the_score_is_the_ridge_regression_of_the_pool(regime: str) -> None:
    one = pooled(**REGIMES[regime])
    found = one.study()
    fitted, left_out = one.drawn()
    variants, path = found["variants"]["variant"], found[PATH]
    assert len(variants) > 20
    for share, r_squared, explained in zip(path["share"], path["r_squared"], path["explained"], strict=True):
        model, on_c, x = one.ridge(variants, share, fitted)
        c, y = one.samples.covariates[left_out], one.samples.phenotype[left_out]
        score = model.predict(x[left_out])
        error = y - model.predict((x - on_c.predict(one.samples.covariates)[:, :-1])[left_out])
        error -= on_c.predict(c)[:, -1]
        alone = y - on_c.predict(c)[:, -1]
        assert explained == pytest.approx(1 - error @ error / (alone @ alone), abs=1e-5)
        both = np.column_stack([score, y])
        both = both - (LinearRegression().fit(c, both).predict(c) if c.shape[1] else both.mean(axis=0))
        assert r_squared == pytest.approx(np.corrcoef(both.T)[0, 1] ** 2, abs=1e-5)

    assert path["chosen"].sum() == 1 and path["chosen"][np.argmin(path["error"])]
    assert (np.diff(path["share"]) > 0).all()
    share = path["share"][path["chosen"]].item()
    model, _, x = one.ridge(variants, share, fitted | left_out)
    wanted = model.coef_ / one.genotypes(variants)[fitted | left_out].std(axis=0)
    signs = np.where(found["variants"]["first_is_a1"], 1, -1)
    np.testing.assert_allclose(
        signs * found["variants"]["weight"], wanted, atol=2e-5 * np.abs(wanted).max(), rtol=0
    )


@pytest.mark.parametrize("phenotype", [0, 5])
def test_mice(phenotype: int) -> None:
    """R² to 1e-6 of the direct solution, in as many rounds as the people of two thirds allow.

    `gemma-doc`: 1,410 and 1,580 mice.
    """
    one = mice(phenotype)
    found = one.study()
    fitted, left_out = one.drawn()
    variants, path = found["variants"]["variant"], found[PATH]
    assert found[FIT]["rounds"][0] <= 47 and len(path["share"]) >= 5
    x = one.genotypes(variants)
    x /= x[fitted | left_out].std(axis=0)
    centred, y = x[fitted] - x[fitted].mean(axis=0), one.samples.phenotype
    values, vectors = np.linalg.eigh(centred @ centred.T)
    along = vectors.T @ (y[fitted] - y[fitted].mean())
    for share, r_squared in zip(path["share"], path["r_squared"], strict=True):
        dual = vectors @ (along / (values + len(variants) * (1 - share) / share))
        score = x[left_out] @ (centred.T @ dual)
        assert r_squared == pytest.approx(np.corrcoef(score, y[left_out])[0, 1] ** 2, abs=1e-6)
    assert 0.2 < path["r_squared"].max() < 0.65


@pytest.mark.parametrize(("group", "beside", "has_sums"), [(0, 9, False), (1, 9, False), (1, 10, True)])
def test_no_sum_is_of_few_carriers(group: int, beside: int, has_sums: bool) -> None:
    """One of each group is carried by twenty people in one cohort, and beside it by ten or, of one group, so
    many."""
    one = pooled(variants=60)
    before = one.study()["variants"]["variant"].tolist()
    copies, drawn = one.copies.copy(), one.drawn()
    copies[before[3]] = 0
    for place, members in enumerate(drawn):
        for cohort, carry in ((0, 20), (1, beside if place == group else 10)):
            copies[before[3], np.flatnonzero(members & (one.of_cohort == cohort))[:carry]] = 1
    found = Pooled(one.plan, one.panel, copies, one.samples, one.of_cohort).study()
    assert found["variants"]["variant"].tolist() == [v for v in before if has_sums or v != before[3]]


def test_one_cohort_alone_has_no_floors() -> None:
    one = pooled(people=300, variants=60)
    tables = run_alone(one.plan, one.panel, one.cohorts[0])
    assert len(tables["variants"]["variant"]) > 50 and np.isfinite(tables["variants"]["weight"]).all()


def test_rounds_are_few_where_people_are() -> None:
    assert procedure.most_rounds(pooled().plan, 1410) == 70
    assert procedure.most_rounds(pooled().plan, 600) == 30
    with pytest.raises(Refuse, match="157 people beside those of the largest cohort allow 7 rounds"):
        pooled(people=260, variants=900, shares=(0.9,)).study()


def test_shares_that_are_not_solved_are_left_out() -> None:
    one = pooled(people=330, variants=900, shares=(0.02, 0.95))
    found = one.study()
    assert found[PATH]["share"].tolist() == [0.02]
    write_card(out := io.BytesIO(), one.panel, columns_of("", found), one.plan)
    told = "Not solved in the rounds that the number of people allows: 0.95."
    assert told in shown(found, one.plan) and told in out.getvalue().decode()


def test_who_is_left_out_goes_with_the_plan_alone() -> None:
    samples = people(np.ones(100))
    one, other = pooled().plan, pooled(maf=0.01).plan
    fitted, left_out = groups(samples, key_of(one), 5)
    assert left_out.sum() == 20 and (fitted ^ left_out).all()
    assert (groups(samples, key_of(one), 5)[1] == left_out).all()
    assert (groups(samples, key_of(other), 5)[1] != left_out).any()


def test_normal_masks_are_refused() -> None:
    with pytest.raises(PlanError, match="modular only"):
        check(pooled(masking="gaussian").plan)


def written(one: Pooled) -> tuple[bytes, Arrays]:
    columns, out = columns_of("score", one.study()), io.BytesIO()
    write_scoring_file(out, one.panel, columns, layout_of(one.plan))
    return out.getvalue(), columns


def test_a_scoring_file_comes_back() -> None:
    one = pooled(variants=60, missing=0.05)
    data, columns = written(one)
    lines = data.decode().splitlines()
    assert lines[0].startswith("###PGS CATALOG SCORING FILE") and lines[1] == "#format_version=2.0"
    assert f"#variants_number={len(columns['variant'])}" in lines
    found = ScoringFile.read(data, 22)
    variants = columns["variant"]
    assert found.panel.name.tolist() == one.panel.name[variants].tolist()
    signs = np.where(columns["first_is_a1"], 1, -1)
    assert (found.weight == signs * columns["weight"]).all()
    scores = sum(
        scores_of(cohort, variants, found.mean, found.weight[:, None]).sum() for cohort in one.cohorts
    )
    x = one.genotypes(variants)
    assert scores == pytest.approx((x @ found.weight).sum(), rel=1e-6, abs=1e-3)
    assert Performance.of(columns).variants == len(variants)


@pytest.mark.parametrize("line", ["rs1\t1\t5\tA\tG\tx\t0.5", "rs1\t1\t5\tA\tG"])
def test_a_scoring_file_that_is_none(line: str) -> None:
    head = "rsID\tchr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\tallelefrequency_effect"
    with pytest.raises(UnpooledError, match="variant 1"):
        ScoringFile.read(f"{head}\n{line}\n".encode(), 22)
    with pytest.raises(UnpooledError, match="want the columns"):
        ScoringFile.read(b"SNP\tA1\n", 22)
