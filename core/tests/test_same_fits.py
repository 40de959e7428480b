"""The same data give the same bits: with compiled code from a cache, wherever arrays lie, with more threads.

This file is also the program that the tests start: it prints digests of what is computed from seeded data.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled import run
from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.kernels.logistic import Design, Regressions
from unpooled.kernels.products import over_missing, products
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan

SAMPLES, VARIANTS = 777, 24
AVX2 = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+lzcnt,+f16c"}


def computed(what: str, shift: int, **environment: str) -> list[str]:
    """Return what this program prints in a process of its own."""
    command, more = [sys.executable, __file__, what, str(shift)], {**os.environ, **environment}
    said = subprocess.run(command, env=more, capture_output=True, text=True, check=True).stdout
    return said.splitlines()


@pytest.fixture(scope="module")
def usual() -> list[str]:
    """Digests by the code that all tests use."""
    return computed("all", 0, OPENBLAS_NUM_THREADS="1")


def test_neither_alignment_nor_threads_make_a_difference(usual: list[str]) -> None:
    assert computed("all", 8, OPENBLAS_NUM_THREADS="4") == usual


def test_neither_a_cache_nor_how_wide_vectors_are_makes_a_difference(
    usual: list[str], tmp_path: Path
) -> None:
    """Nothing is compiled at first, for processors without AVX-512; then all comes from the cache."""
    narrow = AVX2 if platform.machine() == "x86_64" else {}
    fresh, cached = (computed("kernels", 0, NUMBA_CACHE_DIR=str(tmp_path), **narrow) for _ in range(2))
    assert any(tmp_path.rglob("*.nbc")) and len(fresh) == len(list(of_kernels(0)))
    assert fresh == cached == usual[: len(fresh)]


def of_kernels(shift: int) -> Iterator[str]:
    """Digests of each kernel's results: arrays begin `shift` bytes behind a line of the cache."""
    for count in (0, 1, 4, 5):
        random = np.random.default_rng(count)
        codes = random.integers(0, 4, (VARIANTS, -(-SAMPLES // 32), 32)).astype(np.uint64)
        words = moved(np.bitwise_or.reduce(codes << (2 * np.arange(32, dtype=np.uint64)), axis=2), shift)
        covariates = random.normal(size=(SAMPLES, count))
        inside, case = random.random(SAMPLES) < 0.9, random.integers(0, 2, SAMPLES).astype(float)
        made = Design.of(covariates, inside, case, np.ones(SAMPLES), np.zeros(SAMPLES, np.int64))
        beta, fill = random.normal(size=(VARIANTS, count + 2)) * 0.3, random.random((VARIANTS, 2))
        second, lacking = random.random((2, VARIANTS)) < 0.5
        for precise in (made, made.in_single_precision()):
            design = replace(
                precise, covariates=moved(precise.covariates, shift), rows=moved(precise.rows, shift)
            )
            for exact in (True, False):
                found = Regressions(words, second, lacking, design, fill, exact).evaluate(moved(beta, shift))
                yield digest(f"evaluate {count} {design.rows.dtype} {exact}", found)
        columns = moved(random.normal(size=(SAMPLES, count + 1)), shift)
        sums = products(words, second, columns), over_missing(words, columns)
        yield digest(f"products {count}", sums)


def of_studies(shift: int) -> Iterator[str]:
    """Digests of whole studies' result columns."""
    covariates = tuple(Covariate(f"c{k}") for k in range(5))
    for test, trait in (("linear", "quantitative"), ("logistic", "case/control")):
        plan = Plan(
            test, "trait", 3, NO_KEY, trait=trait, covariates=covariates, missing="exact", min_per_class=0
        )
        panel = Panel.of((1 + k % 2 * 22, k, b"rs%d" % k, b"A", b"C") for k in range(VARIANTS))
        random = np.random.default_rng(7)
        cohorts = [cohort(random, shift, trait == "quantitative") for _ in range(3)]
        for table, columns in run.run(plan, panel, cohorts).items():
            yield digest(f"{test} {table}", (columns[name] for name in sorted(columns)))


def of_many_people(shift: int) -> Iterator[str]:
    """A cohort so large that BLAS would take several threads for products of its columns."""
    people, count = 10_000, 20
    random = np.random.default_rng(3)
    samples = Samples(
        phenotype=moved(random.integers(0, 2, people).astype(float), shift),
        sex=np.ones(people, np.uint8),
        founder=np.ones(people, bool),
        kept=np.ones(people, bool),
        covariates=moved(random.normal(size=(people, count)), shift),
    )
    large = ArrayCohort(samples, random.binomial(2, 0.3, (1, people)).astype(np.int8), np.zeros(1, bool))
    covariates = tuple(Covariate(f"c{k}") for k in range(count))
    plan = Plan("logistic", "trait", 3, NO_KEY, covariates=covariates, missing="exact", min_per_class=0)
    columns = run.run(plan, Panel.of([(1, 1, b"rs1", b"A", b"C")]), [large] * 3)["variants"]
    yield digest("many people", (columns[name] for name in sorted(columns)))


def cohort(random: np.random.Generator, shift: int, quantitative: bool) -> ArrayCohort:
    genotypes = random.binomial(2, 0.3, (VARIANTS, SAMPLES))
    risk = 0.5 * genotypes[0] + random.normal(size=SAMPLES)
    samples = Samples(
        phenotype=moved(risk if quantitative else (risk > 0.3).astype(float), shift),
        sex=random.integers(0, 3, SAMPLES).astype(np.uint8),
        founder=np.ones(SAMPLES, bool),
        kept=np.ones(SAMPLES, bool),
        covariates=moved(random.normal(size=(SAMPLES, 5)), shift),
    )
    missing = random.random(genotypes.shape) < 0.02
    return ArrayCohort(samples, np.where(missing, -1, genotypes).astype(np.int8), np.zeros(VARIANTS, bool))


def moved(values: np.ndarray, shift: int) -> np.ndarray:
    """A copy that begins `shift` bytes behind a line of the cache."""
    room = np.empty(values.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + shift
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def digest(name: str, arrays: Iterable[np.ndarray]) -> str:
    return f"{name}: {hashlib.sha256(b''.join(array.tobytes() for array in arrays)).hexdigest()}"


if __name__ == "__main__":
    what, shift = sys.argv[1], int(sys.argv[2])
    print(*of_kernels(shift), sep="\n")
    if what == "all":
        print(*of_studies(shift), *of_many_people(shift), sep="\n")
