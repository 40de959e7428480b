"""A level of a covariate that few people or few cohorts have is refused before anything is summed over it.

What it prevents is shown by a reader at the server: from the sums of an honest study it works out each
cohort's allele counts and mean phenotype, where the plan lets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.people import people
from unpooled import run as federation
from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.driver import Place
from unpooled.asking.question import Arrays, Question
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import pairs
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

LEVELS = ("chow", "fat", "sugar")
COVARIATES = (Covariate("age"), Covariate("diet", LEVELS), Covariate("sex", ("a", "b")))
PANEL = Panel.of([(1, k, b"v%d" % k, b"A", b"G") for k in range(5)])
TESTS = pytest.mark.parametrize("test", ["linear", "logistic"])


def plan_of(test: str, cohorts: int, **more: Any) -> Plan:
    trait = "quantitative" if test == "linear" else "case/control"
    return Plan(test, "y", cohorts, NO_KEY, trait=trait, **{"covariates": COVARIATES} | more)


def cohort_of(random: np.random.Generator, columns: Sequence[np.ndarray], missing: int = 0) -> ArrayCohort:
    """A cohort with these covariates, of whom the last `missing` lack a phenotype."""
    n = len(columns[0])
    phenotype = random.permutation(n) % 2.0
    phenotype[n - missing :] = np.nan
    samples = people(phenotype, np.column_stack(columns).astype(float))
    copies = random.binomial(2, 0.4, (len(PANEL), n)).astype(np.int8)
    return ArrayCohort(samples, copies, np.zeros(len(PANEL), bool))


def study(test: str, diets: Sequence[Sequence[int]], missing: int = 0, **more: Any) -> None:
    """Run a study of cohorts with so many people at each diet; the last `missing` of each lack phenotypes."""
    random = np.random.default_rng(2)
    cohorts = []
    for sizes in diets:
        diet = np.repeat(range(len(LEVELS)), sizes)
        columns = [random.normal(size=len(diet)), diet == 1, diet == 2, np.arange(len(diet)) % 2]
        cohorts.append(cohort_of(random, columns, missing))
    run(plan_of(test, len(cohorts), **more), PANEL, cohorts)


@TESTS
def test_ten_people_in_each_of_three_cohorts_are_enough(test: str) -> None:
    study(test, [(10, 30, 10)] * 3)
    study(test, [(10, 30, 10)] * 3 + [(0, 30, 1)])


@TESTS
@pytest.mark.parametrize(
    ("diets", "missing", "level"),
    [
        ([(10, 30, 10)] * 2 + [(9, 30, 10)], 0, "chow"),
        ([(30, 10, 10)] * 2 + [(30, 9, 10)], 0, "fat"),
        ([(30, 30, 12)] * 3, 3, "sugar"),
        ([(40, 0, 10), (0, 40, 10), (40, 40, 10), (40, 40, 10)], 0, ""),
        ([(40, 0, 10), (0, 40, 10), (40, 40, 10)], 0, "chow"),
        ([(0, 40, 10), (0, 40, 10), (900, 40, 10)], 0, "chow"),
    ],
    ids=["reference", "another", "with complete data", "three each", "two each", "one"],
)
def test_fewer_cohorts_are_not_unless_the_plan_says_so(
    test: str, diets: list[tuple[int, ...]], missing: int, level: str
) -> None:
    study(test, diets, missing, cohort_sums=True)
    if not level:
        study(test, diets, missing)
        return
    with pytest.raises(Refuse) as caught:
        study(test, diets, missing)
    said = str(caught.value)
    assert "fewer than 3 cohorts" in said and f"the level {level} of the covariate diet" in said
    assert "let the plan allow sums over one cohort" in said  # the remedy
    assert set(filter(str.isdigit, said.replace("10", "").replace("3", ""))) == set()  # and no count


@TESTS
@pytest.mark.parametrize("cohort_sums", [False, True])
@pytest.mark.parametrize(
    ("diets", "missing", "level"),
    [
        ([(3, 10, 10)] * 3, 0, "chow"),
        ([(10, 9, 10), (10, 0, 10), (10, 0, 10)], 0, "fat"),
        ([(30, 30, 4)] * 3, 1, "sugar"),
        ([(30, 30, 0)] * 3, 0, "sugar"),
    ],
    ids=["reference", "another", "with complete data", "nobody"],
)
def test_nine_people_of_the_pool_never_are(
    test: str, cohort_sums: bool, diets: list[tuple[int, ...]], missing: int, level: str
) -> None:
    with pytest.raises(Refuse) as caught:
        study(test, diets, missing, cohort_sums=cohort_sums)
    said = str(caught.value)
    assert f"fewer than 10 people in the pool have the level {level} of the covariate diet" in said
    assert not {"9", "0"} & set(said.replace("10", "").split())


# A reader at the server

SITES = Covariate("site", ("Graz", "Munich", "Tartu"))
SIZES = (80, 70, 60)


def of_sites() -> list[ArrayCohort]:
    """Three cohorts, of which the covariates say in which somebody is."""
    random = np.random.default_rng(4)
    at = [np.full(size, k) for k, size in enumerate(SIZES)]
    return [cohort_of(random, [site == 1, site == 2]) for site in at]


class Reader:
    """All that an honest server gets: each question and the sum of its answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[Question, Arrays]] = []
        honest = federation._Federation.total

        def total(of: Any, place: Place, question: Question) -> Arrays:
            found = honest(of, place, question)
            self.seen.append((question, found))
            return found

        monkeypatch.setattr(federation._Federation, "total", total)

    def answer(self, name: str) -> tuple[Any, Arrays]:
        return next((question, total) for question, total in self.seen if question.name == name)

    def copies(self, test: str) -> np.ndarray:
        """Return each variant's copies of the panel's first allele at the second and at the third site."""
        return self._of_linear() if test == "linear" else self._of_logistic()

    def mean_phenotypes(self) -> np.ndarray:
        """The same sites' mean phenotypes, from a linear regression."""
        block, total = self.answer("linear/block")
        people, scale = self._people(), np.ldexp(1.0, block.exponent.astype(int))
        i, j = pairs(block.columns)
        z_y = total["products"][(j == block.columns - 1) & (i < j)]
        # Of the covariate 0 or 1, x = scale z + centre; likewise of the phenotype.
        *x, y = total["sums"]
        xy = scale[:-1] * z_y + block.centre[:-1] * y
        at_site = scale[:-1] * np.array(x) + block.people * block.centre[:-1]
        return np.asarray((scale[-1] * xy + block.centre[-1] * at_site) / people)

    def _people(self) -> np.ndarray:
        return np.asarray(self.answer("regression/census")[1]["levels"][1:])

    def _of_linear(self) -> np.ndarray:
        question, total = self.answer("linear/sums")
        counts = self.answer("regression/genotypes")[1]["genotypes"].sum(axis=1)
        everyones = counts @ [2, 1, 0]
        scale = np.ldexp(1.0, question.exponent.astype(int))
        return np.asarray(scale[:2] * total["genotype"][:, 0, :2] + question.centre[:2] * everyones[:, None])

    def _of_logistic(self) -> np.ndarray:
        question, total = self.answer("logistic/start")
        scale = np.ldexp(1.0, question.exponent.astype(int))
        sums = total["genotype"]
        weighted = scale * sums[:, 2:4] + question.centre * sums[:, 1:2]
        at_site = (np.eye(2) - question.centre) / scale
        chance = 1 / (1 + np.exp(-(question.beta[0] + at_site @ question.beta[1:])))
        copies = weighted / (chance * (1 - chance))
        second = (question.asked & 2) > 0
        return np.where(second[:, None], 2 * self._people() - copies, copies)


