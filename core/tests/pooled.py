"""The pooled data of a small study, in clear: cohorts take part with it, and PLINK reads all of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unpooled.cohort import ArrayCohort, Samples


def needed(found: object, package: str) -> None:
    """Skip with one clear line where a program or data set is missing; in CI none may be."""
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"missing: apt-get install {package}")


@dataclass(frozen=True, eq=False)
class Pool:
    """All people of a study of cases and controls."""

    samples: Samples
    variants: list[tuple[int, int, bytes, bytes, bytes]]
    """Chromosome, position, ID, A1, A2; in canonical order."""
    copies: np.ndarray
    """int8 (m, n): copies of A1, -1 for a missing call."""
    autosomes: int = 22

    @property
    def covariates(self) -> tuple[str, ...]:
        return tuple(f"C{k + 1}" for k in range(self.samples.covariates.shape[1]))

    def phenotypes(self) -> Sequence[str]:
        """Of each person, as a .fam has it."""
        status = self.samples.phenotype
        return np.select([status == 1, status == 0], ["2", "1"], "-9").tolist()

    def write(self, prefix: Path) -> None:
        """As .bed, .bim, .fam and .cov."""
        s = self.samples
        rows = zip(s.founder, s.sex, self.phenotypes(), strict=True)
        fam = [f"f s{k} {0 if founder else 'x'} 0 {sex} {p}\n" for k, (founder, sex, p) in enumerate(rows)]
        prefix.with_suffix(".fam").write_text("".join(fam))
        words = (" ".join(map(written, row)) for row in s.covariates)
        cov = [" ".join(("FID", "IID", *self.covariates)), *(f"f s{k} {row}" for k, row in enumerate(words))]
        prefix.with_suffix(".cov").write_text("\n".join(cov) + "\n")
        bim = [b"%d\t%b\t0\t%d\t%b\t%b\n" % (c, name, at, a1, a2) for c, at, name, a1, a2 in self.variants]
        prefix.with_suffix(".bim").write_bytes(b"".join(bim))
        codes = np.zeros((len(self.copies), -(-len(s) // 4) * 4), np.uint8)
        codes[:, : len(s)] = np.array([3, 2, 0, 1])[self.copies]
        quads = codes.reshape(len(codes), -1, 4) << np.array([0, 2, 4, 6], np.uint8)
        prefix.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + quads.sum(axis=2).astype(np.uint8).tobytes())

    def dealt(self, of: np.ndarray, count: int) -> list[ArrayCohort]:
        """The cohorts, from 0, that people are in: `of` (n,). All have the alleles in the pool's order."""
        swapped = np.array([a1 > a2 for *_, a1, a2 in self.variants])
        turned = swapped[:, None] & (self.copies >= 0)
        first = np.where(turned, 2 - self.copies, self.copies).astype(np.int8)
        s, inside = self.samples, [np.flatnonzero(of == cohort) for cohort in range(count)]
        each = [Samples(s.phenotype[k], s.sex[k], s.founder[k], s.kept[k], s.covariates[k]) for k in inside]
        return [ArrayCohort(own, first[:, k], swapped) for own, k in zip(each, inside, strict=True)]


def written(number: float) -> str:
    """With all its digits, as PLINK reads it."""
    return "NA" if np.isnan(number) else repr(float(number))
