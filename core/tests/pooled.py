"""The pooled data of a small study, in clear: cohorts take part with it, and PLINK reads all of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tests.people import cohorts_of, people
from tests.plinks import needed, plink, plink2, write_bed
from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.plan.result_files import FILES
from unpooled.run import reports, run

MOUSE = Path("/usr/share/doc/gemma/example")
X, Y, MT = 23, 24, 26


@dataclass(frozen=True, eq=False)
class Pool:
    """All people of a study of cases and controls."""

    test: ClassVar[str] = "chi-square"
    usual: ClassVar[dict[str, Any]] = {"files": FILES}
    """Settings of a plan for this test unless a caller has others."""

    samples: Samples
    variants: list[tuple[int, int, bytes, bytes, bytes]]
    """Chromosome, position, ID, A1, A2; in canonical order."""
    copies: np.ndarray
    """int8 (m, n): copies of A1, -1 for a missing call."""
    autosomes: int = 22
    names: tuple[str, ...] = ()
    """Names of the covariates, where these matter."""

    @property
    def covariates(self) -> tuple[str, ...]:
        return self.names or tuple(f"C{k + 1}" for k in range(self.samples.covariates.shape[1]))

    def phenotypes(self) -> Sequence[str]:
        """Return each person's phenotype, as a .fam has it."""
        status = self.samples.phenotype
        return np.select([status == 1, status == 0], ["2", "1"], "-9").tolist()

    def write(self, prefix: Path) -> None:
        """Write the people as .bed, .bim, .fam and .cov."""
        s = self.samples
        rows = zip(s.founder, s.sex, self.phenotypes(), strict=True)
        fam = [f"f s{k} {0 if founder else 'x'} 0 {sex} {p}\n" for k, (founder, sex, p) in enumerate(rows)]
        prefix.with_suffix(".fam").write_text("".join(fam))
        words = (" ".join(map(written, row)) for row in s.covariates)
        cov = [" ".join(("FID", "IID", *self.covariates)), *(f"f s{k} {row}" for k, row in enumerate(words))]
        prefix.with_suffix(".cov").write_text("\n".join(cov) + "\n")
        bim = [b"%d\t%b\t0\t%d\t%b\t%b\n" % (c, name, at, a1, a2) for c, at, name, a1, a2 in self.variants]
        prefix.with_suffix(".bim").write_bytes(b"".join(bim))
        write_bed(prefix, self.copies)

    def dealt(self, of: np.ndarray, count: int) -> list[ArrayCohort]:
        """The cohorts, from 0, that people are in: `of` (n,). All have the alleles in the pool's order."""
        swapped = np.array([a1 > a2 for *_, a1, a2 in self.variants])
        turned = swapped[:, None] & (self.copies >= 0)
        first = np.where(turned, 2 - self.copies, self.copies).astype(np.int8)
        return cohorts_of(self.samples, first, [of == cohort for cohort in range(count)], swapped)

    def cohort_of(self, shares: Sequence[float], seed: int = 0) -> np.ndarray:
        """Deal people at random to so many uneven cohorts, and return each one's."""
        chances = np.divide(shares, sum(shares))
        return np.random.default_rng(seed).choice(len(shares), len(self.samples), p=chances)

    def cohorts(self, shares: Sequence[float], seed: int = 0) -> list[ArrayCohort]:
        return self.dealt(self.cohort_of(shares, seed), len(shares))

    def plan(self, cohorts: int = 3, **options: Any) -> Plan:
        covariates = tuple(map(Covariate, self.covariates))
        chosen = {"covariates": covariates, "autosomes": self.autosomes, **self.usual, **options}
        return Plan(self.test, "trait", cohorts, NO_KEY, **chosen)

    def study(
        self, shares: Sequence[float] = (1, 2, 4), seed: int = 0, **options: Any
    ) -> tuple[dict[str, bytes], dict[str, np.ndarray]]:
        """The files of a federated study, and its result columns."""
        plan, panel = self.plan(len(shares), **options), Panel.of(self.variants)
        tables = run(plan, panel, self.cohorts(shares, seed))
        return reports(plan, panel, tables), tables.get("variants", {})

    def beside(self, *columns: np.ndarray) -> Self:
        """The same people with these covariates, and no others."""
        return replace(self, samples=replace(self.samples, covariates=np.column_stack(columns)))

    def design(self, variant: int, first_is_a1: bool) -> tuple[np.ndarray, np.ndarray]:
        """(y, X) of a variant's regression, X being intercept, genotype, covariates and on X sex."""
        s = self.samples
        chromosome, _, _, a1, a2 = self.variants[variant]
        copies = self.copies[variant]
        g = np.where(copies < 0, np.nan, copies if (first_is_a1 == (a1 < a2)) else 2 - copies)
        men = s.sex == 1
        single = {X: men, Y: men, MT: np.ones(len(men), bool)}.get(chromosome, np.zeros(len(men), bool))
        g = np.where(single, np.where(g == 1, np.nan, g / 2), g)
        inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
        if chromosome == Y:
            inside &= men
        columns = [np.ones(len(g)), g, *s.covariates.T] + ([men.astype(float)] if chromosome == X else [])
        design = np.column_stack(columns)
        kept = inside & ~np.isnan(design).any(axis=1)
        return s.phenotype[kept], design[kept]

    def plink1(self, folder: Path, *flags: object) -> Path:
        """Prefix of plink1.9's reports on the pooled data."""
        self.write(folder / "pooled")
        covar = ("--covar", folder / "pooled.cov") if self.covariates else ()
        plink("--bfile", folder / "pooled", "--allow-no-sex", "--chr-set", self.autosomes,
             *covar, *flags, "--out", folder / "out")  # fmt: skip
        return folder / "out"

    def plink2(self, folder: Path, *flags: object) -> list[list[str]]:
        """plink2's report on the pooled data, word by word. A1 is the rarer allele, as a merge leaves it.

        It wants covariates of similar size, which changes nothing but their own lines.
        """
        self.write(folder / "pooled")
        human = ("--chr-set", self.autosomes, "--allow-no-sex")
        plink("--bfile", folder / "pooled", *human, "--make-bed", "--out", folder / "minor")
        table = ("--covar", folder / "pooled.cov", "--covar-variance-standardize")
        covar = table if self.covariates else ()
        plink2("--bfile", folder / "minor", "--chr-set", self.autosomes, "--threads", 1, *covar,
             *flags, "--out", folder / "two")  # fmt: skip
        return [line.split("\t") for line in next(folder.glob("two.*.glm.*")).read_text().splitlines()]


