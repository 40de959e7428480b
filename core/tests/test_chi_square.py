"""The questions of the chi-square study: what they ask, what follows, and that nothing but the pool matters.

`tests/oracles/test_counts.py` compares whole studies with PLINK.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from asking import followed, study_of

from tests.people import people
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.asking.question import Arrays, Question
from unpooled.methods.chi_square import CHI_SQUARE, Census, CountGenotypes
from unpooled.methods.shared.chunks import DIPLOID, MT, X, Y, chromosome_class, chunks_of
from unpooled.methods.shared.groups import FINEST, members
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run

CHROMOSOMES = (0, 1, 22, 23, 24, 25, 26)


def make_plan(cohorts: int = 3, **options: object) -> Plan:
    return Plan("chi-square", "status", cohorts, NO_KEY, **options)  # type: ignore[arg-type]


def make_panel(each: int = 6) -> Panel:
    return Panel.of([(c, k, b"rs%d_%d" % (c, k), b"A", b"G") for c in CHROMOSOMES for k in range(each)])


def make_cohorts(
    panel: Panel, sizes: tuple[int, ...], seed: int = 1, removed: float = 0.0
) -> list[ArrayCohort]:
    random = np.random.default_rng(seed)
    return [
        ArrayCohort(
            people(
                random.choice([0.0, 1.0, np.nan], n, p=[0.5, 0.4, 0.1]),
                sex=random.integers(0, 3, n).astype(np.uint8),
                founder=random.random(n) < 0.8,
                kept=random.random(n) >= removed,
            ),
            random.integers(-1, 3, (len(panel), n)).astype(np.int8),
            random.random(len(panel)) < 0.5,
        )
        for n in sizes
    ]


@pytest.fixture
def panel() -> Panel:
    return make_panel()


def test_chunks_cover_the_panel_and_keep_classes_apart() -> None:
    panel = make_panel(5)
    for size in (1, 3, 5, 7, 100):
        found = chunks_of(study_of(make_plan(chunk_size=size), panel))
        covered = [k for chunk in found for k in range(chunk.start, chunk.stop)]
        assert covered == list(range(len(panel)))
        for chunk in found:
            assert chunk.variants <= size
            codes = panel.chromosome[chunk.start : chunk.stop]
            assert {chromosome_class(int(c), 22) for c in codes} == {chunk.chromosome}
    whole = chunks_of(study_of(make_plan(), panel))
    assert [chunk.chromosome for chunk in whole] == [DIPLOID, X, Y, DIPLOID, MT]
    assert chunks_of(study_of(make_plan(), Panel.of([]))) == ()


def test_only_needed_groups_are_asked_for(panel: Panel) -> None:
    sizes = np.arange(1, len(FINEST) + 1)
    sizes[FINEST.index(("control", "nonfounder", "male"))] = 0

    def sums(question: Question) -> Arrays:
        if isinstance(question, Census):
            return {"people": sizes}
        return {array.name: np.zeros(questions.shape(question, array), int) for array in question.sends}

    def asked(**options: object) -> dict[str, set[str]]:
        found = followed(make_plan(3, **options), panel, [], sums).questions
        counts = [question for question in found if isinstance(question, CountGenotypes)]
        return {one.chromosome: {" ".join(group) for group in one.groups} for one in counts}

    everyone = asked()
    assert everyone[DIPLOID] == {
        f"{phenotype} {founder}"
        for phenotype in ("case", "control", "no phenotype")
        for founder in ("founder", "nonfounder")
    }
    assert "control nonfounder male" not in everyone[X]
    assert "control nonfounder not male" in everyone[X]
    assert all("not male" not in group for group in everyone[Y])
    assert everyone[MT] == everyone[DIPLOID]
    assert asked(nonfounders=True)[DIPLOID] == {"case", "control", "no phenotype"}
    # Without .lmiss nobody needs people who have neither a phenotype nor a say in what A1 is.
    assert "no phenotype nonfounder" not in asked(files=("assoc", "frq", "hwe"))[DIPLOID]
    assert "no phenotype founder" in asked(files=("assoc",))[DIPLOID]
    assert "no phenotype nonfounder" in asked(files=("assoc",), geno=0.1)[DIPLOID]


def test_cohorts_receive_what_they_answer_by_and_nothing_else() -> None:
    """The sizes of the pool, the plan's files and counts of earlier rounds stay at the server."""
    assert Census() == questions.decode(questions.encode(Census()), CHI_SQUARE.asks)
    counting = CountGenotypes(0, 9, (("case",),), 10)
    assert questions.decode(questions.encode(counting), CHI_SQUARE.asks) == counting
    assert {field.name for field in fields(counting)} == {"start", "stop", "groups", "most", "chromosome"}


