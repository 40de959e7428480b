"""Measures regressions of related and of mixed people, plain and with predictions.

    .venv/bin/python docs/measure_relatives.py

Writes docs/measured/relatives.md and docs/measured/relatives-gemma.md. People are generated in five ways, and
dealt to three cohorts whatever their families. A trait has 200 causes on chromosomes 1 to 11, and one on each
of 12 to 22. All variants of these away from the cause are tested, for sixteen traits: by the regression
alone, with two principal components, with predictions, and with both. GEMMA's mixed model has the
relationship matrix of chromosomes 1 to 11, on which no variant lies that is compared.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from scipy import stats

from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

WRITES = (measuring.Table("relatives"), measuring.Table("relatives-gemma", apart=0.01))
CHROMOSOMES, CAUSAL = 22, 11
HERITABILITY, CAUSES, PLANTED = 0.5, 200, 0.004
COMPONENTS = 2
LEVELS = (0.05, 0.01, 1e-3, 1e-4)
WAYS = {
    "alone": (False, False),
    "components": (True, False),
    "predictions": (False, True),
    "both": (True, True),
}
"""Flags by way: True if components are covariates, and if predictions are."""


def haplotypes(random: np.random.Generator, frequency: np.ndarray, count: int) -> np.ndarray:
    """Haplotypes of a chromosome in linkage disequilibrium: bool (m, count)."""
    found, latent = np.empty((len(frequency), count), bool), random.normal(size=count)
    threshold = stats.norm.ppf(frequency)
    for k, most in enumerate(threshold):
        latent = 0.8 * latent + 0.6 * random.normal(size=count)
        found[k] = latent < most
    return found


def child(random: np.random.Generator, mother: np.ndarray, father: np.ndarray) -> np.ndarray:
    """The two haplotypes of each child, with a crossover at random in each: bool (m, n, 2)."""
    parts = []
    for parent in (mother, father):
        m, n, _ = parent.shape
        before = np.arange(m)[:, None] < random.integers(0, m + 1, n)
        first = random.random(n) < 0.5
        parts.append(np.where(before == first, parent[..., 0], parent[..., 1]))
    return np.stack(parts, axis=-1)


def founders(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Unrelated people: bool (m, n, 2)."""
    return haplotypes(random, random.uniform(0.05, 0.5, m), 2 * n).reshape(m, n, 2)


