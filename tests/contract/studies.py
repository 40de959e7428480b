"""A small study of every algorithm, in which each kind of its questions is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from unpooled.asking.cohort import FEMALE, MALE, UNKNOWN_SEX, ArrayCohort, ArrayTable, Samples
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods import ALGORITHMS, FITS, METHODS, check, usual, with_chunks
from unpooled.methods.algorithm import Method
from unpooled.methods.genes.options import MASKS
from unpooled.methods.learning.design import MOST_COLUMNS
from unpooled.methods.learning.models import (
    CLASSES,
    LOCAL_UPDATES,
    MODELS,
    OF_CLASSES,
    PRIVATE_NETWORK,
    PRIVATE_RIDGE,
)
from unpooled.methods.learning.reading import Examples
from unpooled.methods.phenotypes import required
from unpooled.methods.shared.conditions import conditioned
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.tables.encoding.coding import coded
from unpooled.panel.panel import Panel
from unpooled.plan import common_options as options
from unpooled.plan.categories import Words
from unpooled.plan.common_options import (
    BITS,
    COMPONENTS,
    CONDITION,
    LOCO,
    MIND,
    OPENS,
    PHENOTYPES,
    SUMS,
)
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.plan.result_files import CLUMPED, SPA, SUMS_FILE, SUSIE
from unpooled.plan.schema import CATEGORY, IMAGE, OUTCOME, Column

from ..one_more.one_more_test import ONE_MORE

OF_IMAGES = tuple(name for name, model in MODELS.items() if model.of_images)
COHORTS, PEOPLE = 3, 60
CHROMOSOMES = (1, 22, 23, 24, 26)
EACH = 7
COVARIATES = (Covariate("age"), Covariate("smoker", ("never", "once", "now")))
SITE = Covariate("site", ("elsewhere", "here"))
"""Tells the first cohort from the others."""
NOBODY = Panel.of([])


@dataclass(frozen=True, eq=False)
class Small:
    """A study with its data."""

    plan: Plan
    panel: Panel
    cohorts: Sequence[Any]

    @property
    def test(self) -> Method:
        return ALGORITHMS[self.plan.test]


SET_LIST = "one 1 1 rs1_0,rs1_1,rs1_2,rs1_3,nobody's\ntwo 22 1 rs22_1,rs22_4,rs1_3,rs23_1\n"


MASKED = {
    "annotations": "rs1_0 one LoF 2\nrs1_1 one missense 0.5\nrs1_3 one missense 1\nrs22_1 two LoF 3\n"
    "rs22_4 two missense 0\n",
    "masks": "damaging LoF,missense\nLoF LoF\n",
    "set_weights": "own",
}


def of_variants(test: str, odd: bool = False, **changes: Any) -> Small:
    """Chunks of four variants, some of them ties: two that are fitted, and two that only filters see.

    `odd`: whether some people are no founders or of unknown sex, and calls and covariates are missing at
    random.
    """
    plan = Plan(
        **{
            "test": test,
            "phenotype": "y",
            "cohorts": COHORTS,
            "compensator_key": NO_KEY,
            "trait": ALGORITHMS[test].traits[0],
            **({"set_list": SET_LIST, "max_maf": 0.5} if test == "gene-tests" else {}),
            **({} if test in ("chi-square", "prune", "ld-matrix", "pca") else {"covariates": COVARIATES}),
            **({"few_studies": True} if test in ("linear", "logistic") else {}),
            **({"cohorts": 5} if test == "pca" else {}),  # without one of them people allow enough rounds
            **({"frequency_flags": True} if test in ("chi-square", "linear", "logistic") else {}),
            "files": tuple(file for file in ALGORITHMS[test].files if file not in (SUSIE, SPA)),
            "chunk_size": 4,
            "hwe": 1e-20,
        }
        | changes
    )
    panel = panel_of(CHROMOSOMES)
    cohorts = [conditioned(required(cohort, plan), panel, plan) for cohort in _cohorts(plan, panel, odd)]
    return Small(with_chunks(plan), panel, cohorts)


def panel_of(chromosomes: Sequence[int]) -> Panel:
    return Panel.of([(c, 1 + k, b"rs%d_%d" % (c, k), b"A", b"G") for c in chromosomes for k in range(EACH)])


def _cohorts(plan: Plan, panel: Panel, odd: bool) -> list[ArrayCohort]:
    random = np.random.default_rng(7)
    n, m = plan.cohorts * PEOPLE, len(panel)
    copies = random.binomial(2, random.uniform(0.2, 0.5, m)[:, None], (m, n)).astype(np.int8)
    copies[4:, ::17] = -1
    copies[:2] = 1
    copies[2:4] = np.arange(n) % 3
    if MASKS.of(plan):  # one after the other too few carry the first two, together enough
        copies[:2] = np.arange(n) % 12 == np.arange(2)[:, None]
    near = copies.astype(np.int64) * COPY + np.random.default_rng(9).integers(0, 99, (m, n)) * (1 - copies)
    dosages = np.where(copies < 0, NO_DOSAGE, near).astype(np.uint16)
    risk = 0.6 * copies[3] + random.normal(size=n)
    phenotype = risk if plan.trait == "quantitative" else (risk > np.median(risk)).astype(float)
    phenotype[::29] = np.nan
    age, smoker = random.normal(50, 9, n), random.integers(0, 3, n)
    given = len(plan.covariate_columns) - len(CONDITION.of(plan)) - COMPONENTS.of(plan) - LOCO.of(plan)
    covariates = np.column_stack([age, smoker == 1, smoker == 2]).astype(float)[:, :given]
    if SITE in options.COVARIATES.of(plan):
        covariates[:, -1] = np.arange(n) < PEOPLE
    sex = random.choice([MALE, FEMALE], n).astype(np.uint8)
    founders, everyone = np.ones(n, bool), np.ones(n, bool)
    if odd:
        sex[::23], founders[::5] = UNKNOWN_SEX, False
        copies[::3][random.random(copies[::3].shape) < 0.07] = -1
        covariates[random.random(covariates.shape) < 0.02] = np.nan
        everyone = (copies < 0).mean(axis=0) <= MIND.of(plan)
    samples = [phenotype, sex, founders, everyone, covariates]
    further = [_another(phenotype, number) for number, _ in enumerate(PHENOTYPES.of(plan))]
    return [
        ArrayCohort(
            Samples(
                *(part[k : k + PEOPLE] for part in samples),
                further=tuple(values[k : k + PEOPLE] for values in further),
            ),
            copies[:, k : k + PEOPLE],
            random.random(m) < 0.5,
            dosages[:, k : k + PEOPLE] if DOSAGES.of(plan) and k else None,
        )
        for k in range(0, n, PEOPLE)
    ]


def _another(phenotype: np.ndarray, number: int) -> np.ndarray:
    """Another phenotype of the same kind, that twenty further people lack: of each number others."""
    known = np.random.default_rng(100).permutation(np.flatnonzero(~np.isnan(phenotype)))
    found = np.full(len(phenotype), np.nan)
    found[known] = np.random.default_rng(101 + number).permutation(phenotype[known])
    found[known[20 * number : 20 * (number + 1)]] = np.nan
    return found


def plan_of(test: str, schema: Sequence[Column], cohorts: int, **changes: Any) -> Plan:
    """A plan of tables in which whatever is not said is as usual."""
    named: dict[str, Any] = {
        "test": test, "cohorts": cohorts, "compensator_key": NO_KEY, "schema": tuple(schema), **usual(test)
    }  # fmt: skip
    plan = Plan(**{**named, **changes})
    check(plan)
    return plan


def nothing_said(test: str, **said: Any) -> Plan:
    """The plan of somebody who types nothing but what it is about, and this."""
    ward = {"name": "ward", "type": CATEGORY, "encoding": "one-hot", "levels": ["a", "b"]}
    classes = {"type": CATEGORY, "levels": ["no", "yes"]} if test in OF_CLASSES else {}
    if test in OF_IMAGES:
        images = {"name": "file", "type": IMAGE, "encoding": "1x8x8"}
        died = {"name": "died", "role": OUTCOME, "type": CATEGORY, "levels": ["no", "yes"]}
        said = {"schema": [images, died], **said}
    limits = {"low": 0, "high": 1} if test in (PRIVATE_NETWORK, PRIVATE_RIDGE) else {}
    outcome = [{"name": "died", "role": OUTCOME, **(classes or limits)}] if test in FITS else []
    glucose = {"name": "glucose", **limits}
    usual_needs = {"ld-matrix": {"region": "6:1-9"}, "gene-tests": {"set_list": SET_LIST}}
    about: dict[str, Any] = {"phenotype": "asthma", **usual_needs.get(test, {})}
    if test in METHODS:
        about = {"schema": [ward if METHODS[test].column_type == CATEGORY else glucose, *outcome]}
    named = {"test": test, "cohorts": COHORTS, "compensator_key": NO_KEY.hex()}
    return Plan.from_json({**usual(test), **named, **about, **said})


def of_tables(method: str, **changes: Any) -> Small:
    """A table of six features of different shapes: some with missing values, with ties, very small, large."""
    random = np.random.default_rng(8)
    lognormal = random.lognormal(size=(COHORTS, 40, 3)) - [300, 0, 0]
    ties, tiny = random.integers(0, 9, (COHORTS, 40)), random.normal(size=(COHORTS, 40)) * 1e-9 - 4e-7
    values = np.dstack([lognormal, ties, tiny, -random.exponential(3e5, (COHORTS, 40))])
    values[:, ::11, 1] = np.nan
    if method == "quantiles":
        changes |= {"quantiles": (0.0, 0.05, 1 / 3, 0.5, 0.99), "elements": (1, 2, 17, -3, -1)}
    columns = [Column(f"feature {k}", unit="mmol/l") for k in range(values.shape[2])]
    plan = plan_of(method, columns, COHORTS, **{OPENS.name: SUMS} | changes)
    return Small(plan, NOBODY, [ArrayTable(part) for part in values])


def of_limited_tables(method: str) -> Small:
    """Two columns with their limits, of which one has missing values; their sums have noise."""
    columns = [Column("age", unit="years", low=0.0, high=100.0), Column("change", low=-4.0, high=4.0)]
    random, parts = np.random.default_rng(8), []
    for _ in range(COHORTS):
        values = np.column_stack([random.uniform(20, 90, 400), np.clip(random.normal(size=400), -4, 4)])
        values[::11, 1] = np.nan
        parts.append(ArrayTable(values))
    return _with_secrets(Small(plan_of(method, columns, COHORTS, epsilon=3.0), NOBODY, parts))


def rows_of(table: ArrayTable, rows: slice) -> ArrayTable:
    """Some rows of a table, its words read as before."""
    of = table.categories
    coded = replace(of, levels=of.levels[rows], targets=of.targets[rows], folds=of.folds[rows])
    words = {title: Words(found.codes[rows], found.values) for title, found in table.words.items()}
    found = replace(table, values=table.values[rows], words=words, coded=coded)
    if not isinstance(found, Examples):
        return found
    patients = None if found.patients is None else found.patients[rows]
    images = None if found.images is None else found.images[rows]
    return replace(
        found, classes=found.classes[rows], patients=patients, folds=found.folds[rows], images=images
    )


def table_of(plan: Plan, cells: Mapping[str, Any], images: np.ndarray | None = None) -> ArrayTable:
    """A cohort's table as its client would have read it, from its columns by title."""
    method = check(plan)
    columns = [np.asarray(cells[feature.title], float) for feature in plan.features]
    values = np.column_stack(columns) if columns else np.empty((len(next(iter(cells.values()))), 0))
    words = {c.title: Words.of(cells[c.title]) for c in plan.schema if method.reads_words(c)}
    return method.prepared(ArrayTable(values, words, images=images), plan)


