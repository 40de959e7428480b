"""Oddities among numbers and columns: codes for missing values, and covariates that say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.asking.cohort import blocks
from unpooled.methods import TESTS
from unpooled.panel.builds import ENDS, known_build
from unpooled_client.data.checks.collinear import inflation, relations
from unpooled_client.data.checks.outliers import outlying
from unpooled_client.data.estimate import duration, memory
from unpooled_client.data.findings.report import Code
from unpooled_client.data.samples.missing_codes import look_like_codes


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1.5, 2.5, -99, 3], [-99]),
        ([1, 2, 9, -9], [-9, 9]),
        ([20, 80, 999, 888], [888, 999]),
        ([20, 60, 99], []),  # an age
        ([-3.5, 2, -9], []),  # below zero like others, and near
        ([7, 8, 9], []),
        ([99], []),
        ([float("nan")], []),
        ([0.01, 0.02, 1000], []),  # apart, and no code
    ],
)
def test_numbers_that_look_like_codes(values: list[float], codes: list[float]) -> None:
    assert sorted(look_like_codes(np.array(values))) == codes


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([*range(60), -999999999], 1),
        ([*range(2000, 2060), -999999999], 1),  # no others are a million times smaller, but they lie close
        ([*range(60), 1e300], 1),
        ([1e-250 * k for k in range(60)] + [1e-200], 1),
        ([*range(60), 1e5], 0),
        ([*np.exp(5 * np.random.default_rng(1).normal(size=500))], 0),
        ([*([0] * 60), 1e9], 0),  # one who differs
        ([*([0.1 + 0.2, 0.3] * 60), 1e9], 0),
        ([*range(60), *([1e9] * 60)], 0),  # not a few
        ([1.7e308, -1.7e308, 0], 0),
        ([], 0),
    ],
)
def test_values_beyond_all_others(values: list[float], far: int) -> None:
    assert np.flatnonzero(outlying(np.array(values, float))).tolist() == [len(values) - 1][:far]


def people(columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(200, columns))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e12])
def test_columns_that_determine_one_another(scale: float) -> None:
    a, b, c, d, e = people(5).T
    values = np.column_stack([a, b, scale * (a - 3 * b) + 7, c, d, 1 - scale * d, np.full(200, 5.0), e])
    assert relations(values) == [(0, 1, 2), (4, 5)]


def test_all_levels_of_a_category_determine_one_another() -> None:
    site = np.arange(200) % 4
    values = np.column_stack([site == 0, people(1)[:, 0], site == 1, site == 2, site == 3]).astype(float)
    assert relations(values) == [(0, 2, 3, 4)]
    assert relations(values[:, 1:]) == []


@given(st.integers(1, 8), st.integers(0, 1000))
def test_independent_columns_have_no_relation(columns: int, seed: int) -> None:
    assert relations(people(columns, seed)) == []


def test_inflation_is_one_over_what_the_others_leave() -> None:
    values = people(3)
    values[:, 2] = values[:, 0] + 0.05 * values[:, 2]
    others = np.column_stack([np.ones(200), values[:, :2]])
    left = values[:, 2] - others @ np.linalg.lstsq(others, values[:, 2], rcond=None)[0]
    expected = np.var(values[:, 2]) / np.var(left)
    assert inflation(values)[2] == pytest.approx(expected, rel=1e-9)


def test_a_covariate_that_others_nearly_determine(files: Any) -> None:
    rng = np.random.default_rng(2)
    rows = [f"F{k} I{k} {k} {k + rng.normal():.3f}" for k in range(60)]
    (files.folder / "c").write_text("\n".join(["FID IID age birth", *rows, ""]))
    found = [f for f in files.check(covar="c").findings if f.code == Code.COVARIATE_COLLINEAR]
    assert [f.message for f in found] == [
        "the other covariates nearly determine age here",
        "the other covariates nearly determine birth here",
    ]
    assert found[0].read is not None and found[0].read.startswith("a variance inflation factor of ")


@pytest.mark.parametrize(
    ("name", "build"), [("GRCh38.p14", "GRCh38"), ("hg19", "GRCh37"), ("b37", "GRCh37"), ("T2T", None)]
)
def test_builds_have_many_names(name: str, build: str | None) -> None:
    assert known_build(name) == build


def test_every_chromosome_has_an_end() -> None:
    assert {len(ends) for ends in ENDS.values()} == {24}
    # GRCh37 and GRCh38 differ by less than 3 Mb anywhere: a digit that slipped would show.
    assert max(abs(a - b) for a, b in zip(*ENDS.values(), strict=True)) < 3_000_000


def test_a_file_that_reaches_the_ends_shows_its_build(files: Any) -> None:
    files.write(bim="1 a 0 100 A T\n9 b 0 141000000 0 G\n9 c 0 141000001 AT C\n")
    assert files.check().summary["variants"] | {"by chromosome": {}} == {
        "in the .bim": 3,
        "read": 3,
        "by chromosome": {},
        "A/T or C/G": "1 (33.3%)",
        "one allele seen": "1 (33.3%)",
        "insertions and deletions": "1 (33.3%)",
        "build": "looks like GRCh37",
    }


@pytest.mark.parametrize("place", ["X", "23", "X in PAR1"])
def test_two_people_who_were_mixed_up(files: Any, place: str) -> None:
    """There are 60 people with 300 variants of X, few of them frequent; in the shared regions nobody is
    judged.
    """
    rng, variants, man = np.random.default_rng(3), 300, np.arange(60) % 2 == 0
    frequency = rng.uniform(0.05, 0.5, (variants, 1))
    copies = np.where(
        man, 2 * rng.binomial(1, frequency, (variants, 60)), rng.binomial(2, frequency, (variants, 60))
    )
    copies[:, [0, 1]] = copies[:, [1, 0]]
    codes = np.where(rng.random(copies.shape) < 0.02, 1, np.array([3, 2, 0])[copies]).reshape(variants, 15, 4)
    bed = (codes << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8).tobytes()
    first = 10_001 if "PAR" in place else 5_000_000
    bim = "".join(f"{place[:2].strip()} v{k} 0 {first + k} A G\n" for k in range(variants))
    files.write(bim=bim, bed=b"\x6c\x1b\x01" + bed)
    found = [finding for finding in files.check().findings if finding.code == Code.SEX_DOUBTFUL]
    assert [finding.count for finding in found] == ([] if "PAR" in place else [2])
    if found:
        assert found[0].examples[0].startswith("line 1: F0 I0 (man, ")
        assert found[0].examples[1] == "line 2: F1 I1 (woman, 0%)"


@pytest.mark.parametrize(
    ("people", "variants", "megabytes"),  # the clients of docs/growth.md, linear and logistic
    [(100, 100_000, 261), (100, 1_000_000, 371), (100, 1_000_000, 372), (1_781, 580_000, 377)],
)
def test_memory_is_estimated_above_what_was_measured(people: int, variants: int, megabytes: int) -> None:
    assert megabytes < memory(people, variants, threads=1) / 1e6 < 1.3 * megabytes


@pytest.mark.parametrize(("variants", "megabytes"), [(1_000_000, 275), (3_000_000, 314), (10_000_000, 446)])
def test_by_place_memory_is_estimated_above_what_was_measured(variants: int, megabytes: int) -> None:
    """docs/performance.md"""
    assert megabytes < memory(300, variants, threads=1, longest_id=0) / 1e6 < 1.5 * megabytes


def test_memory_has_room_for_the_dosages_that_are_read_at_once() -> None:
    """Two parts a thread: of a question at work and of one on its way."""
    at_once = next(blocks(300_000, 1_781))
    one, two = (memory(1_781, 300_000, threads, dosages=True) for threads in (1, 2))
    assert two - one == pytest.approx(2 * 2 * 1_781 * at_once.stop, rel=0.001)


@pytest.mark.parametrize(
    ("test", "variants", "dosages", "measured"),
    [
        ("chi-square", 580_000, False, 5.0),
        ("linear", 580_000, False, 9.4),
        ("logistic", 580_000, False, 23.9),
        ("linear", 300_000, True, 6.1),
    ],
)
def test_time_is_estimated_as_whole_studies_took(
    test: str, variants: int, dosages: bool, measured: float
) -> None:
    """docs/performance.md: three cohorts and a server on two cores, so that each had about half a core."""
    estimated = TESTS[test].cost.seconds(1_781, variants, 4, dosages=dosages) * 3 / 2
    assert 0.8 * measured < estimated < 1.25 * measured


@pytest.mark.parametrize(("time", "words"), [(0.1, "1 s"), (80, "80 s"), (600, "10 min"), (8000, "2 h")])
def test_a_duration_is_no_more_exact_than_known(time: float, words: str) -> None:
    assert duration(time) == words