def written(number: float) -> str:
    """Write a number with all its digits, as PLINK reads it."""
    return "NA" if np.isnan(number) else repr(float(number))


class Quantities(Pool):
    """People with a quantitative phenotype."""

    test = "linear"
    usual: ClassVar[dict[str, Any]] = {
        "trait": "quantitative",
        "missing": "exact",
        "files": ("assoc", "adjusted"),
    }

    def phenotypes(self) -> Sequence[str]:
        return list(map(written, self.samples.phenotype))


class Statuses(Pool):
    """Cases and controls of a logistic regression."""

    test = "logistic"
    usual: ClassVar[dict[str, Any]] = {"missing": "exact", "files": ("assoc", "adjusted")}

    def cohorts(
        self, shares: Sequence[float], seed: int = 0, *, cases_only: bool = True
    ) -> list[ArrayCohort]:
        """Dealt out unevenly; the first cohort has cases only, and its cases are in no other proportion."""
        of, s = self.cohort_of(shares, seed), self.samples
        if cases_only:
            of = np.where((of == 0) & ~(s.phenotype == 1), len(shares) - 1, of)
        return self.dealt(of, len(shares))


ALLELES = [(b"A", b"G"), (b"T", b"C"), (b"G", b"A")]


def quantities(
    seed: int = 0,
    n: int = 210,
    each: int = 25,
    missing: float = 0.03,
    covariates: int = 2,
    scale: float = 1.0,
) -> Quantities:
    """Variants on every kind of chromosome, people of every kind, missing values of every kind."""
    random = np.random.default_rng(seed)
    rows = [(c, 1 + 7 * k, b"rs%d_%d" % (c, k), *ALLELES[k % 3]) for c in (0, 1, 22, X, Y, 25, MT)
            for k in range(each)]  # fmt: skip
    copies = random.binomial(2, np.broadcast_to(random.random((len(rows), 1)) ** 2, (len(rows), n)))
    copies = np.where(random.random(copies.shape) < missing, -1, copies).astype(np.int8)
    cov = random.normal(size=(n, covariates)) * scale + 3 * scale
    y = random.normal(size=n) + 0.3 * np.maximum(copies[each + 3], 0) + cov.sum(axis=1) / scale / 4
    y[random.random(n) < 0.05] = np.nan
    if covariates:
        cov[random.random(n) < 0.03, 0] = np.nan
    sex, founder = random.integers(0, 3, n).astype(np.uint8), random.random(n) < 0.8
    return Quantities(people(y, cov, sex=sex, founder=founder), rows, copies)


