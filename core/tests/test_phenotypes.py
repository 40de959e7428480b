"""Several phenotypes in one study: each as if it were the only one, and none that would reveal people.

What the comparison at the beginning prevents is shown by a reader at the server: from the sums of a study
without it, it reads a person's genotypes, phenotype and covariates.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from asking import followed

from tests.contract.studies import STUDIES, of_variants
from tests.people import people
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.question import Arrays
from unpooled.described.file_list import report_name, result_files
from unpooled.errors import Refuse
from unpooled.methods import check, phenotypes, questions_of
from unpooled.methods.phenotypes import (
    CountApart,
    OfPhenotype,
    of_phenotype,
    refuse_few_apart,
    required,
    sums_apart,
    tables_of,
)
from unpooled.methods.regression.counts import CountGenotypes, OrderAlleles
from unpooled.methods.regression.linear_questions import SumColumns, SumWithGenotypes
from unpooled.methods.regression.pool import Census
from unpooled.methods.shared.allele_coding import on_x
from unpooled.methods.shared.groups import COMPLETE
from unpooled.methods.shared.standardise import Mean
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import COVARIATES, PHENOTYPES
from unpooled.plan.genotype_model import ADDITIVE, terms_of
from unpooled.plan.plan import NO_KEY, Covariate, Plan, PlanError
from unpooled.protocol import codec
from unpooled.run import run, run_alone

SEVERAL = {
    **{name: study for name, study in STUDIES.items() if "phenotypes" in name},
    "linear, and the cohorts' own estimates": lambda: of_variants("linear", phenotypes=("z",)),
}


def together_and_alone(
    plan: Plan, panel: Panel, cohorts: Sequence[ArrayCohort]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each column of each phenotype's results: its name, as it is in one study, and in one of its own."""
    found = run(plan, panel, cohorts)
    for place, one in enumerate(plan.each):
        alone = run(one, panel, [of_phenotype(cohort, place) for cohort in cohorts])
        own = tables_of(plan, found, one.phenotype)
        assert own.keys() == alone.keys()
        for table, columns in alone.items():
            assert own[table].keys() == columns.keys()
            for column, values in columns.items():
                yield f"{one.phenotype}, {table}, {column}", own[table][column], values


@pytest.mark.parametrize("name", SEVERAL)
def test_each_has_the_results_of_a_study_of_its_own_to_the_last_bit(name: str) -> None:
    small = SEVERAL[name]()
    for column, own, alone in together_and_alone(small.plan, small.panel, small.cohorts):
        assert own.tobytes() == alone.tobytes(), column


@pytest.mark.parametrize("name", SEVERAL)
def test_a_cohort_alone_finds_the_same_of_each(name: str) -> None:
    """One cohort alone has no floor: few of its people have one phenotype and not another."""
    small = SEVERAL[name]()
    first = small.cohorts[0]
    found = run_alone(small.plan, small.panel, first)
    for place, plan in enumerate(small.plan.each):
        alone = run_alone(plan, small.panel, of_phenotype(first, place))
        own = tables_of(small.plan, found, plan.phenotype)
        np.testing.assert_equal(own["variants"], alone["variants"])


def test_a_plan_of_one_phenotype_keeps_its_hash() -> None:
    plan = of_variants("linear").plan
    assert not {"phenotypes", "require_pheno"} & {name for name, _ in plan.record_fields()}
    several = dataclasses.replace(plan, options=(*plan.options, ("phenotypes", ("z",))))
    assert several.hash() != plan.hash()
    assert codec.decode(codec.encode(several), [Plan, type(COVARIATES.of(plan)[0])]) == several


def test_one_phenotype_has_the_names_of_files_that_it_always_had() -> None:
    plan = of_variants("linear", files=("assoc", "glm", "ssf"), file_stem="lipids").plan
    assert plan.each == (plan,)
    assert result_files(plan)[:3] == ("lipids.assoc.linear", "lipids.y.glm.linear", "lipids.tsv.gz")


