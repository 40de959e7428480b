"""Whole-genome regression: the same numbers as from pooled data, with everybody left out in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pooled import GENERATED, Pool, quantities

from unpooled.asking.cohort import ArrayCohort
from unpooled.errors import Refuse
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.loco.procedure import LEAST_FREQUENCY, _blocks
from unpooled.methods.loco.questions import MOST_BLOCKS, MOST_VARIANTS, SHARES
from unpooled.methods.loco.stacking import STACKED_SHARES
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import PREDICTION
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run

SHARES_OF_PEOPLE = (3, 4, 5)


def left_out(x: np.ndarray, y: np.ndarray, shift: float) -> np.ndarray:
    """The coefficients of the ridge regression without each person: float64 (n, m)."""
    whole, with_y = x.T @ x + shift * np.eye(x.shape[1]), x.T @ y
    return np.array(
        [np.linalg.solve(whole - np.outer(a, a), with_y - a * b) for a, b in zip(x, y, strict=True)]
    )


def penalty(share: float, columns: int) -> float:
    return columns * (1 - share) / share


def residual(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Take from values what columns explain; the rest has deviation 1."""
    left = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    return np.asarray(left / np.sqrt((left * left).mean(axis=0)))


def dosed(pool: Pool) -> np.ndarray:
    """Dosages near the copies of A1, NaN where there is no call: (m, n)."""
    noise = np.random.default_rng(5).integers(0, COPY // 3, pool.copies.shape) / COPY
    near = pool.copies + noise * (1 - pool.copies)
    return np.where(pool.copies < 0, np.nan, near)


def with_dosages(pool: Pool, cohorts: list[ArrayCohort], of: np.ndarray) -> list[ArrayCohort]:
    turned = np.array([a1 > a2 for *_, a1, a2 in pool.variants])[:, None]
    copies = dosed(pool)
    first = np.where(turned, 2 - copies, copies)
    known = np.where(np.isnan(first), NO_DOSAGE, np.rint(np.nan_to_num(first) * COPY)).astype(np.uint16)
    return [replace(cohort, imputed=known[:, of == k]) for k, cohort in enumerate(cohorts)]


def predictions(pool: Pool, copies: np.ndarray, of: np.ndarray, remain: np.ndarray) -> np.ndarray:
    """Each person's prediction without each autosome, 0 for none; the method, written out: (n, 23).

    `copies` are those of A1, NaN for a missing call; `remain` says of each variant whether it may predict.
    """
    s = pool.samples
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    columns = np.column_stack([np.ones(inside.sum()), s.covariates[inside]])
    y, copies, of = residual(s.phenotype[inside], columns), copies[:, inside], of[inside]
    codes = np.array([row[0] for row in pool.variants])

    def carriers(copies: np.ndarray) -> np.ndarray:
        return np.minimum((np.rint(copies) > 0).sum(axis=1), 10)

    def enough(copies: np.ndarray) -> np.ndarray:
        return np.asarray(sum(carriers(copies[:, of == k]) for k in range(3)) >= 20)

    mean = np.nanmean(copies, axis=1)
    good = remain & (codes >= 1) & (codes <= 22) & enough(copies) & enough(2 - copies)
    good &= np.minimum(mean, 2 - mean) >= 2 * LEAST_FREQUENCY
    candidates = np.flatnonzero(good)
    x = np.where(np.isnan(copies), mean[:, None], copies)[candidates].T
    x, codes = residual(x, columns), codes[candidates]
    sizes = np.bincount(of)
    room = min(len(y) // 10, int(people_without_any(sizes)) // 5)
    blocks = _blocks(codes, room)
    variants = sum(map(len, blocks))
    w = np.column_stack([
        (x[:, block] * left_out(x[:, block], y, penalty(share, variants))).sum(axis=1)
        for block in blocks for share in SHARES
    ])  # fmt: skip
    w = (w - w.mean(axis=0)) / w.std(axis=0)
    weights = [left_out(w, y, penalty(share, w.shape[1])) for share in STACKED_SHARES]
    best = min(weights, key=lambda each: ((y - (w * each).sum(axis=1)) ** 2).sum())
    chromosome = np.repeat([codes[block[0]] for block in blocks], len(SHARES))
    found = np.zeros((len(s), 23))
    for code in range(23):
        found[inside, code] = (w * best)[:, chromosome != code].sum(axis=1)
    return found


def people_without_any(sizes: np.ndarray) -> int:
    """Count who is in the pool without any one cohort, as far as capped numbers tell."""
    rungs = 10 << np.arange(10)
    return int((np.minimum(sizes[:, None], rungs).sum(axis=0) - rungs).max())


@pytest.mark.parametrize("test", GENERATED)
@pytest.mark.parametrize("way", ["mean", "exact", "dosages", "pruned"])
def test_regressions_are_those_with_the_predictions_as_a_covariate(test: str, way: str) -> None:
    pool = GENERATED[test](7, n=600)
    panel, of = Panel.of(pool.variants), pool.cohort_of(SHARES_OF_PEOPLE)
    about: dict[str, Any] = {"missing": "exact" if way == "exact" else "mean", "files": ("assoc",)}
    cohorts, copies = pool.dealt(of, 3), np.where(pool.copies < 0, np.nan, pool.copies)
    if way == "dosages":
        about |= {"files": ("ssf",), "dosages": True}
        cohorts, copies = with_dosages(pool, cohorts, of), dosed(pool)
    remain, first = np.ones(len(copies), bool), dict[str, Any]()
    if way == "pruned":
        first["prune_predictions"] = words = "5 1 0.003"
        alone = Plan("prune", "trait", 3, NO_KEY, indep_pairwise=words)
        kept = run(alone, panel, cohorts)["variants"]["variant"]
        remain = np.isin(np.arange(len(copies)), kept)
        assert 10 < len(kept) < len(copies)
    ours = run(pool.plan(3, loco=True, **about, **first), panel, cohorts)["variants"]
    known, codes = predictions(pool, copies, of, remain), panel.chromosome[ours["variant"]]
    assert len(np.unique(codes)) > 3
    for code in np.unique(codes).tolist():
        beside = known[:, code if code <= 22 else 0]
        names = (*pool.covariates, PREDICTION)
        one = replace(pool.beside(*pool.samples.covariates.T, beside), names=names)
        dealt = one.dealt(of, 3)
        beside_them = with_dosages(pool, dealt, of) if way == "dosages" else dealt
        theirs = run(one.plan(3, **about), panel, beside_them)["variants"]
        assert (theirs["variant"] == ours["variant"]).all()
        for column in ("beta", "se", "neg_log10_p", "code"):
            here, there = (found[column][codes == code] for found in (ours, theirs))
            np.testing.assert_allclose(here, there, rtol=1e-6, atol=1e-9, err_msg=f"{column} on {code}")


def test_blocks_are_neighbours_of_one_chromosome_and_no_more_than_there_is_room_for() -> None:
    codes = np.repeat(np.arange(1, 23), 1000)
    for room in (110, 250, 1000, 5000):
        blocks = _blocks(codes, room)
        assert len(blocks) <= min(MOST_BLOCKS, room // len(SHARES))
        assert max(map(len, blocks)) <= min(room, MOST_VARIANTS)
        assert all(len({*codes[block].tolist()}) == 1 for block in blocks)
        assert {*np.unique(codes[np.concatenate(blocks)]).tolist()} == {*range(1, 23)}
    assert sum(map(len, _blocks(codes, 5000))) == len(codes)
    assert len(_blocks(np.repeat(codes, 100), 5000)) <= MOST_BLOCKS
    with pytest.raises(Refuse, match="take 1,100 people, and 550 without any one cohort"):
        _blocks(codes, 109)
    with pytest.raises(Refuse, match="fewer than two chromosomes"):
        _blocks(codes[:1000], 109)


@pytest.mark.parametrize("same_people", [False, True])
def test_several_phenotypes_have_predictions_of_their_own(same_people: bool) -> None:
    pool = quantities(3, n=600)
    panel, of = Panel.of(pool.variants), pool.cohort_of(SHARES_OF_PEOPLE)
    other = np.random.default_rng(1).permutation(pool.samples.phenotype)
    if same_people:
        known = ~np.isnan(pool.samples.phenotype + other)
        pool = replace(pool, samples=replace(pool.samples, kept=pool.samples.kept & known))
    both = replace(pool, samples=replace(pool.samples, further=(other,)))
    alone = [pool, replace(pool, samples=replace(pool.samples, phenotype=other))]
    about: dict[str, Any] = {"files": ("assoc",), "missing": "mean", "loco": True}
    several = both.plan(3, phenotypes=("second",), require_pheno=same_people, **about)
    found = run(several, panel, both.dealt(of, 3))
    for name, one in zip(("trait", "second"), alone, strict=True):
        expected = run(one.plan(3, **about), panel, one.dealt(of, 3))
        for column in ("variant", "beta", "se"):
            np.testing.assert_array_equal(found[f"variants of {name}"][column], expected["variants"][column])
        assert found[f"predictions of {name}"]["explained"] == expected["predictions"]["explained"]
