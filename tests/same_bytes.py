"""Shows that a change leaves every result file as it was, to the byte.

    python -m tests.same_bytes --out FILE        writes a line per study and result file: names and SHA-256
    python -m tests.same_bytes --against FILE    compares with lines of before; exit 1 where they differ

Studies run in one process, through the real encodings and masks, and all follow from seeds: each test and
method, each option, small panels in several chunks. Gaussian masks are left out, for they change last digits.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled import run
from unpooled.algorithms import check, usual
from unpooled.cohort import FEMALE, MALE, UNKNOWN_SEX, ArrayCohort, ArrayTable, Samples
from unpooled.panel import Panel
from unpooled.plan import Plan

TESTS = ("chi-square", "linear", "logistic")
AUTOSOMES = 22
X, Y, XY, MT = range(AUTOSOMES + 1, AUTOSOMES + 5)
PLACES = (1, 2, 7, AUTOSOMES, X, Y, XY, MT)
VARIANTS, COHORTS = 260, 3
COUNTS = ["frq", "lmiss", "hwe"]
REPORTS = ["assoc", "adjusted", "glm", "ssf", *COUNTS]
NUMERIC = ["age", "pc1", "pc2"]
SMOKER = {"name": "smoker", "levels": ["never", "once", "now"]}


@dataclass(frozen=True)
class Study:
    """What a study is made of, beside its seed."""

    name: str
    test: str
    plan: dict[str, Any]
    cohorts: int = COHORTS
    places: tuple[int, ...] = PLACES
    people: int = 150
    listed: bool = False
    """The panel is a list that the coordinator gave."""
    site: bool = False
    """A covariate tells the first cohort from the others."""


def _study(test: str, name: str, shape: dict[str, Any] | None = None, /, **plan: Any) -> Study:
    """A study of variants that writes every file that its test has. `shape`: what is not in the plan."""
    files = ["assoc", "adjusted", *COUNTS] if test == "chi-square" else REPORTS
    trait = "quantitative" if test == "linear" else "case/control"
    return Study(f"{test}: {name}", test, {"files": files, "trait": trait, **plan}, **shape or {})


def _on_variants() -> Iterator[Study]:
    for test in TESTS:
        yield _study(test, "every file")
        yield _study(test, "list", {"listed": True, "places": (1, 2)})
        yield _study(test, "five cohorts, one chunk", {"cohorts": 5, "people": 70}, chunk_size=1000)
        yield _study(test, "chromosomes", {"places": (1, 2, X)}, chromosomes=["1-2", "X"])
        yield _study(test, "founders and others", nonfounders=True)
        yield _study(test, "filters", maf=0.1, geno=0.04, hwe=0.01, mind=0.08)
        yield _study(test, "confidence", ci=0.95)
    yield from _regressions("linear")
    yield from _regressions("logistic")
    yield _study("logistic", "odds as logarithms", beta=True, ci=0.9, covariates=NUMERIC)
    yield _study("logistic", "tolerance", tolerance=1e-4, covariates=NUMERIC)
    yield _study("logistic", "few iterations", max_iterations=3, covariates=NUMERIC)
    yield _study("logistic", "few people", {"people": 34}, covariates=NUMERIC[:1])


def _regressions(test: str) -> Iterator[Study]:
    for missing in ("exact", "mean"):
        yield _study(test, f"{missing}: no covariate", missing=missing)
        yield _study(test, f"{missing}: numbers", missing=missing, covariates=NUMERIC, ci=0.95)
        yield _study(test, f"{missing}: levels", missing=missing, covariates=["age", SMOKER])
        autosomes = {"places": (1, 2, 7)}
        yield _study(test, f"{missing}: autosomes", autosomes, missing=missing, covariates=NUMERIC[:2])
    yield _study(test, "hidden covariates", covariates=NUMERIC, hide_covar=True)
    columns = ["pos", "a1freq", "test", "beta", "tz", "err"]
    yield _study(test, "columns", covariates=["age"], glm_cols=columns)
    yield _study(test, "cohorts apart", {"site": True}, covariates=["age", "site"], cohort_sums=True)


def _on_tables() -> Iterator[Study]:
    asked = {"quantiles": [0.0, 0.05, 1 / 3, 0.5, 0.99], "elements": [1, 2, 17, -3, -1]}
    for method in ("z-score", "min-max", "robust", "yeo-johnson", "quantiles", "summary"):
        options = asked if method == "quantiles" else {}
        for cohorts, people in ((3, 80), (4, 400)):
            name = f"{method}: {cohorts} tables of {people} rows"
            yield Study(name, method, options, cohorts, people=people)


STUDIES = (*_on_variants(), *_on_tables())


def files_of(study: Study) -> Iterator[tuple[str, bytes]]:
    """The names of a study's result files, and what is in them."""
    panel, cohorts, plan = (_of_variants if study.test in TESTS else _of_tables)(study)
    test = check(plan)
    tables = run.run(plan, panel, cohorts)
    for file in plan.files:
        out = io.BytesIO()
        test.files[file](out, panel, test.columns_for(file, tables), plan)
        yield test.file_name(file, plan), out.getvalue()


