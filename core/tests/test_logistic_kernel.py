"""The logistic kernel against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.kernels.logistic import CLIP, Design, evaluate

COPIES = np.array([[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])


def slow(codes, second, covariates, inside, case, unit, group, beta, fill, exact):  # type: ignore[no-untyped-def]
    """One variant by the definition: (log-likelihood, gradient, Hessian's upper triangle)."""
    g = COPIES[int(second)][codes] * unit
    missing = codes == 1
    kept = inside & ~missing if exact else inside
    g = np.where(missing, fill[group], g)
    x = np.column_stack([np.ones(len(g)), g, covariates])[kept]
    y = case[kept]
    eta = np.clip(x @ beta, -CLIP, CLIP)
    p = 1 / (1 + np.exp(-eta))
    likelihood = np.sum(y * eta - np.logaddexp(0, eta))
    hessian = x.T @ (x * (p * (1 - p))[:, None])
    return likelihood, x.T @ (y - p), hessian[np.triu_indices(len(beta))]


@pytest.mark.parametrize("samples", [5, 32, 255, 256, 700])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_against_the_definition(samples: int, count: int, exact: bool, size: float) -> None:
    random = np.random.default_rng(samples + count)
    m, p = 5, count + 2
    codes = random.integers(0, 4, (m, samples))
    codes[0] = random.choice([0, 2, 3], samples)
    lacking = np.arange(m) > 0
    covariates = random.normal(size=(samples, count))
    inside = random.random(samples) < 0.8
    case = random.integers(0, 2, samples).astype(float)
    group = random.integers(0, 2, samples)
    unit = np.where(group == 0, 0.5, 1.0) if count else np.ones(samples)
    beta, fill, second = random.normal(size=(m, p)) * size, random.random((m, 2)), random.random(m) < 0.5
    every = np.concatenate([codes, random.integers(0, 4, (m, -samples % 32))], axis=1).astype(np.uint64)
    words = np.bitwise_or.reduce(every.reshape(m, -1, 32) << (2 * np.arange(32, dtype=np.uint64)), axis=2)
    design = Design.of(covariates, inside, case, unit, group)
    found = evaluate(words, second, lacking, design, beta, fill, exact)
    none, *near = evaluate(words, second, lacking, design.in_single_precision(), beta, fill, exact)
    assert not none.any()
    for v in range(m):
        want = slow(codes[v], second[v], covariates, inside, case, unit, group, beta[v], fill[v], exact)
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-12, atol=1e-11)
        for ours, theirs in zip(near, want[1:], strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-3, atol=2e-4)
