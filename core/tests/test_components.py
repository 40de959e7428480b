"""Principal components of ten cohorts, through real masks, and those of NumPy on the pooled genotypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from tests.people import people as samples_of
from tests.people import some
from unpooled.asking.cohort import ArrayCohort
from unpooled.errors import Refuse, UnpooledError
from unpooled.formats.density import read_density, write_density
from unpooled.formats.eigenvectors import Loadings
from unpooled.methods import ALGORITHMS, check, usual
from unpooled.methods.components.krylov import Directions, Krylov, start
from unpooled.methods.components.options import block_of
from unpooled.methods.components.pca import PCA
from unpooled.methods.components.procedure import FIT, VALUES
from unpooled.methods.shared.kept_autosomes import scores_of
from unpooled.methods.shared.layout import layout_of
from unpooled.methods.shared.summary import VARIANTS
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.plan.plan import component_titles as titles
from unpooled.run import run, written

SIZES = (40, 310, 60, 120, 45, 200, 50, 95, 60, 420)
VARIANTS_OF_POOL, AUTOSOMAL = 900, 860
FEW, ENOUGH = 4, 5
"""One that nine people carry beside those of a cohort, and one that ten do."""
STANDS_OUT = 1.2


def _only(fields: dict[str, Any]) -> dict[str, Any]:
    """Keep the fields that a plan of the test has."""
    if fields["test"] != "pca":
        fields = {name: value for name, value in fields.items() if name != "pca"}
    return fields


def plan_of(**changes: Any) -> Plan:
    given = {"test": "pca", "phenotype": "none", "cohorts": len(SIZES), "compensator_key": NO_KEY}
    return Plan(**_only(given | usual("pca") | {"files": tuple(PCA.files), "pca": 6} | changes))  # type: ignore[arg-type]


def panel() -> Panel:
    codes = np.where(np.arange(VARIANTS_OF_POOL) < AUTOSOMAL, 1 + np.arange(VARIANTS_OF_POOL) % 22, 23)
    rows = [(int(c), 10 * k, b"rs%d" % k, b"A", b"C") for k, c in enumerate(codes)]
    return Panel.of(sorted(rows))


@pytest.fixture(scope="module")
def cohorts() -> list[ArrayCohort]:
    """People of five populations, unevenly spread; a tenth nonfounders, some removed; missing calls."""
    random, n = np.random.default_rng(2), sum(SIZES)
    m = VARIANTS_OF_POOL
    base = random.uniform(0.03, 0.97, m)
    apart = np.array([0.0, 0.5, 0.35, 0.25, 0.15])[:, None] * random.normal(0, 0.3, (5, m))
    population = (random.beta(1, 2, n) * 5).astype(int)
    copies = random.binomial(2, np.clip(base + apart, 0.01, 0.99)[population].T).astype(np.int8)
    copies[random.random(copies.shape) < 0.03] = -1
    copies[3] = 0
    founder, kept = random.random(n) > 0.1, random.random(n) > 0.02
    for variant, beside in ((FEW, 9), (ENOUGH, 10)):
        copies[variant] = 0
        for cohort, carry in ((1, 100), (9, beside)):
            copies[variant, sum(SIZES[:cohort]) + np.flatnonzero(kept[sum(SIZES[:cohort]) :])[:carry]] = 1
    swapped = random.random((len(SIZES), m)) < 0.5
    edges = np.cumsum((0, *SIZES)).tolist()
    everyone = samples_of(np.full(n, np.nan), sex=np.zeros(n, np.uint8), founder=founder, kept=kept)
    return [
        ArrayCohort(some(everyone, who), copies[:, who], of_file)
        for who, of_file in zip(map(slice, edges, edges[1:]), swapped, strict=True)
    ]


def standardised(cohorts: Sequence[ArrayCohort], variants: np.ndarray, *, founders: bool) -> np.ndarray:
    """X of the pool, slow and clear: float64 (people, m)."""
    everyone = [np.flatnonzero(each.samples.kept) for each in cohorts]
    pairs = list(zip(cohorts, everyone, strict=True))
    copies = np.concatenate([each.genotypes[variants][:, who] for each, who in pairs], axis=1).T
    counts = np.concatenate([each.samples.founder[who] for each, who in pairs]) | (not founders)
    calls = np.where(copies < 0, np.nan, copies)
    p = np.nanmean(calls[counts], axis=0) / 2
    return np.nan_to_num((calls - 2 * p) / np.sqrt(2 * p * (1 - p)))


def off(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """1 - |cos| of rows."""
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return 1 - np.abs((ours * theirs).sum(axis=1)) / lengths


@pytest.mark.parametrize("nonfounders", [False, True])
def test_those_that_stand_out_are_numpys(cohorts: list[ArrayCohort], nonfounders: bool) -> None:
    plan = plan_of(nonfounders=nonfounders)
    found = run(plan, panel(), cohorts)
    rows, values = found[VARIANTS], found[VALUES]["eigenvalue"]
    variants = rows["variant"]
    assert not {3, FEW} & set(variants.tolist()) and ENOUGH in variants and variants.max() < AUTOSOMAL
    x = standardised(cohorts, variants, founders=not nonfounders)
    expected, vectors = np.linalg.eigh(x.T @ x / len(variants))
    expected, vectors = expected[::-1], vectors.T[::-1]
    ratio = expected[:6] / expected[1:7]
    stands = ratio >= STANDS_OUT
    assert 3 <= stands.sum() < 6
    sign = np.where(rows["first_is_a1"], 1, -1)
    loadings = np.array([rows[title] * sign for title in titles(6)])
    error = off(loadings, vectors[:6])
    assert (error[stands] <= 1e-9).all()
    assert (error <= found[VALUES]["error"] + 1e-12).all()  # what is said of them holds of all
    np.testing.assert_allclose(values[stands], expected[:6][stands], rtol=1e-9)
    np.testing.assert_allclose(values, expected[:6], rtol=2e-2)
    scores = scores_by_files(plan, found, cohorts)
    theirs = (x @ vectors[:6].T).T
    assert (off(scores, theirs)[stands] <= 1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(scores, axis=1)[stands], 1, rtol=1e-9)


def scores_by_files(
    plan: Plan, found: dict[str, dict[str, np.ndarray]], cohorts: Sequence[ArrayCohort]
) -> np.ndarray:
    """Everybody's components, as each cohort computes them from the result files: (components, people)."""
    values, _, weights, counts, _ = (written(file, plan, panel(), found) for file in PCA.usual_files)
    loadings = Loadings.read(values, weights, counts, plan.autosomes)
    at = {name: k for k, name in enumerate(panel().name.tolist())}
    variants = np.array([at[name] for name in loadings.panel.name.tolist()])
    parts = [scores_of(each, variants, loadings.mean, loadings.weights) for each in cohorts]
    return np.concatenate([p[each.samples.kept] for p, each in zip(parts, cohorts, strict=True)]).T


