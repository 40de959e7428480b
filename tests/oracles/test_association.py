"""Rehearsed studies against plink1.9 on the pooled data, byte by byte, whatever the cohorts' files are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from unpooled.simulate import simulate

from ..conftest import Rehearse, inflation
from ..plinks import bfiles, plink, plink2, split
from .reports import same_bytes

FILES = ("assoc", "frq", "lmiss", "hwe")
SHARES = {3: (5, 3, 2), 4: (6, 1, 2, 3), 7: (9, 2, 5, 1, 4, 3, 2)}


@pytest.mark.parametrize(("cohorts", "nonfounders"), [(3, False), (4, True), (7, False), (3, True)])
def test_mice_in_uneven_cohorts_give_the_pooled_files(
    cohorts: int, nonfounders: bool, mouse: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    flags = ["--nonfounders"] if nonfounders else []
    parts = split(mouse, SHARES[cohorts], tmp_path, "--chr-set", "19")
    pooled = tmp_path / "pooled"
    plink("--bfile", mouse, "--chr-set", 19, "--allow-no-sex", *flags,
          "--assoc", "--freq", "--missing", "--hardy", "--out", pooled)  # fmt: skip
    ours = tmp_path / "ours"
    floors = ["--min-samples", 20, "--min-per-class", 1]
    rehearse(*bfiles(parts), "--chr-set", 19, "--allow-no-sex", *flags, *floors, "--out", ours)
    same_bytes(ours, pooled, FILES)
    report = json.loads(Path(f"{ours}.report.json").read_text())
    assert report["cohorts"] == cohorts


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated cohorts of 100,000 variants with every oddity of real files."""
    folder = tmp_path_factory.mktemp("odd")
    simulate(
        folder,
        cohorts=[300, 200, 150],
        variants=100_000,
        seed=7,
        case_fractions=[0.6, 0.4, 0.3],
        missing_rate=(0.3, 0.02),
        missing_phenotype_rate=0.03,
        nonfounder_rate=0.1,
        oddities=True,
        sex_chromosomes=True,
    )
    return folder


def cohorts_in(folder: Path, order: tuple[int, ...] = (1, 2, 3)) -> list[object]:
    return bfiles(folder / f"cohort{number}" for number in order)


@pytest.mark.services
@pytest.mark.parametrize("nonfounders", [False, True], ids=["founders", "nonfounders"])
def test_odd_cohorts_give_the_pooled_files(
    nonfounders: bool, odd: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    flags = ["--nonfounders"] if nonfounders else []
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    log = plink("--bfile", odd / "pooled", *flags, "--assoc", "--adjust", "--freq", "--missing", "--hardy",
                "--out", pooled)  # fmt: skip
    said = rehearse(*cohorts_in(odd), *flags, "--out", ours).stdout
    assert inflation(said) == f"{float(inflation(log)):.3f}"
    same_bytes(ours, pooled, FILES)
    truth = json.loads((odd / "truth.json").read_text())
    left_out = {item["id"] for item in truth["left_out"]}
    remarks = [line.split("\t") for line in Path(f"{ours}.variants.tsv").read_text().splitlines()[1:]]
    assert {row[2] for row in remarks if row[3] == "left out"} == left_out


def test_variants_are_chosen_as_by_plink(odd: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    """Variants are chosen by chromosome, by name, and by filters; people by missing calls in the rest."""
    ids = [line.split()[1] for line in (odd / "pooled.bim").read_text().splitlines()]
    extract, exclude = tmp_path / "extract", tmp_path / "exclude"
    extract.write_text("\n".join([*ids[::2], "rs0", *ids[:4]]) + "\n")
    exclude.write_text(" ".join([*ids[::10], "rs0"]))
    flags = ["--chr", "1-3,21,X,26", "--extract", extract, "--exclude", exclude, "--mind", "0.007",
             "--maf", "0.05", "--geno", "0.03", "--hwe", "0.01"]  # fmt: skip
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    log = plink("--bfile", odd / "pooled", *flags, "--assoc", "--adjust", "--freq", "--missing",
                "--hardy", "--out", pooled)  # fmt: skip
    rehearse(*cohorts_in(odd), *flags, "--adjust", "--out", ours)
    assert "people removed due to missing genotype data (--mind)" in log
    same_bytes(ours, pooled, (*FILES, "assoc.adjusted"))


@pytest.mark.parametrize(
    ("order", "flags"),
    [
        ((3, 1, 2), ["--chunk-size", "7777"]),
        ((2, 3, 1), ["--chunk-size", "100000", "--ring", "64"]),
        ((1, 2, 3), ["--ring", "128", "--threads", "2"]),
        ((1, 2, 3), ["--masking", "gaussian"]),
    ],
    ids=["small chunks", "ring 64", "ring 128", "gaussian"],
)
def test_the_bytes_depend_on_nothing_but_the_data(
    order: tuple[int, ...], flags: list[str], odd: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    plink("--bfile", odd / "pooled", "--assoc", "--freq", "--missing", "--hardy", "--out", pooled)
    rehearse(*cohorts_in(odd, order), *flags, "--out", ours)
    same_bytes(ours, pooled, FILES)


FLAGS = ("--chr-set", 19, "--allow-no-sex", "--nonfounders", "--min-samples", 20, "--min-per-class", 1)


def test_pgen_vcf_and_bgen_among_beds_give_the_same_bytes(
    few: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    bed, in_pgen, in_vcf, in_bgen = split(few, (4, 3, 3, 3), tmp_path, "--chr-set", "19")
    # Other names, so that nothing can be read from the .bed by mistake.
    pgen, vcf, bgen = tmp_path / "p", tmp_path / "v.vcf.gz", tmp_path / "g.bgen"
    exported = ("--chr-set", 19, "--export")
    plink2("--bfile", in_pgen, "--chr-set", 19, "--make-pgen", "--out", pgen)
    plink2("--bfile", in_vcf, *exported, "vcf", "bgz", "id-paste=iid", "--out", tmp_path / "v")
    plink2("--bfile", in_bgen, *exported, "bgen-1.2", "bits=8", "ref-first", "--out", tmp_path / "g")
    plink(
        "--bfile", few, *FLAGS[:4], "--assoc", "--freq", "--missing", "--hardy", "--out", tmp_path / "pooled"
    )
    genotypes = ("--bfile", bed, "--pfile", pgen, "--vcf", vcf, "--bgen", bgen)
    people = ("--sample", tmp_path / "g.sample", "--psam", f"{in_vcf}.fam", "--psam", f"{in_bgen}.fam")
    rehearse(*genotypes, *people, *FLAGS, "--copies", tmp_path / "copies", "--out", tmp_path / "ours")
    same_bytes(tmp_path / "ours", tmp_path / "pooled", FILES)


def test_rehearsal_wants_all_three_files(few: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    shutil.copy(f"{few}.bed", tmp_path / "x.pgen")
    done = rehearse("--pfile", tmp_path / "x", "--out", tmp_path / "ours", check=False)
    assert done.returncode == 2
    assert "x.pvar" in done.stderr and "x.psam" in done.stderr
