"""Measures what Gaussian masks cost in precision and what they leak; writes docs/measured/gaussian-*.md.

    .venv/bin/python docs/measure_gaussian.py

A chi-square study of three cohorts is run in one process, once for each variance, through the real masks. The
sums are looked at before they are rounded, and what the server receives is searched for one cohort's numbers.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import measuring
import numpy as np

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.kernels.statistics import allelic_chi_square
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.masking import Gaussian
from unpooled.run import run

WRITES = (measuring.Table("gaussian-loss", apart=0.9), measuring.Table("gaussian-leak", apart=0.9))
COHORTS = 3
COMPLETE = 0.7  # share of the variants without missing calls
VARIANCES = (1e6, 1e12, 1e18, 1e24)
SEED = 1


@dataclass(frozen=True)
class Size:
    """Size of the study."""

    people: int = 1781  # of each cohort
    variants: int = 20_000

    @property
    def complete(self) -> int:
        """Variants, the first ones, without missing calls."""
        return int(COMPLETE * self.variants)


@dataclass(frozen=True)
class Loss:
    """Loss of one run: what it lost, and what it gave away."""

    variance: float
    count: float
    """Largest distance of a raw sum of counts from the whole number that it is."""
    relative: float
    """The same as a share of that number."""
    chi_square: float
    """Largest relative error of chi-square from raw sums."""
    same: bool
    """True if chi-square is the same in every bit once sums are rounded."""
    real: float
    """Largest error of a sum of real numbers, as a share of the sums' usual size."""
    cases: float
    """Largest error of the server's estimate of the number of cases of one cohort."""


def study(size: Size) -> tuple[Panel, list[ArrayCohort]]:
    """Cases and controls with a few associated variants, all of them founders, and no missing phenotype."""
    random = np.random.default_rng(SEED)
    frequency = random.uniform(0.02, 0.5, size.variants)
    effect = np.where(np.arange(size.variants) % 100 == 0, 0.08, 0.0)
    missing = np.where(np.arange(size.variants) < size.complete, 0.0, 0.005)
    panel = Panel.of((1, 1 + i, b"rs%d" % i, b"A", b"G") for i in range(size.variants))
    cohorts = []
    for k in range(COHORTS):
        case = random.random(size.people) < (0.3, 0.5, 0.7)[k]
        share = np.clip(frequency[:, None] + effect[:, None] * case, 0, 1)
        copies = random.binomial(2, share).astype(np.int8)
        copies[random.random(copies.shape) < missing[:, None]] = -1
        yes = np.ones(size.people, bool)
        samples = Samples(
            case.astype(float), np.full(size.people, 2, np.uint8), yes, yes, np.empty((size.people, 0))
        )
        cohorts.append(ArrayCohort(samples, copies, np.zeros(size.variants, bool)))
    return panel, cohorts


@contextmanager
def watch() -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Collects what the server receives, a vector for each round and cohort, and the sums before rounding."""
    uploads: list[np.ndarray] = []
    sums: list[np.ndarray] = []
    to_bytes, decode_integers = Gaussian.to_bytes, Gaussian.decode_integers

    def sent(self: Gaussian, vector: np.ndarray) -> bytes:
        uploads.append(vector)
        return to_bytes(self, vector)

    def summed(self: Gaussian, vector: np.ndarray) -> np.ndarray:
        sums.append(vector)
        return decode_integers(self, vector)

    Gaussian.to_bytes, Gaussian.decode_integers = sent, summed  # type: ignore[method-assign]
    try:
        yield uploads, sums
    finally:
        Gaussian.to_bytes, Gaussian.decode_integers = to_bytes, decode_integers  # type: ignore[method-assign]


def measure(size: Size, plan: Plan, panel: Panel, cohorts: list[ArrayCohort], exact: np.ndarray) -> Loss:
    with watch() as (uploads, sums):
        rounded = run(plan, panel, cohorts)["variants"]["chi_square"]
    genotypes = next(vector for vector in sums if len(vector) == 6 * size.variants)
    chi_square = _chi_square(genotypes.reshape(-1, 2, 3))
    return Loss(
        variance=plan.variance,
        count=max(_error(vector).max() for vector in sums),
        relative=max((_error(vector) / np.maximum(1, np.rint(vector))).max() for vector in sums),
        chi_square=float(np.nanmax(np.abs(chi_square[exact > 0] / exact[exact > 0] - 1))),
        same=bool(np.array_equal(rounded, exact, equal_nan=True)),
        real=real_loss(size, Gaussian(plan.variance)),
        cases=cases_error(size, genotypes_of(size, uploads)[:COHORTS], cohorts),
    )


def genotypes_of(size: Size, uploads: list[np.ndarray]) -> list[np.ndarray]:
    """The shares of genotype counts, in the cohorts' order, and behind them their sum as it is told."""
    return [vector for vector in uploads if len(vector) > 6 * size.variants]


