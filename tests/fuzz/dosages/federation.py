"""Federation drawn from a seed: people, dosages, a plan; and the files of each cohort and the pool."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unpooled.kernels.dosages import COPY
from unpooled.methods import check
from unpooled.methods.regression.options import FIRTH, NEVER
from unpooled.plan.common_options import BY_PLACE, CONDITION, COVARIATES, HWE
from unpooled.plan.genotype_model import ADDITIVE, GENOTYPE_MODEL, INTERACTION, MODELS
from unpooled.plan.glm_columns import chosen
from unpooled.plan.plan import NO_KEY, Covariate, Plan

from ...oracles.dosages import Words, in_bcf, in_bgen, in_vcf, write_pgen

PHENOTYPE = "status"
FORMATS = ("pgen", "pgen", "vcf", "bcf", "bgen", "calls")
CHROMOSOMES = ("1", "2", "22", "X", "Y", "MT")
FLAGS = {"maf": "--maf", "geno": "--geno", "hwe": "--hwe", "mach_r2_filter": "--mach-r2-filter"}
FIRST = 1000
"""The position of the first variant; each further one has the next, unless it is of the same place."""
HARD_CALL = COPY // 10
"""Largest distance from whole copies at which plink2 still makes a call."""


@dataclass(frozen=True, eq=False)
class Federation:
    """Everybody of the pool, cohort after cohort, and what each cohort has."""

    seed: int
    plan: Plan
    formats: tuple[str, ...]
    """Format of each cohort's files; `calls` is a .bed."""
    cohort: np.ndarray
    """int64 (n,): ascending."""
    sex: np.ndarray
    """int64 (n,): 1 for men, 2 for women, 0 unknown."""
    founder: np.ndarray
    phenotype: np.ndarray
    """float64 (n,): 1 for cases and 0 for controls, or a quantity; NaN is missing."""
    covariates: np.ndarray
    """float64 (n, c); NaN is missing."""
    chromosome: tuple[str, ...]
    dosages: np.ndarray
    """int64 (m, n): copies of ALT, not of A, in units of 1/16384; -1 is missing."""
    swapped: np.ndarray
    """bool (cohorts, m): whether a cohort's REF is C."""
    beside: np.ndarray
    """bool (m,): of the place of the variant before it, with G for its C; a VCF has both in one row."""

    @property
    def pooled(self) -> np.ndarray:
        """The dosages that the cohorts' files have together: where there are calls only, whole copies."""
        has_calls = np.array([name == "calls" for name in self.formats])[self.cohort]
        return np.where(has_calls, called(self.dosages), self.dosages)

    @property
    def names(self) -> list[str]:
        return [f"p{k}" for k in range(len(self.sex))]

    @property
    def conditions(self) -> dict[str, np.ndarray]:
        """Copies of the rarer allele of what is conditioned on, float64 (n,), by its ID: NaN is missing."""
        found = {}
        for name in CONDITION.of(self.plan):
            dosages = self.pooled[self.place(name)]
            counted = dosages[(dosages >= 0) & (self.founder | self.plan.nonfounders)]
            copies = np.where(dosages < 0, np.nan, dosages / COPY)
            found[name] = copies if counted.mean() <= COPY else 2 - copies
        return found

    def place(self, name: str) -> int:
        """Find a variant of the pool by its ID."""
        return [self.called(k) for k in range(len(self.chromosome))].index(name)

    def position(self, variant: int) -> int:
        return FIRST + variant - int(self.beside[variant])

    def alternate(self, variant: int) -> str:
        return "CG"[int(self.beside[variant])]

    def called(self, variant: int, cohort: int | None = None) -> str:
        """Return a variant's ID in a cohort's files or the pool's. By place, each cohort has its own IDs."""
        if not BY_PLACE.of(self.plan):
            return f"v{variant}"
        if cohort is None:
            return f"{self.chromosome[variant]}:{self.position(variant)}:A:{self.alternate(variant)}"
        return f"x{cohort}-{variant}" if cohort % 2 else "."


