"""The measurements of docs/ on little data: what is dealt, counted and written; and other tables are seen."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from unpooled.methods.tables.census import FEWEST_COHORTS, FEWEST_VALUES

from .conftest import DOCS, documentation_script, needed

SCRIPTS = sorted(path.stem for path in DOCS.glob("measure_*.py"))


@pytest.fixture(scope="module")
def measuring() -> ModuleType:
    return documentation_script("measuring")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_small_and_writes_tables_of_the_committed_form(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script == "measure_heterogeneity":
        needed(shutil.which("plink1.9"), "plink1.9", "plink1.9")
    if script == "measure_relatives":
        needed(shutil.which("gemma"), "gemma", "gemma")
    if script in ("measure_kernelnorm", "measure_private_images"):
        pytest.importorskip("torch", reason="networks/README.md says where pip finds torch's CPU build")
        needed(
            documentation_script("measure_kernelnorm").DATA.exists(), "Fashion-MNIST", "dataset-fashion-mnist"
        )
    if script == "measure_encrypted":
        needed(can_encrypt(), "an interpreter that imports OpenFHE", "python3.12")
    tables = [table.name for table in documentation_script(script).WRITES]
    monkeypatch.setattr(sys, "argv", [script, "--small", "--out", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(DOCS / f"{script}.py"), run_name="__main__")  # here, where all is loaded
    assert sorted(path.stem for path in (tmp_path / "measured").iterdir()) == sorted(tables)
    for table in tables:
        made, committed = (
            (folder / "measured" / f"{table}.md").read_text("utf-8").splitlines()
            for folder in (tmp_path, DOCS)
        )
        assert made[:2] == committed[:2] and made[1].startswith("| ---")
        rows = [line for line in made[2:] if line.startswith("|")]
        wanted = [form(line) for line in committed[2:] if line.startswith("|")]
        assert rows and all(form(row) in wanted for row in rows)
        assert made[2 + len(rows) :] == [] or made[2 + len(rows)] == ""


def can_encrypt() -> bool:
    encrypted = documentation_script("measure_encrypted")
    try:
        return bool(encrypted.interpreter())
    except encrypted.NoInterpreterError:
        return False


def form(row: str) -> list[bool]:
    """Mark the cells of a row that have digits."""
    return [bool(re.search(r"\d", cell)) for cell in row.split("|")]


def test_every_table_is_of_one_script_and_committed() -> None:
    tables = [table.name for script in SCRIPTS for table in documentation_script(script).WRITES]
    assert sorted(tables) == sorted(path.stem for path in (DOCS / "measured").iterdir())


COMMITTED = """\
| Size | Found | Seconds |
| --- | ---: | ---: |
| 1,000 | 1.50 → 2e-3 | 4.1 |

