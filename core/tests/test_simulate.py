"""The simulated files, by themselves and by PLINK; tests/oracles has studies of them beside the pool."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plinks import plink, rows
from unpooled.errors import UnpooledError
from unpooled.simulate import genotypes, simulate
from unpooled.simulate.genotypes import Thresholds, WordStream

SIZES = (61, 90, 203)  # remainders 1, 2 and 3 modulo 4: every alignment of the pooled rows
ODD: dict[str, Any] = {
    "cohorts": SIZES,
    "variants": 3000,
    "seed": 11,
    "case_fractions": (0.3, 0.5, 0.6),
    "missing_rate": (0.3, 0.05),
    "missing_phenotype_rate": 0.1,
    "nonfounder_rate": 0.2,
    "oddities": True,
    "effects": (2.5,),
    "covariates": 3,
    "sex_chromosomes": True,
}


@dataclass
class Files:
    """A fileset as read by the slow, clear way."""

    bim: list[list[str]]
    fam: list[list[str]]
    codes: np.ndarray  # uint8 (m, n)

    @classmethod
    def read(cls, prefix: Path) -> Files:
        bim = [line.split() for line in prefix.with_suffix(".bim").read_text().splitlines()]
        fam = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
        raw = np.fromfile(prefix.with_suffix(".bed"), dtype=np.uint8)
        assert raw[:3].tobytes() == b"\x6c\x1b\x01"
        return cls(bim, fam, genotypes.unpack(raw[3:].reshape(len(bim), -1), len(fam)))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    simulate(folder, **ODD)
    return folder


@pytest.fixture(scope="module")
def cohorts(odd: Path) -> list[Files]:
    return [Files.read(odd / f"cohort{k}") for k in (1, 2, 3)]


@pytest.fixture(scope="module")
def pooled(odd: Path) -> Files:
    return Files.read(odd / "pooled")


@pytest.fixture(scope="module")
def truth(odd: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((odd / "truth.json").read_text())
    return content


def test_ties_are_exact_and_pooled_order_is_the_majority(
    cohorts: list[Files], pooled: Files, truth: dict[str, Any]
) -> None:
    founder = np.array([row[2:4] == ["0", "0"] for row in pooled.fam])
    rows = {row[1]: i for i, row in enumerate(pooled.bim)}
    shown = [{row[1]: tuple(row[4:]) for row in files.bim} for files in cohorts]
    tied = truth["oddities"]["tied frequencies"]
    assert len(tied) == 15
    for name in tied:
        codes = pooled.codes[rows[name]]
        for group in (founder, ~founder):
            assert np.count_nonzero(codes[group] == 0) == np.count_nonzero(codes[group] == 3)
        orders = Counter(of[name] for of in shown)
        assert len(orders) == 2
        assert tuple(pooled.bim[rows[name]][4:]) == orders.most_common(1)[0][0]


def test_every_kind_of_oddity_is_there(cohorts: list[Files], pooled: Files, truth: dict[str, Any]) -> None:
    kinds = truth["oddities"]
    assert all(kinds.values())
    shown = [{row[1]: row for row in files.bim} for files in cohorts]
    in_pool = {row[1]: row for row in pooled.bim}
    codes = dict(zip((row[1] for row in pooled.bim), pooled.codes, strict=True))

    for name in kinds["swapped"]:
        assert len({tuple(of[name][4:]) for of in shown}) == 2
    for name in kinds["flipped"]:
        assert len({frozenset(of[name][4:]) for of in shown}) == 2
    for name in kinds["absent in one cohort"]:
        assert sum(name in of for of in shown) == len(shown) - 1
    for name in kinds["monomorphic"] + kinds["monomorphic, one allele 0"]:
        assert len(set(codes[name]) - {genotypes.NO_CALL}) == 1
        assert ("0" in in_pool[name][4:]) == (name in kinds["monomorphic, one allele 0"])
    for name in kinds["monomorphic in one cohort, allele 0"]:
        assert [("0" in of[name][4:]) for of in shown].count(True) == 1
        assert "0" not in in_pool[name][4:]
    for name in kinds["no calls"]:
        assert set(codes[name]) == {genotypes.NO_CALL}
    for name in kinds["insertion"]:
        assert max(map(len, in_pool[name][4:])) > 1
    for name in kinds["differing positions"]:
        assert len({of[name][3] for of in shown}) == 2
    assert max(Counter(row[1] for row in cohorts[0].bim).values()) > 1
    assert sum(set(row[4:]) in ({"A", "T"}, {"C", "G"}) for row in pooled.bim) > 0.1 * len(pooled.bim)


def test_people_and_tables(odd: Path, cohorts: list[Files]) -> None:
    for k, files in enumerate(cohorts):
        phenotypes = Counter(row[5] for row in files.fam)
        assert phenotypes["-9"] + phenotypes["0"] == round(0.1 * SIZES[k])
        assert {"0", "1", "2"} == {row[4] for row in files.fam}
        nonfounders = [row for row in files.fam if row[2:4] != ["0", "0"]]
        assert len(nonfounders) == round(0.2 * SIZES[k])
        lines = [line.split() for line in (odd / f"cohort{k + 1}.cov").read_text().splitlines()]
        assert lines[0] == ["FID", "IID", "AGE", "BMI", "PC1"]
        people = {tuple(row[:2]) for row in files.fam}
        assert people < {tuple(row[:2]) for row in lines[1:]}
        assert any("NA" in row for row in lines)


def test_sex_decides_the_haploid_calls(tmp_path: Path) -> None:
    simulate(tmp_path, cohorts=1, samples=200, variants=3000, sex_chromosomes=True, missing_rate=(0.0, 0.0))
    files = Files.read(tmp_path / "cohort1")
    chromosome = np.array([int(row[0]) for row in files.bim])
    men = np.array([row[4] == "1" for row in files.fam])
    het = files.codes == genotypes.HET
    assert not het[chromosome == 23][:, men].any()
    assert het[chromosome == 23][:, ~men].any()
    assert (files.codes[chromosome == 24][:, ~men] == genotypes.NO_CALL).all()
    assert not het[np.isin(chromosome, (24, 26))].any()


def test_same_arguments_same_bytes(odd: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "again", **ODD)
    simulate(tmp_path / "other", **ODD | {"seed": 12})
    for file in sorted(odd.iterdir()):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    assert (tmp_path / "other" / "pooled.bed").read_bytes() != (odd / "pooled.bed").read_bytes()


def test_files_can_be_left_out(tmp_path: Path) -> None:
    report = simulate(tmp_path, cohorts=2, samples=10, variants=100, phenotype_files=True, pooled=False)
    assert report.pooled is None
    assert not (tmp_path / "pooled.bed").exists()
    assert {row[5] for row in Files.read(report.cohorts[0]).fam} == {"-9"}
    assert len(report.phenotypes[0].read_text().splitlines()) == 11
    assert not (tmp_path / ".unfinished").exists()


@pytest.mark.parametrize("samples", [1, 4, 7, 66])
def test_packing(samples: int) -> None:
    rng = np.random.default_rng(samples)
    codes = rng.integers(0, 4, size=(5, samples), dtype=np.uint8)
    packed = genotypes.pack(codes)
    np.testing.assert_array_equal(genotypes.unpack(packed, samples), codes)
    exchanged = genotypes.unpack(genotypes.exchange_alleles(packed, samples), samples)
    np.testing.assert_array_equal(exchanged, np.array([3, 1, 2, 0])[codes])
    for other in range(1, 9):
        more = rng.integers(0, 4, size=(5, other), dtype=np.uint8)
        both = genotypes.side_by_side([packed, genotypes.pack(more), packed], [samples, other, samples])
        np.testing.assert_array_equal(both, genotypes.pack(np.concatenate([codes, more, codes], axis=1)))


def test_packed_draws_have_the_asked_frequencies() -> None:
    frequency, missing = np.array([[0.0], [0.1], [0.5], [0.9]]), np.array([[0.0], [0.05], [0.0], [0.3]])
    limits = Thresholds.diploid(frequency, missing)
    samples = 100_003
    packed = genotypes.draw_packed(WordStream(np.random.SeedSequence(1)), samples, limits)
    codes = genotypes.unpack(packed, samples)
    np.testing.assert_array_equal(packed, genotypes.pack(codes))  # so the padding is zero
    share = np.stack([(codes == code).mean(axis=1) for code in range(4)], axis=1)
    p, m = frequency[:, 0], missing[:, 0]
    expected = np.stack([(1 - m) * p**2, m, (1 - m) * 2 * p * (1 - p), (1 - m) * (1 - p) ** 2], axis=1)
    np.testing.assert_allclose(share, expected, atol=0.006)
    assert (codes[0] == genotypes.HOM_B).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cohorts": 0}, "at least one cohort"),
        ({"cohorts": (500, 2)}, "at least 4 samples"),
        ({"case_fractions": (0.5, 0.5)}, "3 cohorts but 2 case fractions"),
        ({"case_fractions": 1.5}, "between 0 and 1"),
        ({"missing_rate": (0.1, 0.9)}, "at most half"),
        ({"oddities": True, "variants": 200}, "to plant every oddity"),
        ({"variants": 5}, "at least 32 variants"),
        ({"trait": "binary"}, "case/control or quantitative"),
        ({"effects": (0.0,)}, "odds ratio is above 0"),
        ({"effects": (2.0,) * 101}, "cannot be planted"),
    ],
)
def test_a_request_that_cannot_be_met_leaves_nothing(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    arguments: dict[str, Any] = {"cohorts": 3, "samples": 20, "variants": 100}
    with pytest.raises(UnpooledError, match=words):
        simulate(tmp_path / "out", **arguments | change)
    assert not list(tmp_path.glob("out/*"))


class TestWithPlink:
    def test_planted_odds_ratios_are_found(self, tmp_path: Path) -> None:
        effects = (2.5, 0.4, 2.0)
        report = simulate(tmp_path, cohorts=3, samples=600, effects=effects, seed=5)
        plink("--bfile", tmp_path / "pooled", "--assoc", "--out", tmp_path / "pooled")
        tested = [row for row in rows(tmp_path / "pooled.assoc") if row["P"] != "NA"]
        best = sorted(tested, key=lambda row: float(row["P"]))[:3]
        assert {row["SNP"] for row in best} == set(report.planted)
        alleles = {
            e["id"]: (e["effect_allele"], e["odds_ratio"])
            for e in json.loads(report.truth.read_text())["planted"]
        }
        for row in best:
            allele, odds_ratio = alleles[row["SNP"]]
            measured = float(row["OR"]) if row["A1"] == allele else 1 / float(row["OR"])
            assert measured == pytest.approx(odds_ratio, rel=0.25)

    def test_planted_effects_on_a_quantitative_trait_are_found(self, tmp_path: Path) -> None:
        report = simulate(
            tmp_path,
            cohorts=3,
            samples=400,
            trait="quantitative",
            effects=(0.5, -0.4),
            covariates=2,
            phenotype_files=True,
            missing_phenotype_rate=0.05,
            variants=1000,
        )
        tables = ["--pheno", str(tmp_path / "pooled.pheno"), "--covar", str(tmp_path / "pooled.cov")]
        words = ("--linear", "hide-covar", *tables, "--out", tmp_path / "pooled")
        plink("--bfile", tmp_path / "pooled", *words)
        tested = [row for row in rows(tmp_path / "pooled.assoc.linear") if row["P"] != "NA"]
        best = sorted(tested, key=lambda row: float(row["P"]))[:2]
        assert {row["SNP"] for row in best} == set(report.planted)
        assert {row["NMISS"] for row in best} == {"1140"}