def test_ties_are_settled_by_what_files_call_a1() -> None:
    panel = Panel.of([(1, k, b"v%d" % k, b"A", b"G") for k in range(4)])
    cohorts = make_cohorts(panel, (30, 30, 30))
    for cohort, swapped in zip(cohorts, [(1, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 1)], strict=True):
        cohort.genotypes[:] = np.array([0, 1, 2, -1])[:, None]
        cohort.swapped[:] = swapped
    found = followed(make_plan(), panel, cohorts)
    census, counting = found.questions
    pool, rows = found.rows
    assert isinstance(census, Census) and pool.columns["people"].tolist() == [
        sum(np.count_nonzero(~np.isnan(cohort.samples.phenotype)) for cohort in cohorts)
    ]
    assert isinstance(counting, CountGenotypes)
    assert rows.columns["variant"].tolist() == [0, 1, 2, 3]
    assert rows.columns["first_is_a1"].tolist() == [True, True, False, False]


def slow_alleles(people: list[tuple[bool, int]], chromosome: str, association: bool) -> tuple[int, int]:
    """Alleles one by one: (is a man, copies of A1) of everyone with a call."""
    a1 = a2 = 0
    for male, copies in people:
        one = (chromosome == X and male) or chromosome == Y or (chromosome == MT and association)
        if chromosome == Y and not male:
            continue
        if one and copies == 1:
            continue
        a1 += copies // 2 if one else copies
        a2 += (2 - copies) // 2 if one else 2 - copies
    return a1, a2


@pytest.mark.parametrize(("code", "chromosome"), [(1, DIPLOID), (23, X), (24, Y), (25, DIPLOID), (26, MT)])
@pytest.mark.parametrize("nonfounders", [False, True])
def test_columns_are_those_of_counting_one_by_one(code: int, chromosome: str, nonfounders: bool) -> None:
    panel = Panel.of([(code, k, b"v%d" % k, b"A", b"G") for k in range(8)])
    cohorts = make_cohorts(panel, (25, 33, 42), seed=code)
    rows = run(make_plan(nonfounders=nonfounders), panel, cohorts)["variants"]
    for v in range(len(panel)):
        everyone = [
            (c.samples.phenotype[k], bool(c.samples.founder[k] or nonfounders), c.samples.sex[k] == 1,
             int(c.genotypes[v, k]))
            for c in cohorts for k in range(len(c.samples))
        ]  # fmt: skip
        called = [person for person in everyone if person[3] >= 0]

        def oriented(table: tuple[int, int], v: int = v) -> list[int]:
            return list(table) if rows["first_is_a1"][v] else list(table[::-1])

        for phenotype, name in ((1.0, "case"), (0.0, "control")):
            some = [(male, copies) for p, _, male, copies in called if p == phenotype]
            assert [rows[f"{name}_a1"][v], rows[f"{name}_a2"][v]] == oriented(
                slow_alleles(some, chromosome, True)
            )
        founders = [(male, copies) for _, founder, male, copies in called if founder]
        alleles = oriented(slow_alleles(founders, chromosome, False))
        assert [rows["founder_a1"][v], rows["founder_a2"][v]] == alleles
        assert alleles[0] <= alleles[1]
        counted = [person for person in everyone if chromosome != Y or person[2]]
        assert rows["people"][v] == len(counted)
        assert rows["missing"][v] == sum(person[3] < 0 for person in counted)
        for name, phenotypes in (("all", None), ("case", 1.0), ("control", 0.0)):
            inside = [
                copies
                for p, founder, male, copies in called
                if founder
                and phenotypes in (None, p)
                and not (chromosome in (X, Y) and male)
                and chromosome != Y
            ]
            counts = oriented((inside.count(2), inside.count(0)))
            assert [rows[f"{name}_hom_a1"][v], rows[f"{name}_hom_a2"][v]] == counts
            assert rows[f"{name}_het"][v] == inside.count(1)
            assert np.isnan(rows[f"{name}_hwe_p"][v]) == (chromosome == MT)


def test_everyone_is_in_one_of_the_finest_groups(panel: Panel) -> None:
    samples = make_cohorts(panel, (200,))[0].samples
    assert np.all(np.sum([members(group, samples) for group in FINEST], axis=0) == 1)