Of 3 cohorts; Python 3.11.7, NumPy 2.4.6, x86_64.
"""


@pytest.mark.parametrize(
    ("old", "new", "apart", "same"),
    [
        ("1.50", "1.50", 0.0, True),
        ("4.1", "97.3", 0.0, True),
        ("3.11.7, NumPy 2.4.6, x86_64", "3.13.0, NumPy 2.5, aarch64", 0.0, True),
        ("1.50", "1.51", 0.0, False),
        ("1.50", "1.51", 0.01, True),
        ("2e-3", "2.1e-3", 0.01, False),
        ("1,000", "2,000", 0.01, False),
        ("Of 3", "Of 4", 0.01, False),
        ("Found", "Lost", 1.0, False),
        ("| 4.1 |", "| none |", 1.0, False),
        ("\n\nOf", "\n| 1 | 1 | 1 |\n\nOf", 1.0, False),
    ],
)
def test_another_table_is_noticed(
    measuring: ModuleType, old: str, new: str, apart: float, same: bool
) -> None:
    table = measuring.Table("x", apart, free=(2,))
    made = COMMITTED.replace(old, new)
    assert made.count(new) == 1 or old == new
    assert (list(measuring.differences(table, COMMITTED, made)) == []) == same


COUNTS = ((20, 100), (60, 60), (100, 20))


@pytest.fixture(scope="module")
def across_cohorts() -> ModuleType:
    return documentation_script("measure_heterogeneity")


@pytest.fixture(scope="module")
def pool(across_cohorts: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """360 people, half of them cases, with three planted variants among about 200."""
    needed(shutil.which("plink1.9"), "plink1.9", "plink1.9")
    return across_cohorts.generate(tmp_path_factory.mktemp("pool"), 360, 180, 240, (2.5, 3.0, 3.5))


@pytest.mark.parametrize("by_smoking", [False, True])
def test_cohorts_get_the_cases_and_controls_of_the_scenario(
    across_cohorts: ModuleType, pool: Any, by_smoking: bool
) -> None:
    cohort = across_cohorts.deal(pool, across_cohorts.Scenario("", "", COUNTS, by_smoking))
    dealt = [tuple(np.bincount(pool.case[cohort == k], minlength=2)[::-1]) for k in range(len(COUNTS))]
    assert tuple(dealt) == COUNTS
    # Within cases and within controls, pack-years rise from cohort to cohort only where they are meant to.
    for group in (pool.case, ~pool.case):
        rank = stats.spearmanr(pool.covariates[group, 3], cohort[group]).statistic
        assert (rank > 0.7) == by_smoking


def test_the_scenarios_are_those_of_the_papers_table(across_cohorts: ModuleType) -> None:
    assert [scenario.samples for scenario in across_cohorts.SCENARIOS] == [5343] * 6
    assert [scenario.cases for scenario in across_cohorts.SCENARIOS] == [2811] * 5 + [2809]
    assert all(sum(counts) == 1781 for scenario in across_cohorts.SCENARIOS for counts in scenario.counts)


def test_information_under_idle_covariates_is_that_of_the_case_fractions(
    across_cohorts: ModuleType, pool: Any
) -> None:
    """It is cases times controls over people, summed over the cohorts, as a share of the pool's."""
    random = np.random.default_rng(4)
    blind = across_cohorts.Pool(
        pool.prefix, pool.people, pool.case, random.normal(size=(360, 1)), pool.planted
    )
    cohort = across_cohorts.deal(pool, across_cohorts.Scenario("", "", COUNTS))
    expected = sum(a * b / (a + b) for a, b in COUNTS) / (180 * 180 / 360)
    assert across_cohorts.information(blind, cohort) == pytest.approx(expected, rel=0.03)


def test_plinks_meta_analysis_is_read_and_is_that_of_its_cohorts(
    across_cohorts: ModuleType, pool: Any, tmp_path: Path
) -> None:
    """Fixed effect and DerSimonian and Laird's random effect, worked out here from the cohorts' reports."""
    cohort, covar = (
        across_cohorts.deal(pool, across_cohorts.Scenario("", "", COUNTS)),
        tmp_path / "covariates",
    )
    across_cohorts.write_covariates(pool, cohort, covar)
    parts = across_cohorts.split(pool, cohort, tmp_path)
    meta = across_cohorts.meta_analysis(parts, covar, tmp_path / "three")
    fixed, random = across_cohorts.read(meta), across_cohorts.read(meta, "P(R)")
    effects = [across_cohorts.read(Path(f"{part}.assoc.logistic"), "BETA") for part in parts]
    errors = [across_cohorts.read(Path(f"{part}.assoc.logistic"), "SE") for part in parts]
    assert set(fixed) == set.intersection(*map(set, effects))
    for name in fixed:
        b, w = (np.array([own[name] for own in each]) for each in (effects, errors))
        w = w**-2
        assert fixed[name] == pytest.approx(p_of(b, w), rel=5e-3)
        q = (w * (b - np.average(b, weights=w)) ** 2).sum()
        between = max(0.0, (q - 2) / (w.sum() - (w**2).sum() / w.sum()))
        assert random[name] == pytest.approx(p_of(b, 1 / (1 / w + between)), rel=5e-3)
    pooled = across_cohorts.read(across_cohorts.logistic(pool.prefix, covar, tmp_path / "pooled"))
    found = across_cohorts.agreement(pooled, fixed, pool.planted)
    assert found.pearson < 0.95 and found.power < 1  # two of the cohorts say little


def p_of(effect: np.ndarray, weight: np.ndarray) -> float:
    return float(2 * stats.norm.sf(abs((weight * effect).sum()) / np.sqrt(weight.sum())))


