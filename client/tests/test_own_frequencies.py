"""A cohort's frequencies beside the pool's: no flag where cohorts are alike, and one where they are not."""

from __future__ import annotations

import dataclasses
import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from tests.plinks import plink
from unpooled.methods import ALGORITHMS
from unpooled.methods.frequencies import scores
from unpooled.methods.shared.options import FAR
from unpooled.panel.agreement import reconcile
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run, written
from unpooled.simulate import simulate
from unpooled_client.compare.frequencies import SHOWN, compare_calls, compare_dosages
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.options import DataOptions

PLAN = Plan(test="chi-square", phenotype="ill", cohorts=3, compensator_key=NO_KEY, min_samples=20)
FLIPPED = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cohorts, and plink1.9's .frq of all their people; cohort 4 is cohort 1 with other calls."""
    folder = tmp_path_factory.mktemp("cohorts")
    simulate(folder, cohorts=(180, 100, 120), variants=2000, seed=7, pooled=True)
    prefix = next(path for path in folder.glob("*.bed") if "pool" in path.name).with_suffix("")
    plink("--bfile", prefix, "--freq", "--out", folder / "all")
    for kind in ("bed", "bim", "fam"):
        shutil.copy(folder / f"cohort1.{kind}", folder / f"cohort4.{kind}")
    lines = (folder / "cohort4.bim").read_text().splitlines()
    for k in range(FLIPPED):  # as if the two alleles' names had been mixed up
        *first, a1, a2 = lines[k].split()
        lines[k] = "\t".join([*first, a2, a1])
    (folder / "cohort4.bim").write_text("\n".join(lines) + "\n")
    return folder


def cohort(made: Path, number: int) -> PlinkData:
    data, report = open_cohort(DataOptions(bfile=made / f"cohort{number}", min_samples=20).under(PLAN))
    assert data is not None, report.findings
    return data


def test_cohorts_that_are_alike_have_no_flag(made: Path) -> None:
    for number in (1, 2, 3):
        found = compare_calls(made / "all.frq", cohort(made, number), PLAN, None)
        assert found.variants > 1500
        assert (found.far, found.farthest) == (0, ())


def test_mixed_up_alleles_have(made: Path) -> None:
    data = cohort(made, 4)
    found = compare_calls(made / "all.frq", data, PLAN, None)
    assert FLIPPED // 2 < found.far <= FLIPPED
    assert len(found.farthest) == SHOWN
    names = {line.split()[1] for line in (made / "cohort4.bim").read_text().splitlines()[:FLIPPED]}
    assert {one.name for one in found.farthest} <= names
    first = found.farthest[0]
    assert abs(first.score) == max(abs(one.score) for one in found.farthest) > FAR
    nobody = np.zeros(len(data.samples), bool)
    assert compare_calls(made / "all.frq", data, PLAN, nobody).variants == 0


def test_a_study_that_counts_them_has_the_sum_of_what_each_cohort_finds(made: Path, tmp_path: Path) -> None:
    """The sum is that of the .frq that it gives; the study knows the pool's frequencies to more digits."""
    cohorts = [cohort(made, number) for number in (4, 2, 3)]
    plan = dataclasses.replace(PLAN, files=("frq",), frequency_flags=True, chunk_size=150)
    panel = reconcile({str(k): data.panel for k, data in enumerate(cohorts)}).panel
    tables = run(plan, panel, [data.align(panel) for data in cohorts])
    (tmp_path / "all.frq").write_bytes(written("frq", plan, panel, tables))
    far = [compare_calls(tmp_path / "all.frq", data, plan, None).far for data in cohorts]
    assert far[0] > FLIPPED // 2
    summary = ALGORITHMS[plan.test].summarise(tables)
    assert summary is not None and summary["frequencies_far"] == sum(far)


def test_only_founders_are_compared_unless_the_plan_says_otherwise(made: Path) -> None:
    data = cohort(made, 1)
    samples = dataclasses.replace(data.samples, founder=np.zeros(len(data.samples), bool))
    data = dataclasses.replace(data, samples=samples)
    assert compare_calls(made / "all.frq", data, PLAN, None).variants == 0
    everybody = dataclasses.replace(PLAN, nonfounders=True)
    assert compare_calls(made / "all.frq", data, everybody, None).variants > 1500


def test_a_study_of_dosages_has_the_same_flags(made: Path, tmp_path: Path) -> None:
    """Its frequencies are in GWAS-SSF, where IDs are in the format's signs."""
    rows = [line.split() for line in (made / "all.frq").read_text().splitlines()[1:]]
    lines = ["chromosome\tvariant_id\teffect_allele\tother_allele\teffect_allele_frequency\tn"]
    lines += ["\t".join([chromosome, name, *pair, frequency, str(int(alleles) // 2)])
              for chromosome, name, *pair, frequency, alleles in rows if frequency != "NA"]  # fmt: skip
    with gzip.open(ssf := tmp_path / "all.tsv.gz", "wt") as file:
        file.write("\n".join(lines).replace("rs", "rs_") + "\n")
    for number in (1, 4):
        data = cohort(made, number)
        names = np.char.replace(data.panel.name, b"rs", b"rs:")
        renamed = dataclasses.replace(data.variants, panel=dataclasses.replace(data.panel, ids=names))
        found = compare_dosages(ssf, dataclasses.replace(data, variants=renamed), PLAN, None)
        wanted = compare_calls(made / "all.frq", data, PLAN, None)
        assert (found.variants, found.far) == (wanted.variants, wanted.far)
        for one, other in zip(found.farthest, wanted.farthest, strict=True):
            assert (one.own, one.pool) == (pytest.approx(other.own), pytest.approx(other.pool))


@pytest.mark.parametrize("frequency", [1e-4, 0.002, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("alleles", [200, 1000, 20_000])
def test_chance_alone_is_hardly_ever_far(frequency: float, alleles: int) -> None:
    """The probability of a score beyond 5, of one of very many cohorts, is from the exact distribution."""
    copies = np.arange(alleles + 1)
    everywhere = np.full(alleles + 1, frequency)
    score = scores(copies / alleles, np.full(alleles + 1, alleles), everywhere, np.full(alleles + 1, 1e9))
    assert binom.pmf(copies, alleles, frequency)[np.abs(score) > FAR].sum() < 2e-6


def test_a_cohort_that_is_the_pool_has_no_score() -> None:
    one = np.array([0.3])
    assert np.isnan(scores(one, np.array([100.0]), one, np.array([100.0]))).all()
    assert np.isnan(scores(one, np.array([0.0]), one, np.array([100.0]))).all()
    assert scores(0 * one, np.array([10.0]), 0 * one, np.array([100.0])) == 0
