"""Random federations beside both PLINKs on their pool: some dozens here, thousands by `make fuzz`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ..conftest import needed
from .gwas import compare, fuzz, known, write_case
from .gwas.draw import TESTS, draw
from .gwas.plinks import PROGRAMS, missing
from .gwas.shrink import FEWEST_COHORTS, shrunk


@pytest.fixture(autouse=True)
def _programs() -> None:
    for name in PROGRAMS:
        needed(name not in missing(), name, name)


def test_logistic_federations_with_few_cases_agree(tmp_path: Path) -> None:
    """Nearly half of them have at most 5 % of cases. None loses an estimate, or makes one up."""
    done, odd, total = fuzz(range(1, 26), tmp_path, "logistic")
    assert (done, odd) == (25, 0), total
    assert total.numbers > 500 and total.exact > 25 and total.rules[known.OURS] > 50, total


@pytest.mark.parametrize("test", ["chi-square", "linear"])
def test_other_federations_agree(test: str, tmp_path: Path) -> None:
    done, odd, total = fuzz(range(1, 26), tmp_path, test)
    assert (done, odd) == (25, 0), total
    assert total.identical > 0.9 * total.lines > 3000, total
    assert total.rules[known.NEAR] <= 1e-3 * total.lines, total


@pytest.mark.parametrize("test", TESTS)
def test_a_wrong_call_in_the_pool_is_seen_and_written_out(test: str, tmp_path: Path) -> None:
    """One person has another genotype in the pool than in the cohort's files."""
    study = draw(4, test)
    v, people = study.variants, study.people
    chosen, person = np.argwhere((v.copies >= 0) & people.founder & study.kept[:, None])[0]
    copies = v.copies.copy()
    copies[chosen, person] = 2 if copies[chosen, person] == 0 else 0
    outcome = compare(study, tmp_path, pool=replace(study, variants=replace(v, copies=copies)))
    assert str(v.name[chosen]) in {found.variant for found in outcome.disagreements}
    folder = write_case(study, outcome, tmp_path / "out", seconds=1)
    assert {"plan.json", "disagreements", "pooled.bed", "cohort1.bed"} <= {
        path.name for path in folder.iterdir()
    }


def test_a_case_is_cut_to_what_matters() -> None:
    study = draw(5, "logistic")
    name = study.variants.name[7]
    small = shrunk(study, lambda less: name in less.variants.name, seconds=20)
    assert (small.variants.name.tolist(), small.cohorts) == ([name], FEWEST_COHORTS)
    assert set(small.plan) <= {"files"} and not small.names and len(small.people.sex) == FEWEST_COHORTS


def test_a_seed_is_one_federation() -> None:
    one, again, other = draw(11), draw(11), draw(12)
    assert one.plan == again.plan and (one.variants.copies == again.variants.copies).all()
    assert one.variants.copies.shape != other.variants.copies.shape