def test_hits_and_correlations(across_cohorts: ModuleType) -> None:
    pooled = {"a": 1e-9, "b": 1e-12, "c": 4e-8, "d": 1e-3, "e": 0.5, "only pooled": 0.1}
    other = {"a": 1e-10, "b": 1e-7, "c": 5e-8, "d": 1e-8, "e": 0.6, "only other": 0.1}
    found = across_cohorts.agreement(pooled, other, frozenset("ab"))
    assert (found.found, found.missed, found.extra, found.false) == (1, 2, 1, 1)
    x, y = (-np.log10([p[name] for name in "abcde"]) for p in (pooled, other))
    assert found.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    ranks = np.array([4, 5, 3, 2, 1]), np.array([5, 2, 3, 4, 1])
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found.largest == pytest.approx(5)
    z = [[stats.norm.isf(p[name] / 2) ** 2 for name in "ab"] for p in (pooled, other)]
    assert found.power == pytest.approx(sum(z[1]) / sum(z[0]))


@pytest.fixture(scope="module")
def of_skew() -> ModuleType:
    return documentation_script("measure_skew")


@pytest.mark.parametrize("cohorts", [10, 30])
def test_every_cohort_has_rows_however_they_are_dealt(of_skew: ModuleType, cohorts: int) -> None:
    """Every cohort has rows, and three have so many to train on that a study asks for sums over them."""
    data = of_skew.Data(*of_skew.TABLES["wine"]())
    for skew in of_skew.SKEWS:
        for seed in range(5):
            random = np.random.default_rng(seed)
            cohort = skew.deal(data, cohorts, random)
            sizes = np.bincount(cohort, minlength=cohorts)
            assert len(sizes) == cohorts and sizes.min() >= of_skew.FEWEST, skew.title
            train, _ = of_skew.split(cohort, random)
            trained = np.bincount(cohort[train], minlength=cohorts)
            assert np.sum(trained >= FEWEST_VALUES) >= FEWEST_COHORTS, skew.title


@pytest.mark.parametrize("cohorts", [10, 30])
def test_ranges_are_apart(of_skew: ModuleType, cohorts: int) -> None:
    """Also where three cohorts have more rows than their share."""
    data = of_skew.Data(*of_skew.TABLES["wine"]())
    x = np.arange(178.0)[:, None] * [1, 0]
    cohort = of_skew.by_feature(of_skew.Data(x, data.y), cohorts, np.random.default_rng(0))
    assert np.all(np.abs(np.diff(cohort)) <= 1) and len(np.unique(cohort)) == cohorts


def test_skews_are_what_they_are_called(of_skew: ModuleType) -> None:
    data = of_skew.Data(*of_skew.TABLES["breast cancer"]())

    def dealt(title: str) -> np.ndarray:
        (skew,) = (skew for skew in of_skew.SKEWS if skew.title == title)
        return np.asarray(skew.deal(data, 10, np.random.default_rng(0)))

    def cases(cohort: np.ndarray) -> float:
        return float(np.std([data.y[cohort == k].mean() for k in range(10)]))

    def sizes(cohort: np.ndarray) -> float:
        return float(np.std(np.bincount(cohort)))

    assert sizes(dealt("none")) < 1 < sizes(dealt("quantity, β = 5")) < sizes(dealt("quantity, β = 0.5"))
    assert cases(dealt("none")) < cases(dealt("label, β = 5")) < cases(dealt("label, β = 0.5"))
    largest = [data.x[dealt("ranges apart") == k, 0].mean() for k in (0, 9)]
    assert max(largest) > 1.5 * min(largest)


def test_scaled_together_the_model_is_that_of_the_pooled_table(of_skew: ModuleType) -> None:
    (skew,) = (skew for skew in of_skew.SKEWS if skew.title == "label, β = 0.5")
    (found, *_) = of_skew.measure("wine", skew, 10, seed=1)
    random = np.random.default_rng([1, 10])
    data = of_skew.Data(*of_skew.TABLES["wine"]())
    cohort = skew.deal(data, 10, random)
    train, test = of_skew.split(cohort, random)
    pool = StandardScaler().fit(data.x[train])
    model = LogisticRegression(max_iter=2000).fit(pool.transform(data.x[train]), data.y[train])
    pooled = f1_score(data.y[test], model.predict(pool.transform(data.x[test])), average="macro")
    assert found.f1["together"] == pytest.approx(pooled)
    assert found.f1["at home"] < pooled