def of_model(
    method: str,
    outcome: str = "number",
    nobodys: int = 1,
    scalings: tuple[str, str] = ("", ""),
    **options: Any,
) -> Small:
    """Two numbers, three categories with levels that nobody has, and patients of two rows each."""
    levels = ("a", "b", "c", *(f"nobody's {k}" for k in range(nobodys)))
    words = [
        Column(f"words {k}", "category", "", encoding, levels)
        for k, encoding in enumerate(("one-hot", "ordinal", "frequency"))
    ]
    columns = [*words, Column("id", "text", role="patient")]
    files = tuple(file for file in ALGORITHMS[method].files if nobodys == 1 or file != SUMS_FILE)
    classes = {} if outcome == "number" else {"type": "category", "levels": tuple(outcome.split("|"))}
    numbers = [Column(f"x{k}", encoding=scaling) for k, scaling in enumerate(scalings)]
    schema = [*numbers, *columns, Column("y", role="outcome", **classes)]
    more: dict[str, Any] = {"validation_folds": 2, "files": files, "missing_words": "rest", **options}
    if nobodys > 1:  # large penalties are solved in the few rounds that so few people allow
        more["penalties"] = (1e3, 1e4)
    plan = plan_of(method, schema, COHORTS + 1, **more)
    random, tables = np.random.default_rng(9), []
    for cohort in range(plan.cohorts):
        x = random.normal(size=(400, 2))
        y = (
            x.sum(axis=1) + random.normal(size=400)
            if outcome == "number"
            else random.choice(outcome.split("|"), 400)
        )
        cells = {"x0": x[:, 0], "x1": x[:, 1], "y": y, "id": [f"{cohort}-{k // 2}" for k in range(400)]}
        cells |= {column.title: random.choice([*"abcd", ""], 400).tolist() for column in words}
        if nobodys == 1:
            cells[words[2].title] = ["d", *random.choice([*"abc"], 399).tolist()]  # few have another
        tables.append(table_of(plan, cells))
    return _with_secrets(Small(plan, NOBODY, tables))


