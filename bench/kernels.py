"""Times a cohort's kernels alone, on one core, beside what the core can do at most.

    OPENBLAS_NUM_THREADS=1 python bench/kernels.py

Each figure is the best of several runs, in nanoseconds of processor time per person and variant. The ceilings
are measured in the same run: additions or fused multiply-adds of float64, and bytes from memory.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pgenlib import PgenWriter

from unpooled.asking.share_check import check_of
from unpooled.kernels import dosages as of_dosages
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.kernels.logistic import Design, Regressions
from unpooled.kernels.products import over_missing, products
from unpooled.protocol import masking
from unpooled_client.data.plink.pgen import PgenFile

PEOPLE, VARIANTS, COVARIATES = 1_781, 10_000, 4
MISSING = 0.005  # in a third of the variants
RUNS = 15


def best(work: Callable[[], object]) -> float:
    """Seconds of processor time of the fastest run, after one that warms up."""
    work()
    seconds = []
    for _ in range(RUNS):
        start = time.thread_time()
        work()
        seconds.append(time.thread_time() - start)
    return min(seconds)


def main() -> None:
    random = np.random.default_rng(1)
    minor = random.uniform(0.02, 0.5, VARIANTS)
    copies = random.binomial(2, minor[:, None], (VARIANTS, PEOPLE))
    lacking = random.random(VARIANTS) < 1 / 3
    missing = lacking[:, None] & (random.random(copies.shape) < MISSING)
    words = packed(np.where(missing, 1, np.array([3, 2, 0])[copies]))
    noise = random.normal(0, 0.1, copies.shape)
    dosages = np.where(missing, NO_DOSAGE, np.rint((copies + noise).clip(0, 2) * COPY)).astype(np.uint16)
    second = random.random(VARIANTS) < 0.1
    covariates = random.normal(size=(PEOPLE, COVARIATES))
    case = random.integers(0, 2, PEOPLE).astype(float)
    everyone, ones = np.ones(PEOPLE, bool), np.ones(PEOPLE)
    groups = np.stack([case == 1, case == 0])
    masks = group_masks(groups)
    linear = np.column_stack([covariates, random.normal(size=PEOPLE)])
    copies = np.repeat([[[0.0], [1.0], [2.0]], [[1.0], [1.0], [1.0]]], linear.shape[1], axis=2)
    start, squared = random.normal(size=(PEOPLE, 2 + COVARIATES)), random.random((PEOPLE, 1))
    over = random.normal(size=(PEOPLE, 20))
    design = Design.of(covariates, everyone, case, ones, np.zeros(PEOPLE, np.int64))
    single = design.in_single_precision()
    beta, fill = random.normal(size=(VARIANTS, 2 + COVARIATES)) * 0.05, np.zeros((VARIANTS, 2))

    def of(genotypes: np.ndarray, design: Design) -> Regressions:
        return Regressions(genotypes, second, lacking, design, fill, True)

    each = 1e9 / (PEOPLE * VARIANTS)
    pgen, rows = written(dosages), np.arange(VARIANTS)

    additions, memory = ceilings()
    print(
        f"{PEOPLE} people, {VARIANTS} variants, {COVARIATES} covariates; ns per person and variant, one core"
    )
    print(f"ceilings per ns: {additions:.1f} additions or multiply-adds, {memory:.0f} bytes from memory")
    for name, work, least in (
        ("counts of two groups", lambda: count_genotypes(words, masks), 0.25 / memory),
        ("linear: sums with 5 columns", lambda: products(words, second, linear), 8 / 2 / additions),
        ("logistic: sums with 7 columns", lambda: products(words, second, start, squared), 8 / 2 / additions),
        ("over missing calls, 20 columns",
         lambda: over_missing(words, over), 0.25 / memory + MISSING / 3 * 20 / additions),
        ("logistic: one, single precision",
         lambda: of(words, single).evaluate(beta), OPERATIONS / 2 / additions),
        ("logistic: one evaluation",
         lambda: of(words, design).evaluate(beta), OPERATIONS / additions),
        ("dosages: from a .pgen", lambda: pgen.dosages(rows), 4.4 / memory),
        ("dosages: sums of two groups",
         lambda: of_dosages.count_dosages(dosages, groups), 2 / memory),
        ("dosages: sums with 5 columns",
         lambda: of_dosages.products(dosages, second, linear, copies), 8 / additions),
        ("dosages: over missing, 20 columns",
         lambda: of_dosages.over_missing(dosages, over), 2 / memory + MISSING / 3 * 20 / additions),
        ("dosages: one, single precision",
         lambda: of(dosages, single).evaluate(beta), OPERATIONS / 2 / additions),
        ("dosages: one evaluation",
         lambda: of(dosages, design).evaluate(beta), OPERATIONS / additions),
    ):  # fmt: skip
        took = best(work) * each
        print(f"  {name:32} {took:7.3f}   {least / took:5.0%} of the ceiling ({least:.3f})")
    for label in ("z32", "z64", "z128"):
        took = best(checking(label)) * 1e9 / WORDS
        print(f"  each check of a share, {label:9} {took:7.2f} a word")


WORDS = 1 << 20


def checking(label: str) -> Callable[[], int]:
    """Makes the check of a share of WORDS words, each time anew."""
    scheme = masking.scheme(label)
    share = scheme.zeros(scheme.check_words + WORDS)
    share[:] = np.random.default_rng(1).integers(2**32, size=share.shape)
    return lambda: check_of(share, scheme, bytes(masking.SALT_BYTES))


OPERATIONS = 1 + COVARIATES + 16 + 12 + 5 + 28
"""Operations on one person in an evaluation: linear predictor, exponential, weights, and sums about the
intercept and genotype, and about covariates: 6 gradients and 21 second derivatives with the products that
they need.
"""


def packed(codes: np.ndarray) -> np.ndarray:
    """PLINK's two-bit codes (m, n) as words."""
    m, n = codes.shape
    wide = np.zeros((m, -(-n // 32) * 32), np.uint64)
    wide[:, :n] = codes
    return np.asarray(
        np.bitwise_or.reduce(wide.reshape(m, -1, 32) << (2 * np.arange(32, dtype=np.uint64)), axis=2)
    )


def written(dosages: np.ndarray) -> PgenFile:
    """A .pgen of dosages (m, n), which is read from memory."""
    path = Path(tempfile.mkdtemp()) / "dosages.pgen"
    atexit.register(shutil.rmtree, path.parent)
    copies = np.where(dosages == NO_DOSAGE, -9, dosages / np.float32(COPY)).astype(np.float32)
    with PgenWriter(bytes(path), PEOPLE, variant_ct=VARIANTS, nonref_flags=False,
                    dosage_present=True) as writer:  # fmt: skip
        writer.append_dosages_batch(copies)
    return PgenFile(path, PEOPLE, VARIANTS)


def ceilings() -> tuple[float, float]:
    """Multiply-adds, and bytes read from memory, per ns of one core."""
    a, large = np.random.default_rng(1).normal(size=(1024, 1024)), np.ones(32 << 20)
    return a.shape[0] ** 3 / best(lambda: a @ a) / 1e9, large.nbytes / best(lambda: large @ large) / 1e9


if __name__ == "__main__":
    main()