WORDS = ("I10", "I21"), ("I21", "J45", "J45"), ("I10", "K50")


@pytest.fixture(scope="module")
def of_encodings() -> ModuleType:
    return documentation_script("measure_encodings")


@pytest.fixture
def parts(of_encodings: ModuleType) -> list[Any]:
    """Three cohorts with a column of words; whoever has I21 is a case, and half of those with J45."""
    found = []
    for words in WORDS:
        column = np.array(words, object)[:, None]
        target = np.array([word == "I21" or (word == "J45" and k == 1) for k, word in enumerate(words)], int)
        found.append(of_encodings.Rows(column, np.zeros((len(words), 1)), target))
    return found


def encoded(encode: Callable[..., Any], parts: list[Any]) -> list[np.ndarray]:
    made = [own(part.words) for own, part in zip(encode(parts), parts, strict=True)]
    return [each.toarray() if hasattr(each, "toarray") else np.asarray(each) for each in made]


def test_the_table_is_whole(of_encodings: ModuleType) -> None:
    rows = of_encodings.titanic()
    assert rows.words.shape == (1309, 7) and rows.numbers.shape == (1309, 4)
    assert rows.target.sum() == 500 and set(rows.words[:, 1]) == {"female", "male"}
    assert len(set(rows.words[:, -1])) == 370


def test_pooled_a_word_has_one_column(of_encodings: ModuleType, parts: list[Any]) -> None:
    first, second, third = encoded(of_encodings.pooled_one_hot, parts)
    assert first.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert (second[0] == first[1]).all() and (third[0] == first[0]).all()


def test_alone_a_column_has_several_words(of_encodings: ModuleType, parts: list[Any]) -> None:
    first, second, third = encoded(of_encodings.local_one_hot, parts)
    assert first.tolist() == third.tolist() == [[1, 0], [0, 1]]
    assert second.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_in_a_ring_a_word_has_a_column_in_each_cohort(of_encodings: ModuleType, parts: list[Any]) -> None:
    used = [set(np.flatnonzero(each.any(axis=0))) for each in encoded(of_encodings.ring_one_hot, parts)]
    assert used == [{0, 1}, {2, 3}, {4, 5}]


def test_a_dictionary_has_what_enough_people_and_cohorts_have(
    of_encodings: ModuleType, parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_encodings, "PEOPLE", 2)
    first, second, third = encoded(of_encodings.dictionary, parts)
    assert first.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert second.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]  # J45 is one cohort's alone
    assert third.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(("name", "modulus"), [("as_bytes", 2**24), ("modulo", 2 * 3 * 4)])
def test_bytes_are_a_number(of_encodings: ModuleType, name: str, modulus: int) -> None:
    words = [["I10"], ["I21"], ["J45"], ["K50"]] * 3  # four words in each of three cohorts
    parts = [of_encodings.Rows(np.array(words, object), np.zeros((12, 1)), np.zeros(12, int))] * 3
    numbers = np.array([int.from_bytes(word.encode()) % modulus for (word,) in words], float)
    wanted = (numbers - numbers.mean()) / numbers.std()
    for found in encoded(getattr(of_encodings, name), parts):
        np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9)


def test_a_target_is_the_mean_at_the_word(
    of_encodings: ModuleType, parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_encodings, "SMOOTH", 0.0)
    assert [each.ravel().tolist() for each in encoded(of_encodings.local_target, parts)][1] == [1, 0.5, 0.5]
    first, *_ = encoded(of_encodings.pooled_target, parts)
    assert first.ravel().tolist() == [0, 1]


def test_a_rolling_hash_knows_no_digits(of_encodings: ModuleType, parts: list[Any]) -> None:
    first, second, _ = encoded(of_encodings.rolling_hash, parts)
    assert (first[0] == first[1]).all() and not (second[0] == second[1]).all()
    assert first[0].argmax() == 9 * 31 % 5000  # I is the ninth letter
    other, *_ = encoded(of_encodings.feature_hash, parts)
    assert not (other[0] == other[1]).all()