def called(dosages: np.ndarray) -> np.ndarray:
    """Return the calls that plink2 makes of dosages, in their units; -1 where it makes none."""
    near = (dosages + COPY // 2) // COPY * COPY
    return np.where((dosages >= 0) & (np.abs(dosages - near) <= HARD_CALL), near, -1)


def draw(seed: int) -> Federation:
    """The federation of a seed."""
    random = np.random.default_rng(seed)
    formats = tuple(random.choice(FORMATS, int(random.choice([3, 4, 6]))).tolist())
    n = int(np.exp(random.uniform(np.log(60), np.log(900))))
    cohort = np.sort(np.append(np.tile(np.arange(len(formats)), 3), random.integers(len(formats), size=n)))
    n, m = len(cohort), int(random.choice([15, 40, 100]))
    test = str(random.choice(["linear", "logistic"]))
    plan = _plan(random, test, len(formats), int(random.choice([0, 1, 3])))
    covariates = np.round(random.normal(size=(n, len(COVARIATES.of(plan)))), 4)
    dosages = _dosages(random, m, n)
    effect = np.where(dosages[0] < 0, 0, dosages[0] / COPY) + covariates.sum(axis=1)
    phenotype = np.round(random.normal(size=n) + 0.3 * effect, 5)
    if test == "logistic":
        phenotype = (phenotype > np.quantile(phenotype, random.choice([0.5, 0.8, 0.93]))).astype(float)
    places = CHROMOSOMES if not HWE.of(plan) else tuple(name for name in CHROMOSOMES if name != "X")
    made = Federation(
        seed=seed,
        plan=plan,
        formats=formats,
        cohort=cohort,
        sex=random.choice([1, 2, 0], n, p=[0.48, 0.5, 0.02] if random.random() < 0.5 else [0.5, 0.5, 0]),
        founder=random.random(n) < random.choice([1, 1, 0.8]),
        phenotype=_lacking(random, phenotype, cohort),
        covariates=np.array([_lacking(random, column, cohort) for column in covariates.T]).reshape(-1, n).T,
        chromosome=tuple(sorted(random.choice(places, m).tolist(), key=CHROMOSOMES.index)),
        dosages=dosages,
        swapped=random.random((len(formats), m)) < random.choice([0, 0.5]),
        beside=np.zeros(m, bool),
    )
    made = _several(made, np.random.default_rng((seed, 2)))
    if COVARIATES.of(plan) and random.random() < 0.3:
        made = _conditioned(made, random)
    return _modelled(made, np.random.default_rng((seed, 1)))


def _several(made: Federation, random: np.random.Generator) -> Federation:
    """The same federation; by place, some variants are two alternate alleles of one place, with one REF."""
    if not BY_PLACE.of(made.plan):
        return made
    beside, swapped, dosages = made.beside.copy(), made.swapped.copy(), made.dosages.copy()
    for k in range(1, len(beside)):
        if made.chromosome[k] == made.chromosome[k - 1] and not beside[k - 1] and random.random() < 0.4:
            beside[k], both = True, slice(k - 1, k + 1)
            swapped[:, both] = False
            dosages[k] = np.minimum(dosages[k], 2 * COPY - dosages[k - 1])
            dosages[both, (dosages[both] < 0).any(axis=0)] = -1
    return replace(made, beside=beside, swapped=swapped, dosages=dosages)


def _conditioned(made: Federation, random: np.random.Generator) -> Federation:
    """The same federation, whose plan conditions on one of its variants."""
    autosomal = [k for k, name in enumerate(made.chromosome) if name.isdigit()]
    name = made.called(int(random.choice(autosomal)))
    return replace(made, plan=replace(made.plan, options=(*made.plan.options, (CONDITION.name, (name,)))))


def _modelled(made: Federation, random: np.random.Generator) -> Federation:
    """The same federation, whose plan perhaps has another genotype model, or interactions."""
    chosen: list[tuple[str, object]] = []
    if random.random() < 0.4:
        chosen.append(
            (GENOTYPE_MODEL.name, str(random.choice([name for name in MODELS if name != ADDITIVE])))
        )
    # plink2 would multiply a condition, too.
    if (names := COVARIATES.of(made.plan)) and not CONDITION.of(made.plan) and random.random() < 0.4:
        chosen.append((INTERACTION.name, tuple(covariate.title for covariate in names)))
        if made.plan.test == "logistic":  # beside products Firth's likelihood has several maxima
            chosen.append((FIRTH.name, NEVER))
    given = {**dict(made.plan.options), **dict(chosen)}
    return replace(made, plan=replace(made.plan, options=tuple(sorted(given.items()))))


def _dosages(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Draw dosages: each variant has its own frequency, certainty, and share of missing ones; some are
    constant.
    """
    frequency = random.choice([0.005, 0.03, 0.2, 0.5, 0.9], m)[:, None]
    spread = random.choice([0, 0.02, 0.2, 0.6], m)[:, None]
    copies = np.clip(random.binomial(2, frequency, (m, n)) + spread * random.normal(size=(m, n)), 0, 2)
    copies[random.random(m) < 0.04] = random.choice([0, 1, 2, 0.3])
    missing = random.random((m, n)) < random.choice([0, 0, 0.02, 0.3], m)[:, None]
    return np.where(missing, -1, np.rint(copies * COPY)).astype(np.int64)


def _lacking(random: np.random.Generator, values: np.ndarray, cohort: np.ndarray) -> np.ndarray:
    """Draw missing values, but keep two known in each cohort: a client refuses an empty column."""
    missing = random.random(len(values)) < random.choice([0, 0.03, 0.2])
    for number in range(int(cohort[-1]) + 1):
        missing[np.flatnonzero(cohort == number)[:2]] = False
    return np.where(missing, np.nan, values)


def _plan(random: np.random.Generator, test: str, cohorts: int, covariates: int) -> Plan:
    def perhaps(*values: float) -> float | None:
        return float(random.choice(values)) if random.random() < 0.25 else None

    filters = {
        "maf": perhaps(0.01, 0.1),
        "geno": perhaps(0.01, 0.1, 0.5),
        "hwe": perhaps(1e-6, 0.01),
        "mach_r2_filter": perhaps(0.3, 0.9),
        "chunk_size": 23 if random.random() < 0.2 else None,
        "firth": str(random.choice(["firth-fallback", "firth", "no-firth"])) if test == "logistic" else None,
    }
    if filters["mach_r2_filter"]:  # where there is --geno, too, plink2 counts people who are no founders
        filters["geno"] = None
    further = random.choice(("ax", "a1count", "totallele", "a1freq", "machr2"), 3, replace=False).tolist()
    plan = Plan(
        test,
        PHENOTYPE,
        cohorts,
        NO_KEY,
        trait="quantitative" if test == "linear" else "case/control",
        dosages=True,
        files=("glm",),
        glm_cols=chosen(",".join(f"+{name}" for name in further)),
        missing="exact",
        allow_no_sex=True,
        nonfounders=bool(random.random() < 0.3),
        by_place=bool(random.random() < 0.3),
        hide_covar=bool(random.random() < 0.5),
        min_samples=1,
        min_per_class=0,
        covariates=tuple(Covariate(f"c{k}") for k in range(covariates)),
        **{name: value for name, value in filters.items() if value is not None},  # type: ignore[arg-type]
    )
    check(plan)
    return plan


def write_pool(plink2: Callable[..., str], federation: Federation, prefix: Path) -> Words:
    """plink2's arguments for the pooled .pgen, whose REF is the commoner allele among founders, or all.

    Of two that are equally common it is the one that most cohorts' files have there.
    """
    everyone = np.arange(len(federation.sex))
    made = prefix.with_name(f"{prefix.name}-made")
    turned = 2 * federation.swapped.sum(axis=0) >= len(federation.formats)
    _write(federation, made, everyone, federation.pooled, turned, None)
    alike = ["--nonfounders"] if federation.plan.nonfounders else []
    plink2("--pfile", made, *alike, "--maj-ref", "force", "--make-pgen", "--out", prefix)
    return ["--pfile", prefix, *alike, *_tables(federation, prefix, everyone)]


def write_cohort(plink2: Callable[..., str], federation: Federation, number: int, prefix: Path) -> Words:
    """Write a cohort's files, and return the client's options that name them."""
    here, kind = np.flatnonzero(federation.cohort == number), federation.formats[number]
    _write(federation, prefix, here, federation.dosages[:, here], federation.swapped[number], number)
    tables = _tables(federation, prefix, here)
    if kind == "calls":
        plink2("--pfile", prefix, "--make-bed", "--out", prefix)
        words: Words = ["--bfile", prefix]
    else:
        words = {"vcf": in_vcf, "bcf": in_bcf, "bgen": in_bgen}.get(kind, _as_it_is)(prefix)
        if kind == "vcf" and federation.beside.any():
            _join_rows(prefix.with_name(f"{prefix.name}.vcf.gz"))
    return [*words, *tables]


def _join_rows(path: Path) -> None:
    """Write a VCF anew, with one row for the rows of a place that follow one another with the same REF."""
    rows: list[list[str]] = []
    for row in (line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()):
        if rows and len(row) > 8 and [*row[:2], *row[3:4]] == [*rows[-1][:2], *rows[-1][3:4]]:
            before = rows.pop()
            cells = map(_joined, before[9:], row[9:])
            row = [*before[:4], f"{before[4]},{row[4]}", *before[5:9], *cells]
        rows.append(row)
    path.write_bytes(gzip.compress("".join("\t".join(row) + "\n" for row in rows).encode()))


def _joined(*cells: str) -> str:
    """One cell for a person's cells of two alternate alleles: a call if both agree, and both dosages."""
    calls, dosages = zip(*(cell.split(":") for cell in cells), strict=True)
    ways = max(call.count("/") + 1 for call in calls)
    if len({call.count("/") for call in calls}) > 1:  # one of them is of one copy
        dosages = tuple(
            dosage if "/" in call or dosage == "." else f"{2 * float(dosage):.7g}"
            for call, dosage in zip(calls, dosages, strict=True)
        )
        calls = tuple(call if "/" in call else f"{call}/{call}" for call in calls)
    first, second = (call.count("1") for call in calls)
    is_known = "." not in "".join(calls) and first + second <= ways
    alleles = ["0"] * (ways - first - second) + ["1"] * first + ["2"] * second if is_known else ["."] * ways
    return f"{'/'.join(alleles)}:{','.join(dosages)}"


def _as_it_is(prefix: Path) -> Words:
    return ["--pfile", prefix]


def _write(
    federation: Federation,
    prefix: Path,
    people: np.ndarray,
    dosages: np.ndarray,
    swapped: np.ndarray,
    cohort: int | None,
) -> None:
    """A .pgen of some people, of a cohort or of all. REF is A, unless it is swapped."""
    variants = []
    for k, (place, turned) in enumerate(zip(federation.chromosome, swapped.tolist(), strict=True)):
        pair = ["A", federation.alternate(k)][:: -1 if turned else 1]
        variants.append("\t".join([place, str(federation.position(k)), federation.called(k, cohort), *pair]))
    turned = np.where(swapped[:, None] & (dosages >= 0), 2 * COPY - dosages, dosages)
    parents = np.where(federation.founder[people], "0", "dad").tolist()
    sexes, names = federation.sex[people].tolist(), [federation.names[k] for k in people]
    rows = [f"{name}\t{dad}\t0\t{sex}" for name, dad, sex in zip(names, parents, sexes, strict=True)]
    write_pgen(prefix, variants, np.where(turned < 0, np.nan, turned / COPY), ["#IID\tPAT\tMAT\tSEX", *rows])


def _tables(federation: Federation, prefix: Path, people: np.ndarray) -> Words:
    """The phenotypes and covariates of some people."""
    is_case = federation.plan.trait != "quantitative"
    columns = {"pheno": ([PHENOTYPE], (federation.phenotype[people] + is_case)[:, None])}
    if COVARIATES.of(federation.plan):
        titles = [covariate.title for covariate in COVARIATES.of(federation.plan)]
        columns["covar"] = (titles, federation.covariates[people])
    words: Words = []
    for kind, (titles, values) in columns.items():
        path = prefix.with_suffix(f".{kind}")
        rows = [
            "\t".join([federation.names[k], *("NA" if np.isnan(x) else f"{x:.10g}" for x in row)])
            for k, row in zip(people, values.tolist(), strict=True)
        ]
        path.write_text("\n".join(["\t".join(["#IID", *titles]), *rows]) + "\n")
        words += [f"--{kind}", path]
    return words
