"""The logistic kernel against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.kernels.logistic import CLIP, Design, evaluate, penalty

COPIES = np.array([[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 2.0]])


def at(codes, second, covariates, inside, case, unit, group, beta, fill, exact):  # type: ignore[no-untyped-def]
    """Who is in one variant's regression: (columns, cases, linear predictors, probabilities)."""
    g = COPIES[int(second)][codes] * unit
    missing = codes == 1
    kept = inside & ~missing if exact else inside
    g = np.where(missing, fill[group], g)
    x = np.column_stack([np.ones(len(g)), g, covariates])[kept]
    eta = np.clip(x @ beta, -CLIP, CLIP)
    return x, case[kept], eta, 1 / (1 + np.exp(-eta))


def slow(*given):  # type: ignore[no-untyped-def]
    """One variant by the definition: (log-likelihood, gradient, Hessian's upper triangle)."""
    x, y, eta, p = at(*given)
    likelihood = np.sum(y * eta - np.logaddexp(0, eta))
    hessian = x.T @ (x * (p * (1 - p))[:, None])
    return likelihood, x.T @ (y - p), hessian[np.triu_indices(x.shape[1])]


def slow_penalty(inverse, *given):  # type: ignore[no-untyped-def]
    """The same of the penalty: (derivative, upper triangle of the information that it adds)."""
    x, _, _, p = at(*given)
    weight = p * (1 - p)
    leverage = np.clip(weight * np.einsum("ni,ij,nj->n", x, inverse, x), 0, 1)
    added = x.T @ (x * (leverage * weight)[:, None])
    return x.T @ (leverage * (0.5 - p)), added[np.triu_indices(x.shape[1])]


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
    spread = random.normal(size=(m, p, p)) / 3
    inverse = np.einsum("mij,mkj->mik", spread, spread)
    places = np.triu_indices(p)
    found = penalty(words, second, lacking, design, beta, inverse[:, *places], fill, exact)
    for v in range(m):
        want = slow_penalty(
            inverse[v], codes[v], second[v], covariates, inside, case, unit, group, beta[v], fill[v], exact
        )
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours[v], theirs, rtol=1e-11, atol=1e-11)