def of_limits(outcome: str = "number", **options: Any) -> Small:
    """Two numbers with their limits, a category, and patients of two rows each.

    The cohorts' secrets are always the same, and so is the noise.
    """
    classes = {} if outcome == "number" else {"type": "category", "levels": tuple(outcome.split("|"))}
    limits = {"low": -5.0, "high": 5.0}
    schema = [
        *(Column(title, **limits) for title in ("x0", "x1")),
        Column("words", "category", "", "one-hot", ("a", "b")),
        Column("id", "text", role="patient"),
        Column("y", role="outcome", **(classes or limits)),
    ]
    more = {"missing_words": "rest", "people_in_a_round": 100, **options}
    plan, random, tables = plan_of(PRIVATE_NETWORK, schema, COHORTS, **more), np.random.default_rng(9), []
    for cohort in range(plan.cohorts):
        x = random.uniform(-5, 5, (300, 2))
        y = x[:, 1] if outcome == "number" else random.choice(outcome.split("|"), 300)
        cells = {"x0": x[:, 0], "x1": x[:, 1], "y": y, "id": [f"{cohort}-{k // 2}" for k in range(300)]}
        words = random.choice(["a", "b", "c", ""], 300).tolist()
        tables.append(table_of(plan, {**cells, "words": words}))
    return _with_secrets(Small(plan, NOBODY, tables))