def test_the_density_is_of_the_pool_and_says_nothing_of_cells_with_few_people(
    cohorts: list[ArrayCohort],
) -> None:
    """Against all scores, counted in the clear; ten cohorts, of which the file has no trace."""
    plan = plan_of()
    found = run(plan, panel(), cohorts)
    write_density(out := BytesIO(), panel(), PCA.columns_for("density", found), layout_of(plan))
    cells = read_density(out.getvalue())
    first, second = scores_by_files(plan, found, cohorts)[:2]
    end = max(cell.right for cell in cells)
    assert np.isclose(end * np.sqrt(len(first)) % 0.25, 0, atol=1e-9)
    limit = 4 / np.sqrt(len(first)) * (1 - 1e-9)
    x, y = np.clip(first, -limit, limit), np.clip(second, -limit, limit)
    for cell in cells:
        inside = (x >= cell.left) & (x < cell.right) & (y >= cell.low) & (y < cell.high)
        assert 10 <= cell.at_least <= np.count_nonzero(inside) < 2 * cell.at_least
    counts, *_ = np.histogram2d(x, y, bins=32, range=[(-4 / np.sqrt(len(x)), 4 / np.sqrt(len(x)))] * 2)
    assert len(cells) == np.count_nonzero(counts >= 10) > 20
    assert np.count_nonzero((counts > 0) & (counts < 10)) > 0
    with pytest.raises(UnpooledError, match="density, line 2"):
        read_density(out.getvalue().replace(b"0.", b"x", 1))


def test_a_line_that_was_changed_is_named(cohorts: list[ArrayCohort]) -> None:
    plan, found = plan_of(), run(plan_of(), panel(), cohorts)
    values, _, weights, counts, _ = (written(file, plan, panel(), found) for file in PCA.usual_files)
    head, line, rest = counts.split(b"\n", 2)
    with pytest.raises(UnpooledError, match="line 2 of the counts"):
        Loadings.read(values, weights, b"\n".join([head, line + b"x", rest]), plan.autosomes)
    with pytest.raises(UnpooledError, match="do not belong together"):
        Loadings.read(values, weights, b"\n".join([head, rest]), plan.autosomes)
    with pytest.raises(UnpooledError, match="want the columns #CHROM, ID, REF"):
        Loadings.read(values, counts, counts, plan.autosomes)


def test_a_looser_tolerance_takes_fewer_rounds(cohorts: list[ArrayCohort]) -> None:
    plans = [plan_of(component_tolerance=tolerance, pca=2) for tolerance in (1e-3, 1e-13)]
    loose, strict = (int(run(plan, panel(), cohorts)[FIT]["rounds"][0]) for plan in plans)
    assert loose < strict