def _error(sums: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(sums - np.rint(sums)))


def _chi_square(genotypes: np.ndarray) -> np.ndarray:
    """Compute chi-square from sums (variants, cases and controls, two copies or one or none)."""
    first = 2 * genotypes[:, :, 0] + genotypes[:, :, 1]
    second = 2 * genotypes[:, :, 2] + genotypes[:, :, 1]
    return np.asarray(allelic_chi_square(first[:, 0], second[:, 0], first[:, 1], second[:, 1]))


def real_loss(size: Size, scheme: Gaussian, sums: int = 100_000) -> float:
    """Sums over all people of a standard normal number each, as a regression has them."""
    random = np.random.default_rng(SEED)
    own = random.normal(0, np.sqrt(size.people), (COHORTS, sums))
    masks = random.normal(0, np.sqrt(scheme.variance), own.shape)
    masked, noise = scheme.zeros(sums), scheme.zeros(sums)
    for value, mask in zip(own, masks, strict=True):
        masked = scheme.add(masked, scheme.add(scheme.encode_reals(value, 0), mask))
        noise = scheme.add(noise, mask)
    error = np.abs(scheme.subtract(masked, noise) - own.sum(axis=0))
    return float(error.max() / np.sqrt(COHORTS * size.people))


def cases_error(size: Size, uploads: list[np.ndarray], cohorts: list[ArrayCohort]) -> float:
    """The server's guess at each cohort's number of cases.

    Where the pool has no missing call, the three genotypes of a cohort's cases add up to its number of cases,
    for every variant anew, under fresh noise each time: the mean over the variants is the guess.
    """
    worst = 0.0
    for upload, cohort in zip(uploads, cohorts, strict=True):
        masked = upload[-6 * size.variants :].reshape(size.variants, 2, 3)
        guess = masked[: size.complete, 0].sum(axis=1).mean()
        worst = max(worst, abs(guess - cohort.samples.phenotype.sum()))
    return worst


def table(size: Size, losses: list[Loss]) -> Iterator[str]:
    yield "| Variance | Counts | Counts, relative | Chi-square | Chi-square, after rounding | Real numbers |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for loss in losses:
        counts = f"{loss.count:.2g} | {loss.relative:.2g}"
        same = "the same in every bit" if loss.same else "differs"
        yield f"| {_power(loss)} | {counts} | {loss.chi_square:.2g} | {same} | {loss.real:.2g} |"
    yield ""
    yield (
        "Largest errors: of sums of counts before rounding, in people and relative; of chi-square from these "
        "sums, relative; of sums of real numbers, as a share of their standard deviation. "
        f"{COHORTS} cohorts of {size.people:,} people, {size.variants:,} variants; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}."
    )


def leak(size: Size, losses: list[Loss]) -> Iterator[str]:
    yield "| Variance | Error of the server's guess at a cohort's number of cases |"
    yield "| --- | --- |"
    for loss in losses:
        yield f"| {_power(loss)} | {loss.cases:,.0f} people |"
    yield ""
    worst = f"The worst of {COHORTS} cohorts of {size.people:,} people"
    yield f"{worst}, from {size.complete:,} complete variants."


def _power(loss: Loss) -> str:
    return "10" + f"{np.log10(loss.variance):.0f}".translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    size = Size(people=120, variants=200) if given.small else Size()
    panel, cohorts = study(size)
    plan = Plan(
        test="chi-square", phenotype="simulated", cohorts=COHORTS, compensator_key=NO_KEY, files=("assoc",)
    )
    exact = run(plan, panel, cohorts)["variants"]["chi_square"]
    losses = [
        measure(size, replace(plan, masking="gaussian", variance=variance), panel, cohorts, exact)
        for variance in VARIANCES
    ]
    measuring.write(given.out, "gaussian-loss", table(size, losses))
    measuring.write(given.out, "gaussian-leak", leak(size, losses))


if __name__ == "__main__":
    main()