def of_noisy_products() -> Small:
    """Two numbers and an outcome with their limits; the noise is always the same."""
    limits = {"low": -5.0, "high": 5.0}
    schema = [*(Column(title, **limits) for title in ("x0", "x1")), Column("y", role="outcome", **limits)]
    plan, random, tables = plan_of(PRIVATE_RIDGE, schema, COHORTS, epsilon=3.0), np.random.default_rng(9), []
    for _ in range(plan.cohorts):
        x = random.uniform(-5, 5, (300, 2))
        tables.append(table_of(plan, {"x0": x[:, 0], "x1": x[:, 1], "y": x[:, 1]}))
    return _with_secrets(Small(plan, NOBODY, tables))


def _with_secrets(one: Small) -> Small:
    """The study with secrets of its cohorts that are always the same, by which they draw."""
    tables = [replace(table, secret=bytes([k]) * 32) for k, table in enumerate(one.cohorts)]
    return replace(one, cohorts=tables)


_SHORT: Mapping[str, Any] = {"training_rounds": 2, "learning_rate": 0.001}


def of_images(method: str, outcome: str = "u|v", **options: Any) -> Small:
    """Images of eight by eight pixels, two of each patient; a test is skipped where no torch is installed."""
    if not find_spec("torch"):
        pytest.skip("networks of images are trained by torch: networks/README.md")
    levels = tuple(outcome.split("|"))
    schema = [
        Column("file", IMAGE, encoding="1x8x8"),
        Column("id", "text", role="patient"),
        Column("y", CATEGORY, role=OUTCOME, levels=levels),
    ]
    plan = plan_of(method, schema, COHORTS, **{"people_in_a_round": 100, **_SHORT, **options})
    random, tables = np.random.default_rng(9), []
    for cohort in range(plan.cohorts):
        images = random.integers(0, 256, (200, 1, 8, 8)).astype(np.uint8)
        y = [levels[k % len(levels)] for k in (images.mean(axis=(1, 2, 3)) * 8).astype(int).tolist()]
        cells = {"id": [f"{cohort}-{k // 2}" for k in range(200)], "y": y, "file": list(map(str, range(200)))}
        table = table_of(plan, cells, images)
        tables.append(replace(table, secret=bytes([cohort]) * 32))
    return Small(plan, NOBODY, tables)