def test_few_people_get_fewer_directions_and_then_none(cohorts: list[ArrayCohort]) -> None:
    for people in (150, 300, 427, 1_000, 2_000, 20_000):
        block, rounds = block_of(10, 68_908, people)
        assert 3 <= block <= 20 and rounds >= 10 and 5 * block * rounds <= people
    few = cohorts[:1] * 3
    with pytest.raises(Refuse, match="6 components take 90 people"):
        run(plan_of(cohorts=3), panel(), few)
    nobody_founds = [
        replace(c, samples=replace(c.samples, founder=np.zeros(len(c.samples), bool))) for c in cohorts
    ]
    with pytest.raises(Refuse, match="fewer than 50 founders"):
        run(plan_of(), panel(), nobody_founds)
    with pytest.raises(Refuse, match="no more than 6 variants"):
        run(plan_of(maf=0.4999), panel(), cohorts)


def test_directions_are_rounded_once_and_then_exact() -> None:
    random = np.random.default_rng(7)
    ends = [1, -1, np.nextafter(1, 0), -np.nextafter(1, 0), 0.5, -0.5, 0]
    for rows in (random.normal(size=(3, 500)) / 40, np.array([ends]), np.zeros((2, 3)), np.zeros((0, 4))):
        found = Directions.of(rows)
        assert found.shape == rows.shape
        np.testing.assert_allclose(found.rows(), rows, rtol=0, atol=2.0**-31 * np.abs(rows).max(initial=0))
        again = Directions.of(found.rows())
        assert again.exponent == found.exponent and (again.packed == found.packed).all()


def test_a_space_that_is_exhausted_is_exact() -> None:
    """The matrix has rank 5 in 40 dimensions: two blocks of four have it all."""
    factor = np.random.default_rng(1).normal(size=(40, 5))
    a = factor @ factor.T
    krylov = Krylov.begin(start(b"key", 4, 40))
    while krylov.next.shape[0]:
        krylov = krylov.advance(krylov.next.rows() @ a)
    found = krylov.found(5)
    expected, vectors = np.linalg.eigh(a)
    np.testing.assert_allclose(found.values, expected[::-1][:5], rtol=1e-14)
    assert (off(krylov.vectors(found), vectors.T[::-1][:5]) < 1e-13).all()
    assert (found.error < 1e-12).all()
    together = np.concatenate([block.rows() for block in krylov.blocks])
    np.testing.assert_allclose(together @ together.T, np.eye(len(together)), atol=1e-8)


def test_no_error_is_larger_than_it_is_said_where_people_allow_few_rounds() -> None:
    """There are 427 people without structure, whose components hardly differ."""
    people, variants, count = 427, 200, 4
    block, rounds = block_of(count, variants, people)
    for seed in range(25):
        random = np.random.default_rng(seed)
        x = random.binomial(2, random.uniform(0.1, 0.9, variants), (people, variants)) - 1.0
        a = (x - x.mean(axis=0)).T @ (x - x.mean(axis=0))
        krylov = Krylov.begin(start(b"%d" % seed, block, variants))
        for _ in range(rounds):
            krylov = krylov.advance(krylov.next.rows() @ a)
        found = krylov.found(count)
        true = off(krylov.vectors(found), np.linalg.eigh(a)[1].T[::-1][:count])
        assert (true <= found.error + 1e-12).all(), seed


def test_what_the_plan_has_to_say() -> None:
    assert check(plan_of()) is ALGORITHMS["pca"]
    with pytest.raises(PlanError, match="a whole number from 1 to 40, not 0"):
        check(plan_of(pca=0))
    with pytest.raises(PlanError, match="modular only"):
        check(plan_of(masking="gaussian", variance=1e12))
    with pytest.raises(PlanError, match="want eigenval and acount beside"):
        check(plan_of(files=("eigenvec.allele",)))


def test_columns_of_components_are_not_called_as_covariates() -> None:
    given = {"test": "linear", "components": 3, "files": ("glm",)}
    assert plan_of(**given, covariates=(Covariate("age"),)).covariate_columns == ("age", "PC1", "PC2", "PC3")
    with pytest.raises(PlanError, match="one of PC1 to PC3"):
        plan_of(**given, covariates=(Covariate("PC2"),))
    with pytest.raises(PlanError, match="at most 60 columns, those of covariates counted, not 61"):
        plan_of(**given, covariates=tuple(Covariate(f"c{k}") for k in range(58)))
    with pytest.raises(PlanError, match="modular only"):
        plan_of(**given, masking="gaussian", variance=1e12)


def test_components_of_the_variants_that_pruning_leaves(cohorts: list[ArrayCohort]) -> None:
    """Components are of the variants that a study of pruning keeps, and of these only."""
    windows = "50 5 0.01"
    pruning = plan_of(test="prune", indep_pairwise=windows, files=("prune.in",))
    kept = run(pruning, panel(), cohorts)[VARIANTS]["variant"]
    kept = kept[kept < AUTOSOMAL]
    found = run(plan_of(prune_components=windows), panel(), cohorts)[VARIANTS]["variant"]
    every = run(plan_of(), panel(), cohorts)[VARIANTS]["variant"]
    assert found.tolist() == np.intersect1d(every, kept).tolist()
    assert 50 < len(found) < len(every)
