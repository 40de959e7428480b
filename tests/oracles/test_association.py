"""Rehearsed studies against plink1.9 on the pooled data, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unpooled.simulate import simulate

from ..conftest import Rehearse, inflation
from ..plinks import bfiles, plink, split

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
    for file in FILES:
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file
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
    for file in FILES:
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file
    truth = json.loads((odd / "truth.json").read_text())
    # What PLINK skips when it reads a file never reaches a study: the cohort's own check lists it.
    left_out = {item["id"] for item in truth["left_out"] if "PLINK skips" not in item["why"]}
    remarks = [line.split("\t") for line in Path(f"{ours}.variants.tsv").read_text().splitlines()[1:]]
    assert {row[2] for row in remarks if row[3] == "left out"} == left_out


def test_variants_are_chosen_as_by_plink(odd: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    """By chromosome, by name, and by the filters; people by their missing calls in what is left."""
    ids = [line.split()[1] for line in (odd / "pooled.bim").read_text().splitlines()]
    extract, exclude = tmp_path / "extract", tmp_path / "exclude"
    extract.write_text("\n".join([*ids[::2], "rs0", *ids[:4]]) + "\n")
    exclude.write_text(" ".join([*ids[::10], "rs0"]))
    flags = ["--chr", "1-3,21,X,26", "--extract", extract, "--exclude", exclude, "--mind", "0.007",
             "--maf", "0.05", "--geno", "0.03", "--hwe", "0.01"]  # fmt: skip
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    log = plink(
        "--bfile",
        odd / "pooled",
        *flags,
        "--assoc",
        "--adjust",
        "--freq",
        "--missing",
        "--hardy",
        "--out",
        pooled,
    )
    rehearse(*cohorts_in(odd), *flags, "--adjust", "--out", ours)
    assert "people removed due to missing genotype data (--mind)" in log
    for file in (*FILES, "assoc.adjusted"):
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file


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
    for file in FILES:
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file


def test_a_cohort_in_small_letters_and_one_with_a_contig(rehearse: Rehearse, tmp_path: Path) -> None:
    """As if the letters were capitals, and the contig's variant were not there."""
    simulate(tmp_path, cohorts=[80, 70, 60], variants=2_000, seed=5)
    small, contig = tmp_path / "cohort2.bim", tmp_path / "cohort3.bim"
    rows = [line.split("\t") for line in small.read_text().splitlines()]
    small.write_text("".join("\t".join([*row[:4], *map(str.lower, row[4:])]) + "\n" for row in rows))
    rows = [line.split("\t") for line in contig.read_text().splitlines()]
    (tmp_path / "lost").write_text(rows[700][1])
    rows[700][0] = "GL000194.1"
    contig.write_text("".join("\t".join(row) + "\n" for row in rows))
    pooled, ours = tmp_path / "plink", tmp_path / "ours"
    plink("--bfile", tmp_path / "pooled", "--exclude", tmp_path / "lost", "--assoc", "--freq", "--missing",
          "--hardy", "--out", pooled)  # fmt: skip
    rehearse(*cohorts_in(tmp_path), "--out", ours)
    for file in FILES:
        assert Path(f"{ours}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file
    remarks = [line.split("\t") for line in Path(f"{ours}.variants.tsv").read_text().splitlines()[1:]]
    assert [row[2:] for row in remarks if row[3] == "left out"] == [
        [(tmp_path / "lost").read_text(), "left out", "absent at cohort3"]
    ]