def test_several_have_plink2s_names() -> None:
    plan = of_variants("linear", files=("assoc", "glm"), phenotypes=("z",), file_stem="lipids").plan
    names = [report_name(file, one) for one in plan.each for file in one.files]
    assert names == [f"lipids.{name}.{file}.linear" for name in "yz" for file in ("assoc", "glm")]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("z", "Y"), "a phenotype is named twice"),
        (("z", "z"), "up to 100 different words"),
        (("a/b",), "letters, digits, plus, minus and underscores"),
        (("age",), "age is a covariate, too"),
        (tuple(f"p{k}" for k in range(20)), "at most 20 phenotypes, not 21"),
    ],
)
def test_names_that_cannot_be_are_refused(names: Sequence[str], said: str) -> None:
    with pytest.raises(PlanError) as refused:
        of_variants("linear", phenotypes=tuple(names))
    assert said in refused.value.problems["phenotypes"]


def test_a_study_of_tables_has_none() -> None:
    plan = STUDIES["z-score"]().plan
    with_one = dataclasses.replace(plan, options=(*plan.options, ("phenotypes", ("z",))))
    with pytest.raises(PlanError, match="does not have this"):
        check(with_one)


def test_a_question_is_of_the_phenotype_that_it_names() -> None:
    small = STUDIES["linear, of phenotypes"]()
    kinds = [kind for kind in questions_of(small.plan) if issubclass(kind, SumColumns)]
    assert [kind.title for kind in kinds] == [f"Sum covariates and phenotype ({name})" for name in "yzx"]
    assert SumColumns not in questions_of(small.plan)
    asked = followed(small.plan, small.panel, small.cohorts).questions
    question = next(each for each in asked if type(each) is kinds[1])
    again = pickle.loads(pickle.dumps(question))  # noqa: S301 - as a cohort's own Dask cluster is handed it
    assert type(again) is type(question)
    own = question.local(small.cohorts[0])
    assert np.array_equal(again.local(small.cohorts[0])["sums"], own["sums"])
    other = kinds[2](**{field.name: getattr(question, field.name) for field in dataclasses.fields(question)})
    assert not np.array_equal(other.local(small.cohorts[0])["sums"], own["sums"])
    assert isinstance(question, OfPhenotype)


# Phenotypes of the same people


SHARED = [name for name in SEVERAL if "of the same people" in name]


def bytes_of(plan: Plan, questions_asked: Sequence[Any]) -> int:
    """Return how many bytes each cohort uploads to answer."""
    schemes = ((question, plan.scheme(question.ring_bits)) for question in questions_asked)
    return sum(scheme.word_bytes * questions.words(question, scheme) for question, scheme in schemes)


@pytest.mark.parametrize("name", SHARED)
def test_of_the_same_people_what_has_no_phenotype_in_it_is_asked_once(name: str) -> None:
    small = SEVERAL[name]()
    together = followed(small.plan, small.panel, small.cohorts).questions
    apart = [
        followed(plan, small.panel, [of_phenotype(cohort, place) for cohort in small.cohorts]).questions
        for place, plan in enumerate(small.plan.each)
    ]
    assert [type(question) for question in together] == [type(question) for question in apart[0]]
    for kind in (Census, CountGenotypes, OrderAlleles):
        ours, theirs = ([each for each in asked if type(each) is kind] for asked in (together, apart[0]))
        assert list(map(questions.encode, ours)) == list(map(questions.encode, theirs)), kind.name
    ours, *theirs = (bytes_of(small.plan, asked) for asked in (together, *apart))
    assert max(theirs) < ours < 0.8 * sum(theirs)