def brothers_and_sisters(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Four of each family."""
    couples = founders(random, m, n // 2).reshape(m, 2, n // 4, 2)
    return np.concatenate([child(random, couples[:, 0], couples[:, 1]) for _ in range(4)], axis=1)


def half_sisters(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """A father, two mothers, and a child of each."""
    parents = founders(random, m, 3 * (n // 5)).reshape(m, 3, n // 5, 2)
    children = [child(random, parents[:, 0], parents[:, k]) for k in (1, 2)]
    return np.concatenate([parents.reshape(m, -1, 2), *children], axis=1)


def twice(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """One in four is in two cohorts, under two names."""
    some = founders(random, m, 4 * (n // 5))
    return np.concatenate([some, some[:, : n // 5]], axis=1)


def admixed(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Two peoples and their children."""
    ancestral, shift = random.uniform(0.1, 0.9, m), random.normal(0, 0.1, (2, m))
    third = n // 3
    both = [
        haplotypes(random, np.clip(ancestral + each, 0.05, 0.95), 2 * third).reshape(m, third, 2)
        for each in shift
    ]
    return np.concatenate([*both, child(random, *both)], axis=1)


def kinds() -> Iterator[tuple[str, Callable[[np.random.Generator, int, int], np.ndarray]]]:
    yield "unrelated", founders
    yield "four brothers and sisters of each family", brothers_and_sisters
    yield "fathers, two mothers, two children", half_sisters
    yield "one in four twice", twice
    yield "two peoples and their children", admixed


@dataclass(frozen=True, eq=False)
class Pool:
    """Everybody's genotypes: int8 (m, n), and the chromosome of each variant."""

    copies: np.ndarray
    chromosome: np.ndarray
    is_cause: np.ndarray

    def values(self, random: np.random.Generator, *, few: bool = False) -> np.ndarray:
        """A trait; of a mixed people also with a mean that goes with ancestry, by the causes."""
        x = self.copies.astype(float)
        x -= x.mean(axis=1, keepdims=True)
        x /= np.maximum(x.std(axis=1, keepdims=True), 1e-9)
        cause = random.choice(np.flatnonzero(self.chromosome <= CAUSAL), CAUSES, replace=False)
        genetic = random.normal(size=CAUSES) @ x[cause]
        planted = np.flatnonzero(self.is_cause)
        value = np.sqrt(HERITABILITY) * genetic / genetic.std() + np.sqrt(PLANTED) * x[planted].sum(axis=0)
        value += np.sqrt(1 - HERITABILITY) * random.normal(size=x.shape[1])
        return (value > np.quantile(value, 0.8)).astype(float) if few else value

    def components(self) -> np.ndarray:
        """The first, as plink2's --pca has them: float64 (n, 2)."""
        p = self.copies.mean(axis=1) / 2
        x = (self.copies - 2 * p[:, None]) / np.sqrt(2 * p * (1 - p))[:, None]
        _, vectors = np.linalg.eigh(x.T @ x)
        return vectors[:, ::-1][:, :COMPONENTS]


def draw(kind: Callable[..., np.ndarray], people: int, each: int, random: np.random.Generator) -> Pool:
    """A pool of so many people, and so many variants on each chromosome."""
    found = [kind(random, each, people).sum(axis=2, dtype=np.int8) for _ in range(CHROMOSOMES)]
    chromosome = np.repeat(np.arange(1, CHROMOSOMES + 1), each)
    is_cause = np.zeros(len(chromosome), bool)
    is_cause[np.flatnonzero(chromosome > CAUSAL)[each // 2 :: each]] = True
    return Pool(np.concatenate(found), chromosome, is_cause)


def tested(pool: Pool, value: np.ndarray, covariates: np.ndarray, *, few: bool, loco: bool) -> np.ndarray:
    """-log10 P of each variant, from three cohorts that people are dealt to in turn."""
    rows = [(int(c), k + 1, f"v{k}".encode(), b"A", b"C") for k, c in enumerate(pool.chromosome)]
    names = tuple(Covariate(f"PC{k + 1}") for k in range(covariates.shape[1]))
    trait = "case/control" if few else "quantitative"
    about: dict[str, Any] = {"covariates": names, "loco": loco, "files": ("assoc",), "trait": trait}
    plan = Plan("logistic" if few else "linear", "value", 3, NO_KEY, **about)
    n = len(value)
    cohorts = []
    for k in range(3):
        own = np.arange(n) % 3 == k
        samples = Samples(
            value[own], np.ones(own.sum(), np.uint8), np.ones(own.sum(), bool), np.ones(own.sum(), bool),
            covariates[own],
        )  # fmt: skip
        cohorts.append(ArrayCohort(samples, pool.copies[:, own], np.zeros(len(rows), bool)))
    found = run(plan, Panel.of(rows), cohorts)["variants"]
    p = np.full(len(rows), np.nan)
    p[found["variant"]] = found["neg_log10_p"][:, 0]
    return p


def chi_square(p: np.ndarray) -> np.ndarray:
    return np.asarray(stats.chi2.isf(10.0**-p, 1))


def inflation(p: np.ndarray) -> float:
    return float(np.nanmedian(chi_square(p)) / stats.chi2.median(1))


def gemma(pool: Pool, value: np.ndarray, folder: Path) -> np.ndarray:
    """-log10 P of the variants of chromosomes 12 to 22 by GEMMA's mixed model."""
    for name, some in (("others", pool.chromosome <= CAUSAL), ("tested", pool.chromosome > CAUSAL)):
        lines = [
            ", ".join((f"v{k}", "A", "C", *map(str, pool.copies[k].tolist()))) for k in np.flatnonzero(some)
        ]
        (folder / f"{name}.geno").write_text("\n".join(lines) + "\n")
    (folder / "value").write_text("\n".join(map(repr, value.tolist())) + "\n")
    about = ("-p", folder / "value", "-outdir", folder)
    for words in (
        ("-g", folder / "others.geno", *about, "-gk", 1, "-o", "k"),
        ("-g", folder / "tested.geno", *about, "-k", folder / "k.cXX.txt", "-lmm", 1, "-maf", 0, "-o", "out"),
    ):
        subprocess.run(["gemma", *map(str, words)], check=True, capture_output=True)
    p = np.full(len(pool.copies), np.nan)
    for line in (folder / "out.assoc.txt").read_text().splitlines()[1:]:
        row = line.split()
        p[int(row[1][1:])] = -np.log10(float(row[-1]))
    return p


def main() -> None:
    arguments = measuring.parser(__doc__).parse_args()
    people, each, times = (1200, 30, 1) if arguments.small else (3000, 100, 16)
    heads = [
        "People",
        "Trait",
        *(f"λ {name}" for name in WAYS),
        "false at 0.05",
        *map(str, LEVELS[1:-1]),
        "0.0001",
    ]
    table = [f"| {' | '.join(heads)} | χ² components | χ² both |", "|" + " --- |" * 2 + " ---: |" * 10]
    beside = ["| People | r with GEMMA | λ GEMMA | λ predictions |", "| --- |" + " ---: |" * 3]
    for number, (title, kind) in enumerate([*kinds()][: 1 if arguments.small else None]):
        random = np.random.default_rng(number)
        pool = draw(kind, people, each, random)
        components, none = pool.components(), np.zeros((pool.copies.shape[1], 0))
        null = (pool.chromosome > CAUSAL) & ~pool.is_cause
        # Neighbours of a cause go with it.
        near = np.convolve(pool.is_cause, np.ones(21), "same") > 0
        for few in (False, True):
            found: dict[str, list[np.ndarray]] = {name: [] for name in WAYS}
            for k in range(times):
                value = pool.values(random, few=few)
                for name, (with_components, loco) in WAYS.items():
                    columns = components if with_components else none
                    found[name].append(tested(pool, value, columns, few=few, loco=loco))
                if not few and k == 0:
                    with tempfile.TemporaryDirectory() as folder:
                        theirs = gemma(pool, value, Path(folder))
                    both = ~np.isnan(theirs) & ~np.isnan(found["predictions"][0])
                    r = np.corrcoef(theirs[both], found["predictions"][0][both])[0, 1]
                    own = inflation(found["predictions"][0][both])
                    beside.append(f"| {title} | {r:.3f} | {inflation(theirs[both]):.2f} | {own:.2f} |")
            none_near = null & ~near
            of_null = {name: np.concatenate([p[none_near] for p in each]) for name, each in found.items()}
            of_cause = {
                name: np.concatenate([p[pool.is_cause] for p in each]) for name, each in found.items()
            }
            wrong = [np.nanmean(of_null["both"] > -np.log10(level)) / level for level in LEVELS]
            lambdas = " | ".join(f"{inflation(of_null[name]):.2f}" for name in found)
            means = " | ".join(
                f"{np.nanmean(chi_square(of_cause[name])):.1f}" for name in ("components", "both")
            )
            trait = "cases, one in five" if few else "a quantity"
            line = (
                f"| {title} | {trait} | {lambdas} | {' | '.join(f'{each:.2f}' for each in wrong)} | {means} |"
            )
            print(line, flush=True)
            table.append(line)
    measuring.write(arguments.out, "relatives", table)
    measuring.write(arguments.out, "relatives-gemma", beside)


if __name__ == "__main__":
    main()