def of_words(*encodings: str, few: bool = False, **searched: Any) -> Small:
    """Columns of words by these encodings; one that is encoded by a target in folds.

    `few`: whether only one person of a cohort has a word that is not listed. `searched`: what the first and
    the fourth have in place of a list of their values.
    """
    levels = ("a", "b", "c", "nobody's")
    columns = [
        Column(f"words {k}", "category", "", encoding, () if encoding in ("hash:4", "ngrams:4") else levels)
        for k, encoding in enumerate(encodings)
    ]
    for k in (0, 3) if searched else ():
        columns[k] = replace(columns[k], levels=(), **searched)
    plan = plan_of("encode", [*columns, Column("y")], COHORTS, folds=2)
    random = np.random.default_rng(9)
    tables = []
    for _ in range(COHORTS):
        others, n = ("d", 1) if few else ("", 0)
        drawn = [*"abc"] if few else [*"abcd", ""]
        words = {c.title: [*others, *random.choice(drawn, 400 - n).tolist()] for c in columns}
        tables.append(table_of(plan, {**words, "y": random.normal(5, 2, 400)}))
    return Small(plan, NOBODY, coded(tables, plan))


_ENCODINGS = ("one-hot", "ordinal", "frequency", "target:y", "hash:4")

# Neither GWAS-SSF, which has effects per copy only, nor the cohorts' own estimates, likewise.
_OF_DOSAGES = ("glm", "ssf")

_OF_SETS = ("assoc", CLUMPED, SUSIE)

_OF_PLINK = ("assoc", "glm", "adjusted", "frq", "lmiss", "hwe")

_SMALL = (0.01, 0.02)
"""Shares of variance that take few rounds."""