@pytest.mark.parametrize("name", SHARED)
def test_no_two_phenotypes_are_multiplied(name: str) -> None:
    """A further phenotype y adds, beside covariates x: y, its products with each x and itself, and those with
    the columns of the model."""
    small = SEVERAL[name]()
    further, covariates = len(PHENOTYPES.of(small.plan)), len(small.plan.covariate_columns)
    terms = terms_of(small.plan)
    for question in followed(small.plan, small.panel, small.cohorts).questions:
        if not isinstance(question, SumColumns | SumWithGenotypes):
            continue
        first = {name: getattr(question, name)[: covariates + 1] for name in ("centre", "exponent")}
        one = dataclasses.replace(question, **first, plan=small.plan.each[0])
        products = further * (covariates + 1)
        if isinstance(question, SumWithGenotypes):
            assert question.sums - one.sums == further * len(terms.coded) * (1 + len(terms.interacting))
            products += further * (1 + on_x(question.chromosome))  # over missing calls, of all and of men
        assert question.pairs - one.pairs == products


@pytest.mark.parametrize("missing", ["exact", "mean"])
def test_without_covariates_they_are_as_near_as_rounding(missing: str) -> None:
    """A cohort's sum over the only column there is goes in another order than that over one of several."""
    small = of_variants(
        "linear", phenotypes=("z", "x"), require_pheno=True, covariates=(), missing=missing, files=("glm",)
    )
    for column, own, alone in together_and_alone(small.plan, small.panel, small.cohorts):
        np.testing.assert_allclose(own, alone, rtol=1e-12, err_msg=column)


@pytest.mark.parametrize(
    ("test", "changes"),
    [
        ("linear", {}),
        ("linear", {"require_pheno": True, "files": ("assoc", "meta")}),
        ("logistic", {"require_pheno": True}),
        ("chi-square", {"require_pheno": True}),
    ],
)
def test_otherwise_each_is_asked_about_by_itself(test: str, changes: dict[str, Any]) -> None:
    kinds = questions_of(of_variants(test, phenotypes=("z",), **changes).plan)
    assert kinds[0] is CountApart and all(issubclass(kind, OfPhenotype) for kind in kinds[1:])


@pytest.mark.parametrize(
    ("test", "changes", "said"),
    [
        ("linear", {"require_pheno": True, "files": ("assoc",)}, "z: the same value for everybody"),
        ("chi-square", {}, "z: there are no controls in the pool"),
    ],
)
def test_what_is_wrong_with_one_names_it(test: str, changes: dict[str, Any], said: str) -> None:
    """Whoever has the second phenotype has the same: of no use to a test."""
    small = of_variants(test, phenotypes=("z",), **changes)
    cohorts = []
    for cohort in small.cohorts:
        same = np.where(np.isnan(cohort.samples.phenotype), np.nan, 1.0)
        samples = dataclasses.replace(cohort.samples, further=(same,))
        cohorts.append(dataclasses.replace(cohort, samples=samples))
    with pytest.raises(Refuse, match=f"^{said}") as refused:
        run(small.plan, small.panel, cohorts)
    assert refused.value.field == "phenotypes"


# Sums over nearly the same people


PANEL = Panel.of([(1, k, b"v%d" % k, b"A", b"G") for k in range(6)])
PEOPLE = 40