def statuses(
    seed: int,
    n: int = 400,
    each: int = 12,
    missing: float = 0.02,
    covariates: int = 2,
    rare: bool = False,
) -> Statuses:
    """`rare`: most frequencies are below 1 %."""
    random = np.random.default_rng(seed)
    rows = [(c, 1 + 7 * k, b"rs%d_%d" % (c, k), *ALLELES[k % 3]) for c in (1, 22, X, Y, 25, MT)
            for k in range(each)]  # fmt: skip
    frequency = random.random((len(rows), 1)) ** (7 if rare else 2.5)
    copies = random.binomial(2, np.broadcast_to(frequency, (len(rows), n)))
    copies = np.where(random.random(copies.shape) < missing, -1, copies).astype(np.int8)
    cov = random.normal(size=(n, covariates))
    eta = 0.7 * np.maximum(copies[3], 0) + cov.sum(axis=1) / 2 - 0.7
    y = (random.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    y[random.random(n) < 0.03] = np.nan
    if covariates:
        cov[random.random(n) < 0.02, 0] = np.nan
    sex = random.choice([1, 2, 0], n, p=[0.5, 0.4, 0.1]).astype(np.uint8)
    return Statuses(people(y, cov + 5, sex=sex, founder=random.random(n) < 0.9), rows, copies)


GENERATED: dict[str, Callable[..., Quantities | Statuses]] = {"linear": quantities, "logistic": statuses}


def mice(phenotype: int) -> Quantities:
    """1,940 mice, 12,226 variants (PLINK skips those at negative positions); real phenotypes, no founders."""
    needed((MOUSE / "mouse_hs1940.bed.gz").exists(), "mouse_hs1940", "gemma-doc")
    fam, bim = (
        [line.split() for line in gzip.decompress((MOUSE / f"mouse_hs1940.{s}.gz").read_bytes()).splitlines()]
        for s in ("fam", "bim")
    )
    raw = np.frombuffer(gzip.decompress((MOUSE / "mouse_hs1940.bed.gz").read_bytes()), np.uint8)[3:]
    codes = (raw.reshape(len(bim), -1, 1) >> np.array([0, 2, 4, 6], np.uint8)) & 3
    copies = np.array([2, -1, 1, 0], np.int8)[codes.reshape(len(bim), -1)[:, : len(fam)]]
    value = np.array([float(row[phenotype]) if row[phenotype] != b"NA" else np.nan for row in fam])
    n = len(fam)
    random = np.random.default_rng(1)
    cov = np.column_stack([random.normal(170, 9, n), random.integers(0, 2, n).astype(float)])
    sex = np.array([int(row[4]) for row in fam], np.uint8)
    founder = np.array([row[2:4] == [b"0", b"0"] for row in fam])
    samples = people(value, cov, sex=sex, founder=founder)
    codes_of = {b"X": 20, b"Y": 21, b"XY": 22, b"MT": 23}
    rows = [
        (codes_of[c] if c in codes_of else int(c), int(at), name, a1, a2) for c, name, _, at, a1, a2 in bim
    ]
    order = [k for k in sorted(range(len(rows)), key=lambda k: rows[k][:3]) if rows[k][1] >= 0]
    return Quantities(samples, [rows[k] for k in order], copies[order], autosomes=19)
