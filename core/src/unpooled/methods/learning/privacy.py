"""Differential privacy of sums over people who are drawn anew for each round (DP-SGD, Abadi et al., CCS 2016).

With one person more or less, any outcome of a study has at most e^epsilon times its chance, but for a chance of
delta. The accounting is dp-accounting's, by privacy loss distributions.
"""

from __future__ import annotations

import functools
from typing import Any

MOST_NOISE = 1_000.0
"""In contributions of a person; more leaves nothing of any sum."""
_FINE, _COARSE = 1e-4, 1e-3
"""Steps in which the loss of privacy is counted, rounded up: with the coarse ones epsilon is a little larger."""


def epsilon_of(noise: float, delta: float, share: float, rounds: int, step: float = _FINE) -> float:
    """Return the epsilon of `rounds` sums, each of people of whom everyone is drawn with the chance `share`.

    `noise` is the deviation of the Gaussian noise in each sum, in the largest contribution of a person.
    """
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    each: Any = dp_accounting.GaussianDpEvent(noise)
    if share < 1:
        each = dp_accounting.PoissonSampledDpEvent(share, each)
    accountant = PLDAccountant(value_discretization_interval=step)
    return float(accountant.compose(each, rounds).get_epsilon(delta))


@functools.lru_cache(maxsize=64)
def noise_for(epsilon: float, delta: float, share: float, rounds: int) -> float:
    """Return the least noise, to a thousandth of itself, with which `epsilon_of` is at most `epsilon`.

    ValueError if even `MOST_NOISE` is too little.
    """

    def suffices(noise: float) -> bool:
        return epsilon_of(noise, delta, share, rounds, _COARSE) <= epsilon

    # Where noise is far too little, the loss is large and takes long to count: no less is tried than half of
    # what suffices.
    high = 1.0
    while not suffices(high):
        if high > MOST_NOISE:
            raise ValueError(f"no noise up to {MOST_NOISE:,.0f} contributions of a person gives this epsilon")
        high *= 2
    while suffices(low := high / 2):
        high = low
    while high - low > high / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
