"""A cohort's .pgen, .pvar and .psam: people, variants and calls are those of the .bed that plink2 makes."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opening import opened, read, said

from unpooled.errors import DataProblem
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.kernels.packing import MISSING, pack_copies
from unpooled_client.data import estimate
from unpooled_client.data.checks.calls import codes_of
from unpooled_client.data.findings.report import Code, Severity

CODES = {0: 3, 1: 2, 2: 0, MISSING: 1}


@pytest.fixture(scope="module")
def made(plink2: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """77 people, 300 variants with missing calls and dosages: as .pgen and as .bed."""
    prefix = tmp_path_factory.mktemp("pgen") / "t"
    plink2("--dummy", 77, 300, 0.05, 0.02, "dosage-freq=0.2", "--seed", 3, "--out", prefix)
    plink2("--pfile", prefix, "--make-bed", "--out", prefix)
    return prefix


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """The three files, to be spoiled."""
    for kind in ("pgen", "pvar", "psam"):
        shutil.copy(f"{made}.{kind}", tmp_path / f"t.{kind}")
    return tmp_path / "t"


def found(prefix: Path, code: Code, **options: object) -> list[str]:
    return said(read(pfile=prefix, **options)[1], code)


def test_packed_copies_are_the_codes_of_a_bed() -> None:
    copies = np.random.default_rng(1).choice(np.array([0, 1, 2, MISSING], np.int8), (50, 96))
    packed = pack_copies(copies)
    calls = packed[:, :, None] >> np.arange(0, 64, 2).astype(np.uint64) & np.uint64(3)
    assert (calls.reshape(50, 96) == np.vectorize(CODES.get)(copies)).all()


def test_a_pgen_is_read_as_its_bed(made: Path) -> None:
    mine, theirs = opened(pfile=made), opened(bfile=made)
    assert mine.panel.name.tolist() == theirs.panel.name.tolist()
    for attribute in ("chromosome", "position", "first", "second"):
        assert (getattr(mine.panel, attribute) == getattr(theirs.panel, attribute)).all(), attribute
    assert (mine.variants.a1_is_first == theirs.variants.a1_is_first).all()
    assert np.array_equal(mine.samples.phenotype, theirs.samples.phenotype, equal_nan=True)
    assert (mine.samples.sex == theirs.samples.sex).all()
    assert mine.samples.founder.all()
    rows = np.random.default_rng(2).integers(-1, 300, 1000)
    calls = [data.genotypes.words(rows) for data in (mine, theirs)]
    spare = np.uint64(64 - 2 * (77 % 32))
    for words in calls:
        words[:, -1] <<= spare
    assert (calls[0] == calls[1]).all()


def test_dosages_are_told(made: Path, copied: Path, plink2: Callable[..., None]) -> None:
    [said] = found(made, Code.PGEN_DOSAGES)
    assert "hard calls" in said and "--hard-call-threshold" in said
    plink2("--bfile", made, "--make-pgen", "--out", copied)
    assert not found(copied, Code.PGEN_DOSAGES)


def test_a_study_of_dosages_tells_who_has_calls_alone(made: Path) -> None:
    """It goes on with whole copies; whoever has dosages hears nothing of it."""
    for given, count in ({"bfile": made}, 1), ({"pfile": made}, 0):
        data, report = read(**given, dosages=True)
        assert data is not None
        told = [each for each in report.findings if each.code == Code.CALLS_ONLY]
        assert len(told) == count and all("whole copies" in each.message for each in told)


def test_the_estimate_counts_what_pgenlib_holds_and_dosages(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "PER_VARIANT_OF_PGEN", 1e9)
    monkeypatch.setattr(estimate, "DOSAGE", 1e9)

    def told(**given: object) -> float:
        report = read(**given)[1]
        return float(report.summary["estimate"]["memory"].split()[1])

    assert told(bfile=made) < 1
    assert told(pfile=made) == pytest.approx(300, abs=1)
    assert told(pfile=made, dosages=True) > 300 + 77 * 300 / 4


def test_dosages_are_those_of_the_file(made: Path, plink2: Callable[..., None], tmp_path: Path) -> None:
    """Dosages are as plink2 exports them, with the digits that tell them apart; absent ones are missing."""
    plink2("--pfile", made, "--export", "A-transpose", "--export-allele", _alt(made, tmp_path), "--out",
           tmp_path / "t")  # fmt: skip
    lines = [line.split() for line in (tmp_path / "t.traw").read_text().splitlines()[1:]]
    values = np.array([[np.nan if word == "NA" else float(word) for word in line[6:]] for line in lines])
    genotypes = opened(pfile=made).genotypes
    assert genotypes.has_dosages
    rows = np.random.default_rng(5).integers(-1, 300, 500)
    found = genotypes.dosages(rows)
    assert (found[rows < 0] == NO_DOSAGE).all()
    found, wanted = found[rows >= 0], values[rows[rows >= 0]]
    assert (found.dtype, found.shape) == (np.uint16, wanted.shape)
    assert np.array_equal(found == NO_DOSAGE, np.isnan(wanted))
    there = found != NO_DOSAGE
    assert (found[there] == np.rint(wanted[there] * COPY)).all()
    assert (found[there] % COPY > 0).mean() > 0.1


def _alt(prefix: Path, folder: Path) -> Path:
    """A file of the ALT allele of each variant."""
    rows = [line.split() for line in Path(f"{prefix}.pvar").read_text().splitlines() if line[0] != "#"]
    (path := folder / "alt").write_text("".join(f"{row[2]}\t{row[4]}\n" for row in rows))
    return path


def test_dosages_of_calls_are_whole_copies(made: Path, copied: Path, plink2: Callable[..., None]) -> None:
    bed = opened(bfile=made).genotypes
    assert not bed.has_dosages
    rows = np.random.default_rng(6).integers(-1, 300, 200)
    codes = codes_of(bed, rows)
    assert (bed.dosages(rows) == np.array([2 * COPY, NO_DOSAGE, COPY, 0])[codes]).all()
    plink2("--bfile", made, "--make-pgen", "--out", copied)
    assert (opened(pfile=copied).genotypes.dosages(rows) == bed.dosages(rows)).all()


def test_an_aligned_cohort_has_the_dosages_of_its_file(made: Path) -> None:
    data = opened(pfile=made)
    aligned = data.align(data.panel)
    some = np.array([7, 3, 290])
    found = aligned.dosages(some)
    assert (found.values == data.genotypes.dosages(data.variants.row[some])).all()
    assert (found.swapped == aligned.packed(some).swapped).all()


def test_several_threads_read_at_once(made: Path) -> None:
    genotypes = opened(pfile=made).genotypes
    rows = np.random.default_rng(3).integers(0, 300, (40, 100))
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(genotypes.words, rows))
    assert all((words == genotypes.words(row)).all() for words, row in zip(many, rows, strict=True))


def test_columns_stand_in_any_order(copied: Path, made: Path) -> None:
    rows = [line.split() for line in Path(f"{copied}.pvar").read_text().splitlines() if line[:2] != "##"]
    lines = [
        "##fileformat=VCFv4.2",
        "##more",
        "\t".join(["#CHROM", "ID", "QUAL", "ALT", "POS", "REF", "INFO"]),
    ]
    lines += ["\t".join([c, name, ".", alt, at, ref, "PR;X=1"]) for c, at, name, ref, alt in rows[1:]]
    Path(f"{copied}.pvar").write_text("\n".join(lines) + "\n")
    people = [line.split() for line in Path(f"{copied}.psam").read_text().splitlines()]
    assert people[0] == ["#IID", "SEX", "PHENO1"]
    lines = ["#FID\tIID\tPAT\tMAT\tBMI\tSEX", *(f"F\t{a}\t0\t0\t{20 + k}\t{'FM'[b == '1']}"
             for k, (a, b, _) in enumerate(people[1:]))]  # fmt: skip
    Path(f"{copied}.psam").write_text("\n".join(lines) + "\n")
    mine, before = opened(pfile=copied), opened(pfile=made)
    assert mine.panel.name.tolist() == before.panel.name.tolist()
    assert (mine.variants.a1_is_first == before.variants.a1_is_first).all()
    assert (mine.samples.sex == before.samples.sex).all()
    assert mine.samples.phenotype.tolist() == [20.0 + k for k in range(77)]
    assert (mine.phenotypes, mine.trait) == (("BMI",), "quantitative")


def test_without_headers_they_are_a_bim_and_a_fam(copied: Path, made: Path) -> None:
    shutil.copy(f"{made}.bim", f"{copied}.pvar")
    shutil.copy(f"{made}.fam", f"{copied}.psam")
    mine, theirs = opened(pfile=copied), opened(bfile=made)
    assert (mine.samples.sex == theirs.samples.sex).all()
    assert (mine.variants.a1_is_first == theirs.variants.a1_is_first).all()


def test_variants_of_several_alleles_are_passed_over(copied: Path) -> None:
    path = Path(f"{copied}.pvar")
    lines = path.read_text().splitlines()
    lines[5] = lines[5].rpartition("\t")[0] + "\tB,C"
    lines[9] = lines[9].rpartition("\t")[0] + "\t."
    path.write_text("\n".join(lines) + "\n")
    data = opened(pfile=copied)
    assert len(data.panel) == 299
    assert data.variants.row.tolist() == [row for row in range(301) if row not in (4, 5)]
    [said] = found(copied, Code.ALLELES_SEVERAL)
    assert "B,C" in said and "bcftools norm -m-" in said and "by place" in said


CHROMOSOMES = {"1": 1, "9": 9, "22": 22, "PAR1": 25, "X": 23, "PAR2": 25, "Y": 24, "MT": 26}
STYLES = ("26", "M", "MT", "0M", "chr26", "chrM", "chrMT")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("program", ["plink1.9", "plink2"])
def test_every_code_that_a_plink_writes_is_read(files: Any, program: str, style: str) -> None:
    """Every variant is read. plink2 writes XY for Y in the style 0M."""
    places = {"PAR1": ("X", 100_000), "X": ("X", 50_000_000), "PAR2": ("X", 155_000_000)}
    lines = [places.get(word, (word, 100)) for word in CHROMOSOMES]
    files.write(bim="".join(f"{word}\tv{k}\t0\t{at}\tA\tG\n" for k, (word, at) in enumerate(lines)))
    made = ["--make-bed"] if program == "plink1.9" else ["--split-par", "hg19", "--make-pgen"]
    command = [program, "--bfile", "t", *made, "--output-chr", style, "--out", "styled"]
    done = subprocess.run(command, cwd=files.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    option = {"bfile": files.folder / "styled"} if program == "plink1.9" else {
        "bfile": None, "pfile": files.folder / "styled"
    }  # fmt: skip
    panel = files.open(**option).panel
    found = dict(zip(panel.name.tolist(), panel.chromosome.tolist(), strict=True))
    wanted = {b"v%d" % k: code for k, code in enumerate(CHROMOSOMES.values())}
    if program == "plink1.9":
        wanted |= {b"v3": 23, b"v5": 23}
    elif style == "0M":
        wanted |= {b"v6": 25}
    assert found == wanted


def test_an_allele_that_was_not_seen_is_a_dot(copied: Path) -> None:
    path = Path(f"{copied}.pvar")
    path.write_text(
        "\n".join(line.replace("\tA\tB", "\tA\t.") for line in path.read_text().splitlines()) + "\n"
    )
    assert b"0" in opened(pfile=copied).panel.alleles


@pytest.mark.parametrize("kind", ["pgen", "pvar", "psam"])
def test_a_missing_file_is_named(copied: Path, kind: str) -> None:
    Path(f"{copied}.{kind}").rename(f"{copied}.{kind}.zst")
    [said] = found(copied, Code.FILE_MISSING)
    assert f"unzstd t.{kind}.zst" in said
    Path(f"{copied}.{kind}.zst").unlink()
    [said] = found(copied, Code.FILE_MISSING)
    assert f"Copy t.{kind}" in said and "plink2 --make-pgen" in said and "--pvar" not in said


@pytest.mark.parametrize("how", ["cut off", "a variant more", "a person more"])
def test_a_pgen_of_another_shape_is_refused(copied: Path, how: str) -> None:
    if how == "cut off":
        path = Path(f"{copied}.pgen")
        path.write_bytes(path.read_bytes()[:-4])
    elif how == "a variant more":
        with Path(f"{copied}.pvar").open("a") as file:
            file.write("9\t9\tone-more\tA\tC\n")
    else:
        with Path(f"{copied}.psam").open("a") as file:
            file.write("one-more\t1\t1\n")
    [said] = found(copied, Code.PGEN_SIZE)
    assert {"cut off": "damaged or cut off", "a variant more": "it has 300 variants",
            "a person more": "it has 77 samples"}[how] in said  # fmt: skip


@pytest.mark.parametrize("how", ["a bed", "text"])
def test_what_is_no_pgen_is_told(copied: Path, made: Path, how: str) -> None:
    Path(f"{copied}.pgen").write_bytes(Path(f"{made}.bed").read_bytes() if how == "a bed" else b"chrom")
    [said] = found(copied, Code.PGEN_MAGIC)
    assert ("--bfile" in said) == (how == "a bed")


def test_a_header_without_a_column_is_told_once(copied: Path) -> None:
    path = Path(f"{copied}.pvar")
    path.write_text(path.read_text().replace("\tREF\t", "\tREFERENCE\t"))
    [said] = found(copied, Code.HEADER)
    assert "#CHROM POS ID REF ALT" in said


def test_a_psam_without_a_phenotype(copied: Path) -> None:
    path = Path(f"{copied}.psam")
    path.write_text("".join(line.rpartition("\t")[0] + "\n" for line in path.read_text().splitlines()))
    [said] = found(copied, Code.PHENOTYPE_MISSING)
    assert "--pheno FILE" in said and "Pruning" in said
    [said] = found(copied, Code.COLUMN_UNKNOWN, test="linear")
    assert "--pheno FILE" in said


def test_errors_name_the_column_of_the_psam(copied: Path) -> None:
    path = Path(f"{copied}.psam")
    path.write_text(path.read_text().replace("\t2\n", "\tcase\n", 1))
    report = read(pfile=copied)[1]
    [finding] = [each for each in report.of(Severity.ERROR) if each.code == Code.PHENOTYPE_TEXT]
    assert (finding.column, finding.read) == (3, "case")


@pytest.mark.parametrize("kind", ["pgen", "pvar", "psam"])
def test_damage_is_a_finding(copied: Path, kind: str) -> None:
    """Bytes changed, lost and added: an error that is told, or other data, but nothing else."""
    path, rng = Path(f"{copied}.{kind}"), np.random.default_rng(7)
    good = path.read_bytes()
    for _ in range(40):
        start, stop = np.sort(rng.integers(0, len(good), 2))
        stop = min(int(stop), int(start) + int(rng.integers(0, 40)))
        path.write_bytes(good[:start] + rng.bytes(int(rng.integers(0, 9))) + good[stop:])
        data, report = read(pfile=copied)
        assert (data is None) == bool(report.of(Severity.ERROR))
        if data is not None:
            with contextlib.suppress(DataProblem):
                data.genotypes.words(np.arange(data.variants.rows))


def test_a_file_that_changes_while_it_is_in_use(copied: Path) -> None:
    genotypes = opened(pfile=copied).genotypes
    Path(f"{copied}.pgen").write_bytes(Path(f"{copied}.pgen").read_bytes()[:1000])
    with pytest.raises(DataProblem, match="cannot be read"):
        genotypes.words(np.arange(300))


def test_without_what_reads_them(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgenlib", None)
    [said] = found(copied, Code.PGEN_READER)
    assert "pip install 'unpooled-client[pgen]'" in said