def cohorts_of(trait: str, lacking: Sequence[Sequence[int]]) -> list[ArrayCohort]:
    """Three cohorts with as many phenotypes as lists of people who lack one, the first cohort's first."""
    random = np.random.default_rng(5)
    made = []
    for number in range(3):
        values = random.normal(size=(len(lacking), PEOPLE))
        if trait == "case/control":
            values = np.array([np.arange(PEOPLE) % 2 == 0] * len(lacking)).astype(float)
        for column, who in zip(values, lacking, strict=True):
            column[[place % PEOPLE for place in who if place // PEOPLE == number]] = np.nan
        samples = people(values[0], random.normal(50, 9, (PEOPLE, 1)), further=tuple(values[1:]))
        copies = random.binomial(2, 0.4, (len(PANEL), PEOPLE)).astype(np.int8)
        made.append(ArrayCohort(samples, copies, np.zeros(len(PANEL), bool)))
    return made


def plan_of(trait: str, count: int, **more: Any) -> Plan:
    test, others = {"quantitative": "linear"}.get(trait, "logistic"), tuple(f"p{k}" for k in range(1, count))
    more = {"trait": trait, "phenotypes": others, "covariates": (Covariate("age"),), **more}
    return Plan(test, "p0", 3, NO_KEY, **more)


def study(trait: str, lacking: Sequence[Sequence[int]], **more: Any) -> dict[str, Any]:
    return run(plan_of(trait, len(lacking), **more), PANEL, cohorts_of(trait, lacking))


@pytest.mark.parametrize("trait", ["quantitative", "case/control"])
@pytest.mark.parametrize(
    "lacking",
    [([], [3]), ([3], []), ([], range(9)), (range(12), range(9, 30)), (range(10), range(10), range(11))],
    ids=["one", "the other way round", "nine", "nine, and many the other way round", "two of three"],
)
def test_one_to_nine_people_apart_are_refused(trait: str, lacking: Sequence[Sequence[int]]) -> None:
    with pytest.raises(Refuse, match="differ by fewer than 10 people") as refused:
        study(trait, lacking)
    assert refused.value.field == "phenotypes"
    assert "Choose “Only people with all phenotypes”" in refused.value.remedy
    assert "variants of p0" in study(trait, lacking, require_pheno=True)


@pytest.mark.parametrize("trait", ["quantitative", "case/control"])
@pytest.mark.parametrize("lacking", [([], []), ([], range(22)), (range(26), range(13, 39))])
def test_nobody_or_more_than_twenty_of_a_cohort_apart_are_not(
    trait: str, lacking: Sequence[Sequence[int]]
) -> None:
    """Half of them are cases and half controls, neither few; and without their cohort nobody is apart."""
    assert "variants of p1" in study(trait, lacking)


def apart(first: np.ndarray, second: np.ndarray) -> None:
    """The refusal, if any, in a pool of three cohorts that take the people in turn."""
    sets = [group for values in (first, second) for group in (~np.isnan(values), values == 1, values == 0)]
    each = [sums_apart(np.array(sets, np.int64)[:, k::3]) for k in range(3)]
    sums = {name: sum((one[name] for one in each), np.zeros((6, 6), np.int64)) for name in each[0]}
    refuse_few_apart(plan_of("case/control", 2), sums)


@pytest.mark.parametrize(("beside", "is_refused"), [(9, True), (10, False)])
def test_people_apart_are_counted_without_any_one_cohort(beside: int, is_refused: bool) -> None:
    """Thirty of one cohort lack a value, and so many of another."""
    lacking = [*range(30), *range(40, 40 + beside)]
    if is_refused:
        with pytest.raises(Refuse, match="perhaps without one of the cohorts"):
            study("quantitative", ([], lacking))
    else:
        study("quantitative", ([], lacking))


def test_few_cases_who_are_controls_of_another_phenotype_are_no_secret() -> None:
    """Five of 100 cases of one are cases of the other too: no difference of two sums is about these five."""
    first, second = np.zeros(1000), np.zeros(1000)
    first[:100], second[95:300] = 1, 1
    apart(first, second)


def test_few_who_change_their_class_are_refused() -> None:
    first, second = np.zeros(1000), np.zeros(1000)
    first[:100], second[:103] = 1, 1
    with pytest.raises(Refuse, match="the cases or controls of p0 and p1") as refused:
        apart(first, second)
    assert "Only people with all" not in refused.value.remedy  # that would not help
    with pytest.raises(Refuse, match="the cases or controls"):
        apart(first, 1 - second)  # nor does calling cases controls


def test_the_server_would_read_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 120 people lacks a phenotype alone, and is the difference of two sums: genotypes, and age."""
    who, cohorts = 7, cohorts_of("quantitative", ([], [7]))
    plan = plan_of("quantitative", 2)
    with pytest.raises(Refuse, match="would reveal these"):
        followed(plan, PANEL, cohorts)
    monkeypatch.setattr(phenotypes, "refuse_few_apart", lambda plan, apart: None)
    answers = followed(plan, PANEL, cohorts).answers
    (all_counts, all_ages), (counts, ages) = (read(answers, name) for name in plan.phenotype_names)
    copies = cohorts[0].genotypes[:, who]
    assert (all_counts - counts).tolist() == [[int(copy == c) for c in (2, 1, 0)] for copy in copies]
    assert all_ages - ages == pytest.approx(cohorts[0].samples.covariates[who, 0], rel=1e-9)


def read(answers: Sequence[tuple[Any, Arrays]], phenotype: str) -> tuple[np.ndarray, float]:
    """Count people with a known phenotype by genotype, and sum their ages."""
    about = [(each, sums) for each, sums in answers if getattr(each, "name_of_phenotype", "") == phenotype]
    ((counting, counted),) = ((each, sums) for each, sums in about if isinstance(each, CountGenotypes))
    complete = [k for k, group in enumerate(counting.groups) if COMPLETE in group]
    ((asked, sums),) = ((each, sums) for each, sums in about if isinstance(each, Mean))
    return counted["genotypes"][:, complete].sum(axis=1), float(np.ldexp(sums["sum"], asked.magnitude)[0])


def test_without_the_others_nobody_is_apart() -> None:
    plan = plan_of("quantitative", 2, require_pheno=True)
    cohorts = [required(cohort, plan) for cohort in cohorts_of("quantitative", ([3], range(5, 9)))]
    assert [int(cohort.samples.kept.sum()) for cohort in cohorts] == [35, 40, 40]
    question = CountApart(plan)
    assert not question.local(cohorts[0])["apart"].any()


# Random studies of phenotypes of the same people


CHROMOSOMES = (1, 22, 23, 24, 26)
MANY = Panel.of([(code, 1 + k, b"rs%d_%d" % (code, k), b"A", b"G") for code in CHROMOSOMES for k in range(4)])


def drawn(random: np.random.Generator) -> tuple[Plan, list[ArrayCohort]]:
    """A plan, and three cohorts: phenotypes of any size, far from 0, some of them tied or rare."""
    phenotypes, covariates = random.integers(2, 6), random.integers(1, 10)
    plan = plan_of(
        "quantitative",
        int(phenotypes),
        require_pheno=True,
        covariates=tuple(Covariate(f"c{k}") for k in range(covariates)),
        genotype_model=str(random.choice([ADDITIVE, "dominant", "genotypic"])),
        missing=str(random.choice(["exact", "mean"])),
        files=("assoc", "glm", "frq", "lmiss", "hwe"),
        nonfounders=bool(random.integers(2)),
        geno=float(random.choice([1, 0.1])),
        maf=float(random.choice([0, 0.05])),
    )
    return plan, [cohort_drawn(random, phenotypes, covariates) for _ in range(3)]


def cohort_drawn(random: np.random.Generator, phenotypes: int, covariates: int) -> ArrayCohort:
    n, number = int(random.choice([60, 120])), np.arange(phenotypes)[:, None]
    values = random.normal(size=(phenotypes, n))
    values[1::3] = values[1::3] > 0.5  # rarer
    values[2::3] = np.round(values[2::3])  # tied
    values = np.ldexp(values + 1e3 * number[::-1], 60 * (number - 1))
    values[random.random(values.shape) < 0.05] = np.nan
    copies = random.binomial(2, random.uniform(0, 0.6, len(MANY))[:, None], (len(MANY), n))
    copies[random.random(copies.shape) < 0.05] = -1
    known = random.normal(1e4, 1, (n, covariates))
    known[random.random(known.shape) < 0.01] = np.nan
    sex, founder = random.integers(0, 3, n).astype(np.uint8), random.random(n) < 0.9
    samples = people(values[0], known, sex=sex, founder=founder, further=tuple(values[1:]))
    return ArrayCohort(samples, copies.astype(np.int8), random.random(len(MANY)) < 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_together_each_is_as_alone_to_the_last_bit(seed: int) -> None:
    plan, cohorts = drawn(np.random.default_rng(seed))
    whole = [required(each, plan) for each in cohorts]
    for column, own, alone in together_and_alone(plan, MANY, whole):
        assert own.tobytes() == alone.tobytes(), column
