"""Differential privacy of sums over people who are drawn anew for each round.

With one person more or less, any outcome of a study has at most e^epsilon times its chance, but for a chance
of delta. The accounting is dp-accounting's, by privacy loss distributions.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unpooled.asking.draws import key_of
from unpooled.asking.question import Question
from unpooled.kernels.discrete_gaussian import LARGEST, discrete_gaussian
from unpooled.protocol.masking import keystream

FARTHEST = 1 << 42
"""Largest sum in units. That noise goes beyond it is less likely than that a key is guessed."""
MOST_NOISE = 1024.0
"""The largest noise, in contributions of a person: more leaves nothing of any sum."""
_FINE, _COARSE = 1e-4, 1e-3
"""Steps in which the loss of privacy is counted, rounded up: with coarse ones epsilon is a little larger."""

UNITS = 100
"""A person's numbers are rounded to the bound of their length, over so many times sqrt(size): that makes them
at most half a hundredth longer.
"""


@dataclass(frozen=True)
class Promise:
    """The privacy that a plan promises each person, over all its rounds."""

    name: ClassVar[str] = "unpooled/privacy"

    epsilon: float
    delta: float
    share: float
    """Chance with which everyone is drawn for a round."""
    rounds: int
    cohorts: int

    @property
    def noise(self) -> float:
        """The deviation of a sum's noise, in the largest contribution of a person."""
        return noise_for(self.epsilon, self.delta, self.share, self.rounds)

    @property
    def spent(self) -> float:
        """The epsilon of that noise: at most the one that was promised."""
        return epsilon_of(self.noise, self.delta, self.share, self.rounds)

    def deviation(self, size: int, units: int = UNITS) -> int:
        """The deviation of one cohort's noise, rounded up, in the units of sums of `size` numbers.

        A person's numbers are `units` times sqrt(size) long at most, before they are rounded.

        All cohorts but one have the whole noise together, so that it is there even against a cohort that
        takes off its own.
        """
        longest = (units + 0.5) * math.sqrt(size)
        return math.ceil(self.noise * longest / math.sqrt(max(1, self.cohorts - 1)))

    def is_kept(self, size: int, units: int = UNITS) -> bool:
        """Tell whether there is so much noise, and sums can bear it."""
        try:
            return self.deviation(size, units) <= LARGEST
        except ValueError:
            return False


def noise_of(cohort: Any, question: Question, deviation: int, size: int) -> np.ndarray:
    """A cohort's noise in the answer to a question, drawn by its secret: int64 (size,)."""
    stream = keystream(key_of(cohort, question, b"noise"))

    def words(n: int) -> np.ndarray:
        return np.frombuffer(stream.update(bytes(8 * n)), np.uint64)

    return discrete_gaussian(words, deviation, size)


def clipped(vectors: np.ndarray, bound: float) -> np.ndarray:
    """Shorten each row to the length `bound`, if it is longer, and round to whole units: float64 (n, size).

    Rows that are infinite, or no numbers, become 0.
    """
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        factor = np.minimum(1 / bound, 1 / length) * (UNITS * math.sqrt(vectors.shape[1]))
    return np.asarray(np.rint(np.nan_to_num(np.where(np.isfinite(length), vectors, 0.0) * factor, nan=0.0)))


@functools.lru_cache(maxsize=64)
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
    # what suffices. A loss has the mean share² rounds / (2 noise²), about, and epsilon is more than that.
    least = share * math.sqrt(rounds / (2 * epsilon))
    high = math.ldexp(0.5, math.frexp(min(MOST_NOISE, max(1.0, least)))[1])
    while not suffices(high):
        if high >= MOST_NOISE:
            raise ValueError(f"no noise up to {MOST_NOISE:,.0f} contributions of a person gives this epsilon")
        high *= 2
    while suffices(low := high / 2):
        high = low
    while high - low > high / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