STUDIES: dict[str, Callable[[], Small]] = {
    "chi-square": lambda: of_variants("chi-square"),
    "linear, exact": lambda: of_variants("linear", missing="exact"),
    "linear, mean": lambda: of_variants("linear", missing="mean"),
    "linear, of credible sets": lambda: of_variants("linear", files=_OF_SETS),
    "linear, of conditions": lambda: of_variants("linear", condition=("rs1_3", "rs22_1"), files=_OF_PLINK),
    "linear, of dosages": lambda: of_variants("linear", missing="exact", dosages=True, files=_OF_DOSAGES),
    "linear, of dosages, mean": lambda: of_variants(
        "linear", dosages=True, hwe=0, phenotypes=("z",), require_pheno=True, files=("ssf",)
    ),
    "linear, apart": lambda: of_variants("linear", cohorts=4, cohorts_apart=True, missing="exact"),
    "linear, apart, of dosages and phenotypes, mean": lambda: of_variants(
        "linear", cohorts=4, cohorts_apart=True, dosages=True, phenotypes=("z",), files=_OF_DOSAGES
    ),
    "linear, apart, beside components": lambda: of_variants(
        "linear", cohorts=4, cohorts_apart=True, components=2, condition=("rs1_3",), files=_OF_PLINK
    ),
    "logistic, of dosages": lambda: of_variants("logistic", missing="exact", dosages=True, files=_OF_DOSAGES),
    "logistic, of dosages, mean": lambda: of_variants("logistic", dosages=True, files=_OF_DOSAGES),
    "logistic, apart": lambda: of_variants(
        "logistic", cohorts=4, cohorts_apart=True, missing="exact", files=_OF_PLINK
    ),
    "logistic, apart, of dosages and conditions, mean": lambda: of_variants(
        "logistic", cohorts=4, cohorts_apart=True, dosages=True, condition=("rs1_2",), files=_OF_DOSAGES
    ),
    "linear, of dosages and conditions": lambda: of_variants(
        "linear", missing="exact", dosages=True, condition=("rs1_2", "rs1_5"), files=_OF_DOSAGES
    ),
    "linear, of dosages, beside components": lambda: of_variants(
        "linear", cohorts=5, components=2, dosages=True, files=("glm",)
    ),
    "logistic, of dosages and conditions": lambda: of_variants(
        "logistic", dosages=True, condition=("rs1_2",), hwe=0, files=_OF_DOSAGES
    ),
    "linear, of dosages, genotypic": lambda: of_variants(
        "linear", missing="exact", dosages=True, genotype_model="genotypic", files=("glm",)
    ),
    "linear, of dosages and own estimates": lambda: of_variants("linear", dosages=True, files=("meta",)),
    "logistic, of dosages, hetonly with interaction": lambda: of_variants(
        "logistic", dosages=True, genotype_model="hetonly", interaction=("age",), files=("glm",)
    ),
    "logistic, of dosages and own estimates": lambda: of_variants(
        "logistic", missing="exact", dosages=True, files=("glm", "meta")
    ),
    "logistic, exact": lambda: of_variants("logistic", missing="exact", firth="firth"),
    "logistic, of credible sets": lambda: of_variants(
        "logistic", missing="exact", clump_p1=0.05, files=_OF_SETS
    ),
    "logistic, of credible sets and phenotypes": lambda: of_variants(
        "logistic", clump_p1=0.05, phenotypes=("z",), files=_OF_SETS
    ),
    "logistic, of a saddlepoint": lambda: of_variants("logistic", files=("assoc", SPA)),
    "logistic, of a saddlepoint of dosages": lambda: of_variants(
        "logistic", dosages=True, files=("glm", SPA)
    ),
    "logistic, followed": lambda: of_variants("logistic", files=_OF_PLINK),
    "linear, dominant": lambda: of_variants("linear", genotype_model="dominant", files=_OF_PLINK),
    "linear, interaction": lambda: of_variants(
        "linear", interaction=("age",), missing="exact", files=_OF_PLINK
    ),
    "linear, joint test": lambda: of_variants(
        "linear", interaction=("age",), joint_test=True, files=_OF_PLINK
    ),
    "linear, robust": lambda: of_variants(
        "linear", interaction=("age",), joint_test=True, robust=True, files=_OF_PLINK
    ),
    "linear, robust with clumps and phenotypes": lambda: of_variants(
        "linear", robust=True, loco=True, phenotypes=("z",), missing="exact", files=("assoc", CLUMPED)
    ),
    "logistic, robust": lambda: of_variants(
        "logistic", robust=True, interaction=("age",), files=("assoc", "glm", CLUMPED)
    ),
    "logistic, interaction": lambda: of_variants("logistic", interaction=("age",), files=_OF_PLINK),
    "logistic, recessive": lambda: of_variants("logistic", genotype_model="recessive", files=_OF_PLINK),
    "logistic, genotypic with interaction": lambda: of_variants(
        "logistic",
        genotype_model="genotypic",
        interaction=("age", "smoker"),
        missing="exact",
        files=_OF_PLINK,
    ),
    "logistic, of conditions": lambda: of_variants(
        "logistic", missing="exact", condition=("rs1_2",), files=_OF_PLINK
    ),
    "chi-square, of phenotypes": lambda: of_variants("chi-square", phenotypes=("z",)),
    "linear, of phenotypes": lambda: of_variants(
        "linear", missing="exact", phenotypes=("z", "x"), files=_OF_PLINK
    ),
    "linear, of phenotypes of the same people": lambda: of_variants(
        "linear", missing="exact", phenotypes=("z", "x"), require_pheno=True, files=_OF_PLINK
    ),
    "linear, of phenotypes of the same people, mean": lambda: of_variants(
        "linear",
        phenotypes=("z",),
        require_pheno=True,
        missing="mean",
        genotype_model="genotypic",
        interaction=("age",),
        condition=("rs1_3",),
        files=_OF_PLINK,
    ),
    "logistic, of phenotypes": lambda: of_variants(
        "logistic", phenotypes=("z",), condition=("rs1_2",), files=_OF_PLINK
    ),
    "linear, of normal scores": lambda: of_variants("linear", cohorts=5, rint=True, files=_OF_PLINK),
    "linear, of normal scores of phenotypes": lambda: of_variants(
        "linear", cohorts=5, rint=True, phenotypes=("z",), require_pheno=True, files=("assoc",)
    ),
    "linear, of normal scores beside predictions": lambda: of_variants(
        "linear", cohorts=5, rint=True, loco=True, phenotypes=("z",), files=("assoc",)
    ),
    "prune": lambda: of_variants("prune", indep_pairwise="5 1 0.05"),
    "prune, of everyone": lambda: of_variants("prune", indep_pairwise="5 1 0.05", nonfounders=True),
    "prune, by kilobases": lambda: of_variants("prune", indep_pairwise="1kb 0.2"),
    "ld-matrix": lambda: of_variants("ld-matrix", region="1:2-7"),
    "ld-matrix, of everyone": lambda: of_variants("ld-matrix", region="22:1-7", nonfounders=True),
    "linear, beside predictions": lambda: of_variants(
        "linear", loco=True, prune_predictions="3 1 0.9", nonfounders=True, missing="exact", files=_OF_PLINK
    ),
    "linear, of dosages beside predictions": lambda: of_variants(
        "linear", loco=True, dosages=True, hwe=0, files=_OF_DOSAGES
    ),
    "logistic, beside predictions": lambda: of_variants(
        "logistic", loco=True, phenotypes=("z",), require_pheno=True, files=("assoc", "glm", "clumped")
    ),
    "logistic, of credible sets beside predictions": lambda: of_variants(
        "logistic", loco=True, clump_p1=0.05, files=_OF_SETS
    ),
    "logistic, of a saddlepoint and phenotypes beside predictions": lambda: of_variants(
        "logistic", loco=True, phenotypes=("z",), require_pheno=True, files=("assoc", CLUMPED, SPA)
    ),
    "linear, beside components": lambda: of_variants(
        "linear", cohorts=5, components=2, prune_components="3 1 0.9", nonfounders=True, files=_OF_PLINK
    ),
    "logistic, beside components": lambda: of_variants(
        "logistic", cohorts=4, components=2, condition=("rs1_2",), phenotypes=("z",), files=_OF_PLINK
    ),
    "pca": lambda: of_variants("pca", pca=3),
    "pca, of dosages": lambda: of_variants("pca", pca=3, dosages=True, mach_r2_filter=0.1, hwe=0),
    "pca, pruned": lambda: of_variants("pca", pca=2, prune_components="3 1 0.9"),
    "pca, of everyone": lambda: of_variants("pca", pca=2, nonfounders=True, prune_components="3 1 0.9"),
    "gene-tests": lambda: of_variants("gene-tests"),
    "gene-tests, of normal scores": lambda: of_variants("gene-tests", cohorts=5, rint=True),
    "gene-tests, of cases": lambda: of_variants("gene-tests", trait="case/control"),
    "gene-tests, of masks": lambda: of_variants("gene-tests", **MASKED),
    "gene-tests, of dosages": lambda: of_variants("gene-tests", dosages=True, mach_r2_filter=0.1),
    "gene-tests, of dosages of cases": lambda: of_variants(
        "gene-tests", trait="case/control", dosages=True, condition=("rs1_2",), hwe=0
    ),
    "gene-tests, of conditions": lambda: of_variants("gene-tests", condition=("rs1_2",)),
    "gene-tests, beside components": lambda: of_variants(
        "gene-tests", cohorts=5, components=2, phenotypes=("z",)
    ),
    "polygenic": lambda: of_variants("polygenic", held_out=2, shares=_SMALL),
    "polygenic, of dosages": lambda: of_variants("polygenic", held_out=2, shares=_SMALL, dosages=True),
    "polygenic, of cases": lambda: of_variants("polygenic", held_out=2, shares=_SMALL, trait="case/control"),
    **{
        method: lambda method=method: of_tables(method)  # type: ignore[misc]
        for method in METHODS
        if method != "encode" and method not in FITS
    },
    **{
        method: lambda method=method: of_model(method)  # type: ignore[misc]
        for method in FITS
        if method not in OF_CLASSES and not MODELS[method].is_network
    },
    **{
        f"{method}, with noise": lambda method=method: of_limited_tables(method)  # type: ignore[misc]
        for method in ("z-score", "summary")
    },
    "network": lambda: of_model("network", training_rounds=3),
    "private-network": lambda: of_limits("u|v", epsilon=3.0, training_rounds=3),
    "private-network, of a number": lambda: of_limits(epsilon=3.0, training_rounds=2, taking_part=0.7),
    "private-ridge": of_noisy_products,
    # A second round would draw other batches where a last bit of the weights is another.
    "local-updates": lambda: of_model(LOCAL_UPDATES, training_rounds=1),
    "local-updates, of all rows": lambda: of_model(
        LOCAL_UPDATES, "u|v", training_rounds=2, local_algorithm="fedavg", weight_decay=0.01
    ),
    "network, of two classes": lambda: of_model("network", "u|v", training_rounds=4, optimizer="lbfgs"),
    "network, of three classes": lambda: of_model(
        "network", "u|v|w", training_rounds=2, optimizer="sgd", momentum=0.9, hidden="4,3", activation="mish"
    ),
    "image-network": lambda: of_images("image-network", training_rounds=3),
    "image-network, of three classes": lambda: of_images("image-network", "u|v|w", optimizer="sgd"),
    "private-image-network": lambda: of_images("private-image-network", epsilon=8.0),
    "image-local-updates": lambda: of_images("image-local-updates", patience=0, batch_rows=1_000),
    "ridge, of classes": lambda: of_model("ridge", "u|v|w"),
    "lasso, of two classes": lambda: of_model("lasso", "u|v"),
    "fedheonn": lambda: of_model("fedheonn", "u|v|w"),
    "fedheonn, softplus": lambda: of_model("fedheonn", "u|v|w", outputs="softplus"),
    "ridge, of very many columns": lambda: of_model("ridge", nobodys=MOST_COLUMNS),
    "fedheonn, of very many columns": lambda: of_model("fedheonn", "u|v", nobodys=MOST_COLUMNS),
    "logistic-model": lambda: of_model("logistic-model", "u|v"),
    "logistic-model, of three classes": lambda: of_model("logistic-model", "u|v|w"),
    **{
        f"{method}, scaled": lambda model=model: of_model(  # type: ignore[misc]
            model.name,
            "u|v" if model.outcome == CLASSES else "number",
            scalings=("yeo-johnson", "robust"),
            **({"training_rounds": 3} if model.is_network else {}),
        )
        for method, model in MODELS.items()
        if "robust" in METHODS[method].scalings
    },
    **{
        f"{method}, by bits": lambda method=method: of_tables(method, opens=BITS)  # type: ignore[misc]
        for method, test in METHODS.items()
        if OPENS in test.options
    },
    "encode": lambda: of_words(*_ENCODINGS),
    "encode, of searched words": lambda: of_words(*_ENCODINGS, most=8),
    "encode, without a target": lambda: of_words("one-hot"),
    "encode, of few others": lambda: of_words("one-hot", few=True),
    "encode, without a dictionary": lambda: of_words("ngrams:4"),
}

EVERY = STUDIES | {"one more": lambda: of_variants(ONE_MORE.name)}
"""All studies, and one of a test that only these tests register."""