def their_copies(cohorts: list[ArrayCohort]) -> np.ndarray:
    return np.stack([cohort.genotypes.sum(axis=1) for cohort in cohorts[1:]], axis=1)


@TESTS
def test_with_the_site_as_covariate_the_server_reads_each_cohort_where_the_plan_lets_it(
    test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, cohorts = Reader(monkeypatch), of_sites()
    run(plan_of(test, 3, covariates=(SITES,), cohort_sums=True), PANEL, cohorts)
    np.testing.assert_allclose(reader.copies(test), their_copies(cohorts), atol=1e-3)
    if test == "linear":
        means = [np.mean(cohort.samples.phenotype) for cohort in cohorts[1:]]
        np.testing.assert_allclose(reader.mean_phenotypes(), means, atol=1e-6)


@TESTS
def test_else_it_is_asked_how_many_there_are_and_nothing_more(
    test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(monkeypatch)
    with pytest.raises(Refuse, match="the level Graz of the covariate site"):
        run(plan_of(test, 3, covariates=(SITES,)), PANEL, of_sites())
    assert [question.name for question, _ in reader.seen] == ["regression/census"]


@TESTS
def test_the_same_as_numbers_only_a_cohort_can_see(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such columns are what `unpooled-client check` warns of: this is why."""
    reader, cohorts = Reader(monkeypatch), of_sites()
    monkeypatch.setattr(
        reader, "_people", lambda: np.array(SIZES[1:])
    )  # no level is counted; sizes are known
    run(plan_of(test, 3, covariates=(Covariate("is_munich"), Covariate("is_tartu"))), PANEL, cohorts)
    np.testing.assert_allclose(reader.copies(test), their_copies(cohorts), atol=1e-3)
