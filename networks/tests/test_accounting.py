"""Epsilon of noisy sums beside Opacus, which counts it by itself."""

from __future__ import annotations

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import create_accountant

from unpooled.methods.shared.privacy import epsilon_of, noise_for

DELTA = 1e-5
CASES = [(1.0, 0.01, 500), (1.3, 0.025, 160), (2.0, 0.2, 100), (5.0, 0.5, 50)]
"""Noise, in contributions of a person; the chance of being drawn; rounds."""


def of_opacus(mechanism: str, noise: float, share: float, rounds: int, **options: object) -> float:
    accountant = create_accountant(mechanism)
    accountant.history = [(noise, share, rounds)]
    return float(accountant.get_epsilon(DELTA, **options))


@pytest.mark.parametrize(("noise", "share", "rounds"), CASES)
def test_epsilon_is_opacus_by_privacy_random_variables(noise: float, share: float, rounds: int) -> None:
    """Opacus bounds its error: its epsilon is at most `eps_error` above the true one, and never below."""
    ours, error = epsilon_of(noise, DELTA, share, rounds), 0.01
    theirs = of_opacus("prv", noise, share, rounds, eps_error=error)
    assert theirs - 2 * error <= ours <= theirs + error


@pytest.mark.parametrize(("noise", "share", "rounds"), CASES)
def test_renyis_epsilon_is_opacus_and_ours_is_less(noise: float, share: float, rounds: int) -> None:
    orders = list(range(2, 64))
    theirs = of_opacus("rdp", noise, share, rounds, alphas=orders)
    accountant = RdpAccountant(orders)
    each = dp_accounting.PoissonSampledDpEvent(share, dp_accounting.GaussianDpEvent(noise))
    assert accountant.compose(each, rounds).get_epsilon(DELTA) == pytest.approx(theirs, rel=1e-6)
    assert epsilon_of(noise, DELTA, share, rounds) < theirs


def test_noise_for_an_epsilon_is_opacus() -> None:
    from opacus.accountants.utils import get_noise_multiplier

    found = noise_for(3.0, DELTA, 0.025, 160)
    theirs = get_noise_multiplier(
        target_epsilon=3.0, target_delta=DELTA, sample_rate=0.025, steps=160, accountant="prv"
    )
    assert found == pytest.approx(theirs, rel=0.01)
