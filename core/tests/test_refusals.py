"""Every refusal of a procedure names a field of the plan and a remedy, and comes as early as it can."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

import unpooled
from tests.people import cohorts_of, people
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort, ArrayTable
from unpooled.asking.driver import Running
from unpooled.errors import BoundError, Refuse
from unpooled.methods.components.procedure import refuse_unsettled
from unpooled.methods.learning.design import MOST_COLUMNS
from unpooled.methods.learning.floors import join_folds, of_missing
from unpooled.methods.learning.wide import refuse_zero
from unpooled.methods.loco.procedure import _blocks as blocks
from unpooled.methods.regression.counts import CountGenotypes
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.tables.encoding.dictionary import refuse_many
from unpooled.panel.panel import Panel
from unpooled.plan import options
from unpooled.plan.plan import NO_KEY, NONE, Covariate, Plan
from unpooled.plan.schema import Column
from unpooled.protocol.masking import scheme
from unpooled.protocol.problems import Problem
from unpooled.run import run, run_alone

NAMES = (b"v0", b"v1", b"v2", b"v3", b"v4", b"still", b"rare", b"one")
PANEL = Panel.of([*((1, k, name, b"A", b"G") for k, name in enumerate(NAMES)), (23, 1, b"x", b"A", b"G")])
EACH, COHORTS = 60, 3
NUMBERS = np.random.default_rng(5).normal(size=(COHORTS * EACH, 2))
SETS = "gene 1 1 v0,v1"
CASES = np.arange(COHORTS * EACH) % 2.0


def study(test: str, phenotype: np.ndarray, *columns: np.ndarray, alone: bool = False, **more: Any) -> None:
    """Run a study of three cohorts with this phenotype and these covariates, C1, C2 and so on."""
    named = tuple(Covariate(f"C{k + 1}") for k in range(len(columns)))
    plan = {"covariates": named} if named else {}
    trait = "quantitative" if test in ("linear", "polygenic") else "case/control"
    agreed = Plan(test, "y", COHORTS, NO_KEY, **{"trait": trait, **plan, **more})
    covariates = np.column_stack(columns) if columns else np.zeros((len(phenotype), 0))
    cohorts = [cohort_of(k, phenotype[k::COHORTS], covariates[k::COHORTS]) for k in range(COHORTS)]
    if alone:
        run_alone(agreed, PANEL, cohorts[0])
    else:
        run(agreed, PANEL, cohorts)


def few_nonfounders() -> None:
    plan = Plan("prune", "y", COHORTS, NO_KEY, indep_pairwise="5 1 0.5", nonfounders=True)
    cohorts = [cohort_of(k, A[k::COHORTS]) for k in range(COHORTS)]
    for cohort in cohorts:
        cohort.samples.founder[0] = False
    run(plan, PANEL, cohorts)


def few_women() -> None:
    plan = Plan("linear", "y", 4, NO_KEY, trait="quantitative", cohorts_apart=True)
    cohorts = [cohort_of(k, A[k::4]) for k in range(4)]
    for cohort in cohorts:
        cohort.samples.sex[0] = 2
    run(plan, PANEL, cohorts)


def cohort_of(number: int, phenotype: np.ndarray, covariates: np.ndarray | None = None) -> ArrayCohort:
    """Return a cohort with a variant that does not vary, one that few carry, and one that people of one
    cohort carry.
    """
    copies = np.random.default_rng(1).binomial(2, 0.4, (len(PANEL), len(phenotype))).astype(np.int8)
    copies[len(NAMES) - 3 : len(NAMES)] = 0
    copies[NAMES.index(b"rare"), :2] = number > 0
    copies[NAMES.index(b"one"), :20] = number == 0
    return ArrayCohort(people(phenotype, covariates), copies, np.zeros(len(PANEL), bool))


def tables(method: str, *parts: np.ndarray, **more: Any) -> None:
    schema = (Column("weight", "number", ""),)
    plan = Plan(method, "", COHORTS, NO_KEY, trait=NONE, panel_mode=NONE, schema=schema, **more)
    run(plan, Panel.of([]), [ArrayTable(part[:, None]) for part in parts])


def model(x: np.ndarray, y: Any = None, method: str = "ridge", classes: str = "number", **more: Any) -> None:
    """Fit a model of y to the columns of x, x0, x1 and so on."""
    schema = models.schema_of(x.shape[1], classes)
    plan = models.plan_of(method, schema, COHORTS, **more)
    y = A if y is None else y
    models.tables_of(plan, [models.cells_of(x[k::COHORTS], y[k::COHORTS]) for k in range(COHORTS)])


def one_large() -> None:
    """160 people and 16 columns, of whom 79 are not in the first cohort."""
    x, ends = np.random.default_rng(1).normal(size=(160, 17)), [81, 120]
    parts = [models.cells_of(part[:, :16], part[:, 16]) for part in np.split(x, ends)]
    models.tables_of(models.plan_of("ridge", models.schema_of(16), COHORTS), parts)


def large_network() -> None:
    """307 people, of whom 167 are in the first cohort: without it more than a quarter is left."""
    x, ends = np.random.default_rng(1).normal(size=(307, 5)), [167, 237]
    parts = [models.cells_of(part[:, :4], part[:, 4]) for part in np.split(x, ends)]
    plan = models.plan_of("network", models.schema_of(4), COHORTS, validation_folds=2, people_in_a_round=153)
    models.tables_of(plan, parts)


def much_noise() -> None:
    limited = [dataclasses.replace(column, low=-9.0, high=9.0) for column in models.schema_of(2)]
    more = {"epsilon": 1e-3, "delta": 1e-5, "clip": 1.0, "training_rounds": 10_000}
    plan = models.plan_of("private-network", limited, COHORTS, **more)
    models.tables_of(plan, [models.cells_of(NUMBERS[k::COHORTS], A[k::COHORTS]) for k in range(COHORTS)])


def noisy(people: int, columns: int, epsilon: float) -> None:
    """Normalize columns with noise."""
    schema = tuple(Column(f"c{k}", low=-9.0, high=9.0) for k in range(columns))
    plan = models.plan_of("z-score", schema, COHORTS, epsilon=epsilon)
    run(plan, Panel.of([]), [ArrayTable(np.ones((people, columns)))] * COHORTS)


def noisy_products(columns: int, epsilon: float) -> None:
    """Fit a ridge regression with noise to 60 people a cohort."""
    schema = [dataclasses.replace(c, low=-9.0, high=9.0) for c in models.schema_of(columns)]
    plan = models.plan_of("private-ridge", schema, COHORTS, epsilon=epsilon)
    cells = models.cells_of(np.ones((60, columns)), np.ones(60))
    models.tables_of(plan, [cells] * COHORTS)


def far_out() -> None:
    """One person has all rarer alleles of 200 variants."""
    panel = Panel.of([(1, k, f"v{k}".encode(), b"A", b"G") for k in range(200)])
    copies = np.random.default_rng(1).binomial(2, 0.2, (200, COHORTS * EACH))
    copies[:, 0] = 2
    cohorts = cohorts_of(people(CASES), copies, np.split(np.arange(COHORTS * EACH), COHORTS))
    run(Plan("pca", "y", COHORTS, NO_KEY, pca=1), panel, cohorts)


def few_turns() -> None:
    """180 people and four fits: each may be asked about in four directions."""
    ward = Column("ward", "category", "", "one-hot", tuple(f"w{k}" for k in range(MOST_COLUMNS)))
    schema, more = models.schema_of(9, "number", ward), {"penalties": (0.001,), "validation_folds": 3}
    x = np.random.default_rng(2).normal(size=(len(A), 9))
    cells = {**models.cells_of(x, A), "ward": np.full(len(A), "w1")}
    parts = [{name: of[k::COHORTS] for name, of in cells.items()} for k in range(COHORTS)]
    models.tables_of(models.plan_of("ridge", schema, COHORTS, **more), parts)


def few_missing(missing: list[int]) -> None:
    """So many rows of each fold lack a word."""
    plan = models.plan_of("ridge", models.schema_of(1), COHORTS, validation_folds=len(missing))
    join_folds(plan, [of_missing(plan, "ward", np.array(missing))])


def wide_window() -> None:
    """Prune with a window of more variants than are asked about at once."""
    of_many(4_100, "prune", indep_pairwise="5kb 0.5")


def wide_region(many: int) -> None:
    of_many(many, "ld-matrix", region="1:1-60000")


def of_many(many: int, test: str, **options: Any) -> None:
    panel = Panel.of([(1, 1 + k, b"v%d" % k, b"A", b"C") for k in range(many)])
    copies = np.random.default_rng(1).integers(0, 3, (many, 60)).astype(np.int8)
    plan = Plan(test, "y", COHORTS, NO_KEY, **options)
    run(plan, panel, cohorts_of(people(A[:60]), copies, [slice(60)] * COHORTS))


def level(people: int, cohorts: int = COHORTS) -> np.ndarray:
    """1 for so many people of so many cohorts."""
    place, cohort = np.divmod(np.arange(COHORTS * EACH), COHORTS)
    return ((place < people) & (cohort < cohorts)).astype(float)


SITE = (Covariate("site", ("a", "b")),)
A, B = NUMBERS.T
REFUSALS: dict[str, tuple[str, str, Callable[..., None], tuple[Any, ...], dict[str, Any]]] = {
    "no cases": ("phenotype", "no cases in", study, ("chi-square", 0 * CASES), {"files": ("assoc",)}),
    "no controls": ("phenotype", "no controls in", study, ("logistic", 0 * CASES + 1), {}),
    "nobody complete": ("phenotype", "nobody in the pool", study, ("linear", np.full(180, np.nan), A), {}),
    "few at a level": (
        "covariates", "fewer than 10 people in the pool have the level b", study,
        ("logistic", CASES, level(3)), {"covariates": SITE},
    ),
    "a level of one cohort": (
        "covariates", "fewer than 3 cohorts have at least 10", study,
        ("linear", A, level(20, 1)), {"covariates": SITE},
    ),
    "a code for a missing value": (
        "covariates", "C1: the values of a few people", study,
        ("linear", A, np.where(np.arange(180) == 7, -999999999.0, B)), {},
    ),
    "a constant covariate": ("covariates", "C1: the same value", study, ("logistic", CASES, 0 * A + 3), {}),
    "a constant phenotype": ("phenotype", "y: the same value", study, ("linear", 0 * A + 3, B), {}),
    "covariates of a sum": ("covariates", "C1, C2, C3 ", study, ("linear", B, A, B**2, A + B**2), {}),
    "the same in logistic": ("covariates", "C1, C2 determine", study, ("logistic", CASES, A, 3 - 2 * A), {}),
    "a condition that cohorts lack": (
        "condition", "the variant v9 is not among", study, ("linear", A), {"condition": ("v9",)},
    ),
    "a condition on X": (
        "condition", "the variant x is on X, where", study, ("logistic", CASES), {"condition": ("x",)},
    ),
    "a condition of one allele": (
        "condition", "has only one allele of the variant still", study, ("linear", A),
        {"condition": ("still",)},
    ),
    "a condition of few carriers": (
        "condition", "fewer than 10 people in the pool carry the rarer allele of the variant rare", study,
        ("linear", A), {"condition": ("v1", "rare")},
    ),
    "a condition of one cohort": (
        "condition", "fewer than 3 cohorts have at least 10 carriers", study,
        ("logistic", CASES), {"condition": ("one",)},
    ),
    "a condition that filters leave out": (
        "condition", "the variant v2 does not pass", study,
        ("linear", A), {"condition": ("v2",), "maf": 0.49},
    ),
    "predictions from one chromosome": (
        "loco", "fewer than two chromosomes have a variant", study, ("linear", A), {"loco": True},
    ),
    "normal scores of few people": (
        "rint", "the pool's values of y fall into fewer than 5 bins that have 10 people each without", study,
        ("linear", A[:90]), {"rint": True},
    ),
    "normal scores of the same value": (
        "rint", "fall into fewer than 5 bins", study, ("linear", 0 * A), {"rint": True},
    ),
    "predictions of few people": (
        "loco", "predictions from 22 chromosomes take 1,100 people, and 550 without any one cohort", blocks,
        (np.arange(1, 23), 109), {},
    ),
    "hidden by masks": (
        "masking", "Gaussian masks", study, ("linear", A, B + 1.7e9), {"masking": "gaussian"},
    ),
    "a feature of one cohort": (
        "schema", "values of weight each", tables, ("z-score", A, A[:0], B[:0]), {},
    ),
    "beyond a transform": (
        "schema", "too large for this transform", tables,
        ("yeo-johnson", *[np.linspace(1, 1.7, 40) * 1e308] * 3), {},
    ),
    "few people": (
        "validation_folds", "fewer than 15 people of a fold, however folds are joined", model,
        (NUMBERS[:19], A[:19]), {},
    ),
    "classes of few people": (
        "schema", "fewer than 15 people of a fold, however folds are joined, have the outcome b, c", model,
        (NUMBERS, np.where(np.arange(180) < 17, "b", np.where(np.arange(180) < 30, "c", "a"))),
        {"classes": "a|b|c"},
    ),
    "columns in which some stand out": (
        "schema", "x1, x4: fewer than 10 people are above, or below, the mean of all; x3: of one of two "
        "folds fewer than 15 people are above, or below, the mean of all, though in one", model,
        (np.column_stack([A, np.arange(180) == 7, B, np.arange(180) % 10 < 1, np.arange(180) > 172]),),
        {"validation_folds": 2},  # else one of five may have nobody who stands out, and is a fold by itself
    ),
    "few without a word": (
        "missing_words", "ward: so few people of a fold may lack a word", few_missing, ([5, 4],), {},
    ),
    "too many columns": (
        "schema", "180 people are too few for 19 columns", model,
        (np.random.default_rng(1).normal(size=(180, 19)),), {},
    ),
    "one cohort with nearly all of a class": (
        "schema", "the outcome b: however folds are joined, one cohort has nearly all of these people", model,
        (NUMBERS, np.where(np.arange(180) < np.tile([108, 6, 6], 60), "b", "a")),
        {"classes": "a|b"},
    ),
    "too many columns for those without one cohort": (
        "schema", "without one of the cohorts there are too few people for 16 columns", one_large, (), {},
    ),
    "columns of a sum": (
        "schema", "x0, x1, x2 determine one another", model,
        (np.column_stack([A, B, A + B]),), {"method": "linear-model"},
    ),
    "classes that features tell apart": (
        "penalties", "no maximum of the likelihood was found at the penalty 0", model,
        (np.arange(180.0)[:, None], np.where(np.arange(180) < 90, "u", "v")),
        {"method": "logistic-model", "classes": "u|v", "penalties": (0.0,), "validation_folds": 2},
    ),
    "more models than a share can hold": (
        "penalties", "so many columns, folds and penalties make shares of", model,
        (np.random.default_rng(1).normal(size=(6200, 600)), np.arange(6200) % 2),
        {"method": "logistic-model", "classes": "0|1", "validation_folds": 20},
    ),
    "a table of very many columns without a penalty": (
        "penalties", "with so many columns a penalty of 0 may not be solved", refuse_zero,
        (np.array([0, 0.1]),), {},
    ),
    "a table of very many columns and too few people": (
        "penalties", "the penalty 0.001 is not solved in 4 rounds", few_turns, (), {},
    ),
    "a network of more weights than a round should have": (
        "hidden", "the network has 1,053,697 weights", model, (NUMBERS,),
        {"method": "network", "hidden": "1024,1024"},
    ),
    "few people in a round of a network": (
        "taking_part", "fewer than 256 people are expected in a round (144), or than 64 without one",
        model, (NUMBERS,), {"method": "network"},
    ),
    "few people in a round of a network without one cohort": (
        "taking_part", "or than 39 without one of the cohorts (38)",
        large_network, (), {},
    ),
    "a learning rate with which a network diverges": (
        "learning_rate", "the fit has diverged: after", model, (NUMBERS, A + B),
        {"method": "network", "optimizer": "sgd", "learning_rate": 9.0, "people_in_a_round": 10},
    ),
    "a network that no round makes better": (
        "learning_rate", "was never lower than at the start", model, (NUMBERS, np.arange(180.0) % 7),
        {"method": "network", "learning_rate": 10.0, "people_in_a_round": 10, "patience": 2},
    ),
    "noise that no sum could bear": (
        "epsilon", "for so small an epsilon so many rounds need more noise", much_noise, (), {},
    ),
    "noise that no sum of columns could bear": (
        "epsilon", "for so small an epsilon sums over so many columns", noisy, (60, 400, 0.04), {},
    ),
    "noise that no sum of products could bear": (
        "epsilon", "products of so many columns need more noise", noisy_products, (190, 0.01), {},
    ),
    "noise as large as the products": (
        "epsilon", "noise of this epsilon is as large as the sums", noisy_products, (100, 0.1), {},
    ),
    "a spread that noise hides": (
        "epsilon", "spread no farther than the noise of this epsilon", noisy, (12, 1, 0.1), {},
    ),
    "a person far from all others": (
        "maf", "have genotypes so far from all others' that a component or a prediction", far_out, (), {},
    ),
    "few people left out": (
        "held_out", "fewer than 10 people, cases or controls of the pool, perhaps", study,
        ("polygenic", A), {"held_out": 20},
    ),
    "few people left out at a level": (
        "covariates", "have the level b of the covariate site", study,
        ("polygenic", A, level(12)), {"covariates": SITE},
    ),
    "no variant for a score": (
        "maf", "no variant of the autosomes passes", study, ("polygenic", A), {"maf": 0.5, "held_out": 2},
    ),
    "too few people for the rounds of a score": (
        "shares", "60 people beside those of the largest cohort allow 3 rounds", study,
        ("polygenic", np.where(np.arange(180) < 100, A, np.nan)), {"held_out": 2},
    ),
    "a covariate of a score by which one stands out": (
        "covariates", "C1: fewer than 10 of the people that are left out, or of the others, perhaps", study,
        ("polygenic", A, np.where(np.arange(180) == 7, 100.0, 0.0)), {},
    ),
    "few cases": (
        "phenotype", "y: fewer than 10 people in the pool, perhaps without one of the cohorts, are cases",
        study, ("logistic", level(3)), {},
    ),
    "a covariate of a logistic regression by which one stands out": (
        "covariates", "C1: fewer than 10 people in the pool, perhaps without one of the cohorts, are above",
        study, ("logistic", CASES, np.where(np.arange(180) == 7, 100.0, 0.0)), {},
    ),
    "a covariate of a linear regression by which one stands out": (
        "covariates", "C1: fewer than 10 people in the pool, perhaps without one of the cohorts, are above",
        study, ("linear", A, np.where(np.arange(180) == 7, 100.0, 0.0)), {},
    ),
    "few women, cohorts apart": (
        "chromosomes", "fewer than 10 men, or people who are not men", few_women, (), {},
    ),
    "few founders": (
        "bad_ld", "fewer than 50 founders", study, ("prune", A[:30]), {"indep_pairwise": "5 1 0.5"},
    ),
    "few nonfounders": ("nonfounders", "fewer than 10 people of the pool, or", few_nonfounders, (), {}),
    "a region of one variant": (
        "region", "fewer than two variants of the region", study, ("ld-matrix", A), {"region": "1:1-1"},
    ),
    "a region of many variants for few people": (
        "region", "a matrix of 5 variants would", study, ("ld-matrix", A[:45]), {"region": "1:0-9"},
    ),
    "a region of too many variants": (
        "region", "the region has 50,001 variants", wide_region, (50_001,), {},
    ),
    "a matrix of too many variants": (
        "region", "2,001 variants of the region pass", wide_region, (2_001,), {},
    ),
    "sets of variants that nobody has": (
        "set_list", "no variant of the sets is among", study, ("gene-tests", CASES), {"set_list": "a 1 1 v"},
    ),
    "cases told from controls, for sets": (
        "covariates", "the covariates alone has no estimate", study, ("gene-tests", CASES, CASES + A / 99),
        {"set_list": SETS},
    ),
    "covariates that determine a phenotype, for sets": (
        "covariates", "determine the phenotype of the 180 people", study, ("gene-tests", A, A),
        {"set_list": SETS, "trait": "quantitative"},
    ),
    "a window of too many variants": ("indep_pairwise", "more than 4,000 variants", wide_window, (), {}),
    "few variants for components": (
        "maf", "no more than 2 variants of the autosomes", study, ("pca", A), {"pca": 2, "maf": 0.5},
    ),
    "components that are not settled": (
        "components", "after 6 rounds the error of PC3, of 4 components, can be more", refuse_unsettled,
        (np.array([0, 1e-4, 0.5, 0]), 6), {},
    ),
    "more words than a study encodes": (
        "schema", "more than 20,000 words pass the floors", refuse_many, (20_001, 20_000), {},
    ),
}  # fmt: skip
"""Field, words of the reason, and what is refused."""


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_names_field_reason_and_remedy(name: str) -> None:
    field, words, *_ = REFUSALS[name]
    error, _ = once(name)
    assert error.field == field and words in error.reason
    plain(error)


def refused(name: str) -> tuple[Refuse, str]:
    """The refusal, and the function that raises it."""
    _, _, do, arguments, more = REFUSALS[name]
    with pytest.raises(Refuse) as caught:
        do(*arguments, **more)
    return caught.value.with_traceback(None), caught.traceback[-1].name


once = functools.cache(refused)


def fields() -> set[str]:
    """All that a plan has, also by the methods that were loaded on the way."""
    return {field.name for field in dataclasses.fields(Plan)} | set(options._called)


def plain(error: Refuse) -> None:
    """The field is declared, and the sentences are for people."""
    assert error.field in fields()
    assert str(error) == f"{error.reason}. {error.remedy}"
    assert error.remedy[0].isupper() and error.remedy.endswith(".") and not error.reason.endswith(".")
    text = re.sub("`[^`]+`", "", str(error))  # but for commands
    assert "--" not in text and "_" not in text


def test_no_refusal_is_left_out() -> None:
    """Whatever function of an algorithm raises one, a case above does come there."""
    source = Path(unpooled.__file__).parent / "methods"
    declared = {name for file in source.rglob("*.py") for name in raising(file)}
    assert {function for _, function in map(once, REFUSALS)} == declared


def raising(file: Path) -> Iterator[str]:
    """The functions of a file that say `raise Refuse(...)`."""
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef):
            raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise)]
            calls = [call.func for call in raised if isinstance(call, ast.Call)]
            if any(isinstance(called, ast.Name) and called.id == "Refuse" for called in calls):
                yield function.name


@pytest.mark.parametrize("name", ["no cases", "no controls", "nobody complete", "few at a level",
                                  "a level of one cohort", "a feature of one cohort"])  # fmt: skip
def test_what_counts_tell_is_refused_after_the_first_question(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = set[bytes](), Running.go_on

    def counted(running: Running, came: Any = None) -> Any:
        outcome = go_on(running, came)
        asked.add(running.digest())
        return outcome

    monkeypatch.setattr(Running, "go_on", counted)
    refused(name)
    assert len(asked) == 1  # by the server's run, and by the cohorts'


@pytest.mark.parametrize("name", ["no cases", "no controls", "few at a level", "a level of one cohort",
                                  "a constant covariate", "a constant phenotype", "covariates of a sum",
                                  "the same in logistic", "cases told from controls, for sets",
                                  "covariates that determine a phenotype, for sets"])  # fmt: skip
def test_what_a_cohort_finds_in_its_own_data_is_not_refused(name: str) -> None:
    _, _, do, arguments, more = REFUSALS[name]
    do(*arguments, alone=True, **more)


def test_a_sum_that_could_overflow_names_the_number_of_cohorts() -> None:
    question = CountGenotypes(0, 5, (("complete",),), MOST_PEOPLE, "autosome")
    with pytest.raises(BoundError, match="could overflow") as caught:
        questions.check_fits(question, scheme("z32"), 1000)
    assert caught.value.field == "cohorts" and caught.value.quantity
    plain(caught.value)


@pytest.mark.parametrize("problem", Problem)
def test_a_problem_of_a_cohort_has_message_and_remedy(problem: Problem) -> None:
    """The cohort itself is named by whoever shows it."""
    assert problem.message.endswith(".") and problem.remedy.endswith(".")
    assert "--" not in problem.message + problem.remedy
    assert not problem.field or problem.field in fields()
    assert Problem.of(problem.value) is problem
    assert Problem.of("another") is None


def test_a_plan_knows_which_field_names_a_column() -> None:
    plan = Plan("logistic", "asthma", 3, NO_KEY, covariates=(Covariate("age"), *SITE))
    fields = [plan.field_of(name) for name in ("asthma", "age", "site", "site=b", "a", "")]
    assert fields == ["phenotype", "covariates", "covariates", "covariates", "", ""]
    schema = (Column("weight", "number", ""),)
    of_table = Plan("z-score", "", 3, NO_KEY, trait=NONE, panel_mode=NONE, schema=schema)
    assert of_table.field_of("weight") == "schema" and of_table.field_of("") == ""
