"""Tests of what noise promises, beside the accountants of Opacus."""

from __future__ import annotations

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from unpooled.methods.shared.privacy import epsilon_of

DELTA = 1e-5
TRAININGS = [(1.1, 0.01, 1000), (0.8, 0.05, 200), (1.5, 0.25, 60), (2.0, 1.0, 10), (4.0, 1.0, 1)]
"""Noise, the chance to take part, and rounds."""


@pytest.mark.filterwarnings("ignore:divide by zero encountered:RuntimeWarning")
@pytest.mark.parametrize(("noise", "share", "rounds"), TRAININGS)
def test_epsilon_is_that_of_opacus_within_its_error(noise: float, share: float, rounds: int) -> None:
    """Opacus adds its error to what it finds; ours rounds up in steps of 1e-4."""
    from opacus.accountants import PRVAccountant

    other, error = PRVAccountant(), 0.01
    other.history = [(noise, share, rounds)]
    theirs = other.get_epsilon(DELTA, eps_error=error)
    ours = epsilon_of(noise, DELTA, share, rounds)
    assert theirs - 2 * error <= ours <= theirs + error


@pytest.mark.parametrize(("noise", "share", "rounds"), TRAININGS)
def test_renyi_divergences_are_those_of_opacus_and_no_closer_bound(
    noise: float, share: float, rounds: int
) -> None:
    from opacus.accountants.analysis import rdp

    orders = [*map(float, range(2, 64))]  # whole ones, of which both have the sum in closed form
    divergences = rdp.compute_rdp(q=share, noise_multiplier=noise, steps=rounds, orders=orders)
    theirs, _ = rdp.get_privacy_spent(orders=orders, rdp=divergences, delta=DELTA)
    each = dp_accounting.GaussianDpEvent(noise)
    if share < 1:
        each = dp_accounting.PoissonSampledDpEvent(share, each)
    ours = RdpAccountant(orders).compose(each, rounds).get_epsilon(DELTA)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert epsilon_of(noise, DELTA, share, rounds) < theirs