def _plan(study: Study, **fields: Any) -> Plan:
    base = {
        "test": study.test,
        "cohorts": study.cohorts,
        "compensator_key": bytes(32).hex(),
        **usual(study.test),
    }
    return Plan.from_json({**base, **study.plan, **fields})


def _of_tables(study: Study) -> tuple[Panel, Sequence[Any], Plan]:
    random = np.random.default_rng([study.cohorts, study.people])
    shapes = (
        lambda n: random.normal(37, 0.6, n),
        lambda n: random.lognormal(2, 1.5, n),
        lambda n: random.integers(0, 9, n).astype(float),
        lambda n: random.normal(size=n) * 1e-9 - 4e-7,
        lambda n: -random.exponential(3e5, n),
    )
    tables = []
    for _ in range(study.cohorts):
        values = np.column_stack([shape(study.people) for shape in shapes])
        values[random.random(values.shape) < 0.04] = np.nan
        tables.append(ArrayTable(values))
    schema = [{"name": f"feature {k}", "unit": "mmol/l"} for k in range(len(shapes))]
    return Panel.of([]), tables, _plan(study, schema=schema)


def _of_variants(study: Study) -> tuple[Panel, Sequence[Any], Plan]:
    panel = _panel(study)
    random = np.random.default_rng([*study.name.encode()])
    frequency = random.uniform(0.02, 0.6, len(panel))
    cohorts = [_cohort(study, panel, frequency, random, first=k == 0) for k in range(study.cohorts)]
    listed = {"panel_mode": "list", "panel_digest": panel.digest.hex()} if study.listed else {}
    named = {"phenotype": "trait", "min_samples": 1, "min_per_class": 0, "chunk_size": 97, **listed}
    return panel, cohorts, _plan(study, **{**named, **study.plan})


def _panel(study: Study) -> Panel:
    pairs = ((b"A", b"G"), (b"C", b"T"), (b"AT", b"A"), (b"0", b"C"))
    chromosomes = np.sort(np.resize(study.places, VARIANTS))
    return Panel.of((c, 1000 + 37 * k, b"rs%d" % k, *pairs[k % 4]) for k, c in enumerate(chromosomes))


def _cohort(
    study: Study, panel: Panel, frequency: np.ndarray, random: np.random.Generator, first: bool
) -> ArrayCohort:
    n, m = study.people + 3 * first, len(panel)
    sex = random.choice([MALE, FEMALE, UNKNOWN_SEX], n, p=[0.48, 0.48, 0.04]).astype(np.uint8)
    copies = random.binomial(2, frequency[:, None], (m, n))
    on_x_or_y, on_mt = (np.isin(panel.chromosome, place)[:, None] for place in ((X, Y), MT))
    copies[on_mt | (on_x_or_y & (sex == MALE))] &= ~1
    missing = random.random((m, n)) < np.where(np.arange(m) % 3, 0, 0.07)[:, None]
    genotypes = np.where(missing, -1, copies).astype(np.int8)
    covariates = _covariates(study, n, random, first)
    risk = (copies[:5] - 1.0).sum(axis=0) * 0.4 + random.normal(size=n)
    trait = 120 + 9 * risk if study.test == "linear" else (risk > 0).astype(float)
    trait[random.random(n) < 0.03] = np.nan
    kept = missing.mean(axis=0) <= study.plan.get("mind", 1)
    samples = Samples(trait, sex, random.random(n) < 0.8, kept, covariates)
    return ArrayCohort(samples, genotypes, random.random(m) < 0.5)


def _covariates(study: Study, n: int, random: np.random.Generator, first: bool) -> np.ndarray:
    columns = []
    for covariate in study.plan.get("covariates", []):
        if covariate == SMOKER:
            level = random.integers(0, 3, n)
            columns += [level == 1, level == 2]
        elif covariate == "site":
            columns.append(np.full(n, first))
        else:
            columns.append(random.normal(60, 11, n) if covariate == "age" else random.normal(0, 0.02, n))
    values = np.column_stack([np.asarray(column, float) for column in columns] or [np.zeros((n, 0))])
    values[random.random(values.shape) < 0.02] = np.nan
    return values


def lines() -> Iterator[str]:
    """A line for each study and file."""
    for study in STUDIES:
        for name, content in files_of(study):
            yield f"{study.name}\t{name}\t{hashlib.sha256(content).hexdigest()}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare result files with earlier ones.")
    parser.add_argument("--out", type=Path, help="write the lines here")
    parser.add_argument("--against", type=Path, help="compare with these lines")
    chosen = parser.parse_args()
    found = list(lines())
    if chosen.out:
        chosen.out.write_text("".join(f"{line}\n" for line in found))
    if chosen.against:
        before = chosen.against.read_text().splitlines()
        differing = sorted(set(found) ^ set(before))
        for line in differing:
            print("now   " if line in found else "before", line)
        print(f"{len(STUDIES)} studies, {len(found)} files: {len(differing) or 'no'} lines differ")
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()
