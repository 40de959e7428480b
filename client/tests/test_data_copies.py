"""VCF, BCF and BGEN: the copy that is read has the dosages and calls that plink2 makes of the same file."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cyvcf2
import numpy as np
import opening
import pytest
from bgen import BgenWriter
from click.testing import CliRunner
from filelock import FileLock
from opening import said as found
from opening import same, write_psam

from tests.patience import until
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled_client.commands.check import check
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.options import DataOptions

PEOPLE, VARIANTS = 40, 150
HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##contig=<ID=X>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">
##FORMAT=<ID=HDS,Number=.,Type=Float,Description="Dosages of haplotypes">
##FORMAT=<ID=GP,Number=G,Type=Float,Description="Probabilities">
"""
COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]


def write_vcf(path: Path, rows: list[tuple[str, str, list[str]]], header: str = HEADER) -> Path:
    """Rows are chromosome, FORMAT and a cell for each person."""
    people = [f"i{k}" for k in range(len(rows[0][2]))]
    lines = ["\t".join([*COLUMNS, *people])]
    for k, (chromosome, fields, cells) in enumerate(rows):
        lines.append("\t".join([chromosome, str(100 + k), f"rs{k}", "A", "C", ".", ".", ".", fields, *cells]))
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def cells(rng: np.random.Generator) -> list[str]:
    """GT:DS:HDS:GP of imputed people: some without dosage, some without call."""
    haplotypes = rng.random((PEOPLE, 2))
    haplotypes = np.where(rng.random((PEOPLE, 2)) < 0.5, haplotypes.round(), haplotypes).round(3)
    found = []
    for first, second in haplotypes.tolist():
        call = f"{int(first > 0.5)}|{int(second > 0.5)}"
        none, both = (1 - first) * (1 - second), first * second
        numbers = f"{first + second:.3f}:{first:.3f},{second:.3f}:{none:.3f},{1 - none - both:.3f},{both:.3f}"
        kind = rng.random()
        found.append(
            "./.:.:.:." if kind < 0.05 else f"{call}:.:.:." if kind < 0.1 else
            f"./.:{numbers}" if kind < 0.13 else f"{call}:{numbers}"
        )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def imputed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A VCF with all four fields, with a .psam beside it."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("imputed")
    path = write_vcf(folder / "t.vcf", [("1", "GT:DS:HDS:GP", cells(rng)) for _ in range(VARIANTS)])
    write_psam(path.with_suffix(".psam"), PEOPLE)
    return path


def read(copies: Path, **given: object) -> tuple[PlinkData | None, Report]:
    if not {"psam", "pheno", "pfile"} & given.keys():  # it is not read before the genotypes are
        given |= {"pheno": copies / "no.pheno", "allow_no_sex": True}
    return opening.read(copies=copies, **given)


def opened(copies: Path, **given: object) -> PlinkData:
    data, report = read(copies, **given)
    assert data is not None, report.findings
    return data


def of_plink2(plink2: Callable[..., None], prefix: Path, psam: Path, *arguments: object) -> PlinkData:
    """The cohort that plink2 makes of the file."""
    plink2(*arguments, "--make-pgen", "--out", prefix)
    shutil.copy(psam, f"{prefix}.psam")
    return opening.opened(pfile=prefix)


@pytest.mark.parametrize("field", ["HDS", "DS", "GP", "GT"])
def test_a_vcf_is_read_as_plink2_reads_it(
    imputed: Path, field: str, plink2: Callable[..., None], tmp_path: Path
) -> None:
    mode = {"GT": [], "GP": ["dosage=GP-force"]}.get(field, [f"dosage={field}"])
    psam = imputed.with_suffix(".psam")
    theirs = of_plink2(plink2, tmp_path / "p", psam, "--vcf", imputed, *mode)
    mine = opened(tmp_path, vcf=imputed, vcf_dosage=field, psam=psam)
    same(mine, theirs)
    assert mine.genotypes.has_dosages == (field != "GT")


@pytest.mark.parametrize("kind", ["wz", "wb"])
def test_packed_vcf_and_bcf(imputed: Path, kind: str, plink2: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / {"wz": "t.vcf.gz", "wb": "t.bcf"}[kind]
    writer = cyvcf2.Writer(str(path), cyvcf2.VCF(str(imputed)), kind)
    for record in cyvcf2.VCF(str(imputed)):
        writer.write_record(record)
    writer.close()
    psam = imputed.with_suffix(".psam")
    option = "--vcf" if kind == "wz" else "--bcf"
    theirs = of_plink2(plink2, tmp_path / "p", psam, option, path, "dosage=DS")
    same(opened(tmp_path, vcf=path, vcf_dosage="DS", psam=psam), theirs)


ODD = [
    ("1", "GT:DS", "0:0.6", 1.2),
    ("1", "GT", "0|1|1", None),
    ("1", "GT:DS:HDS", "0/1:0.5:.,.", 0.5),
    ("1", "GT:DS:HDS", "0/1:.:.", 1.0),
    ("1", "DS", ".", None),
    ("1", "GT:DS", "./.:1.05", 1.05),
    ("X", "GT:DS", "1:0.6", 1.2),
    ("X", "GT:DS", "1:.", 2.0),
    ("X", "GT:DS", "1", 2.0),
    ("X", "HDS", "0.6", 1.2),
    ("X", "GT:HDS", "1:0.6", 1.2),
]


def test_odd_cells_are_read_as_plink2_reads_them(plink2: Callable[..., None], tmp_path: Path) -> None:
    whole = {"GT": "0/1", "DS": "1", "HDS": "0,1"}
    rows = [(c, fields, [cell, ":".join(whole[f] for f in fields.split(":"))]) for c, fields, cell, _ in ODD]
    path = write_vcf(tmp_path / "t.vcf", rows)
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\ni0\t1\t1\ni1\t2\t2\n")
    theirs = of_plink2(plink2, tmp_path / "p", psam, "--vcf", path, "dosage=HDS", "--psam", psam)
    mine = opened(tmp_path, vcf=path, psam=psam)
    same(mine, theirs)
    dosages = mine.genotypes.dosages(np.arange(len(ODD)))[:, 0]
    wanted = [NO_DOSAGE if copies is None else round(copies * COPY) for *_, copies in ODD]
    assert dosages.tolist() == wanted


@pytest.mark.parametrize(
    ("fields", "cell", "said"),
    [
        ("GT:DS", "0/0:2.1", "no dosage"),
        ("GT:DS", "0/0:-0.1", "no dosage"),
        ("GT:DS", "1:1.4", "no dosage"),
        ("GT:HDS", "0|1:1.2,0.1", "no dosage"),
        ("GT:DS", "0/.:0.3", "0/."),
        ("GT", "0/.", "0/."),
    ],
)
def test_where_plink2_stops_one_call_is_missing(tmp_path: Path, fields: str, cell: str, said: str) -> None:
    path = write_vcf(tmp_path / "t.vcf", [("1", fields, [cell, cell.replace(cell, "0/1")])])
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\ni0\t1\t1\ni1\t2\t2\n")
    data, report = read(tmp_path, vcf=path, psam=psam)
    assert data is not None
    assert data.genotypes.dosages(np.arange(1)).tolist() == [[NO_DOSAGE, COPY]]
    [warning] = found(report, Code.DOSAGE)
    assert said in warning


def test_several_alleles_are_passed_over(imputed: Path, tmp_path: Path) -> None:
    lines = imputed.read_text().splitlines()
    first = HEADER.count("\n") + 1
    lines[first + 4] = lines[first + 4].replace("\tA\tC\t", "\tA\tC,T\t")
    lines[first + 6] = lines[first + 6].replace("\tA\tC\t", "\tA\t.\t")
    (path := tmp_path / "t.vcf").write_text("\n".join(lines) + "\n")
    data, report = read(tmp_path, vcf=path, psam=imputed.with_suffix(".psam"))
    assert data is not None
    assert data.variants.row.tolist() == [row for row in range(VARIANTS + 1) if row not in (4, 5)]
    [said] = found(report, Code.ALLELES_SEVERAL)
    assert "C,T" in said


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("version", ["bgen-1.2", "bgen-1.3"])
def test_a_bgen_is_read_as_plink2_reads_it(
    imputed: Path, bits: int, version: str, plink2: Callable[..., None], tmp_path: Path
) -> None:
    psam = imputed.with_suffix(".psam")
    exported = ("--export", version, f"bits={bits}", "--out", tmp_path / "t")
    plink2("--vcf", imputed, "dosage=DS", "--psam", psam, *exported)
    path, sample = tmp_path / "t.bgen", tmp_path / "t.sample"
    theirs = of_plink2(plink2, tmp_path / "p", psam, "--bgen", path, "ref-first", "--sample", sample)
    same(opened(tmp_path, bgen=path, sample=sample, psam=psam), theirs)


def layout_2(path: Path, pairs: np.ndarray, bits: int, *, phased: bool) -> None:
    """A BGEN of one variant, with these numbers of each person, by the format's own description."""

    def text(word: bytes, kind: str) -> bytes:
        return struct.pack(f"<{kind}", len(word)) + word

    n = len(pairs)
    data = struct.pack("<IHBB", n, 2, 2, 2) + bytes([2]) * n + bytes([phased, bits])
    data += pairs.astype("<u1" if bits == 8 else "<u2").tobytes()
    packed = zlib.compress(data)
    variant = text(b"v", "H") + text(b"rs1", "H") + text(b"1", "H") + struct.pack("<IH", 100, 2)
    variant += text(b"A", "I") + text(b"C", "I") + struct.pack("<II", len(packed) + 4, len(data)) + packed
    path.write_bytes(struct.pack("<IIII4sI", 20, 20, 1, n, b"bgen", 1 | 2 << 2) + variant)
    people = "".join(f"{k} {k} 0 1\n" for k in range(1, n + 1))
    path.with_suffix(".sample").write_text("ID_1 ID_2 missing sex\n0 0 0 D\n" + people)


@pytest.mark.parametrize("phased", [False, True])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_probability_is_rounded_as_plink2_rounds_it(
    bits: int, phased: bool, plink2: Callable[..., None], tmp_path: Path
) -> None:
    top = 2**bits - 1
    values = np.arange(256) if bits == 8 else np.random.default_rng(2).integers(0, top + 1, 200)
    pairs = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    pairs = pairs if phased else pairs[pairs.sum(axis=1) <= top]
    path = tmp_path / "t.bgen"
    layout_2(path, pairs, bits, phased=phased)
    sample, pheno = path.with_suffix(".sample"), tmp_path / "pheno"
    pheno.write_text("FID IID Y\n" + "".join(f"{k} {k} {k % 2 + 1}\n" for k in range(1, len(pairs) + 1)))
    plink2("--bgen", path, "ref-first", "--sample", sample, "--make-pgen", "--out", tmp_path / "p")
    mine = opened(tmp_path, bgen=path, sample=sample, pheno=pheno)
    same(mine, opening.opened(pfile=tmp_path / "p", pheno=pheno))


def test_bgen_1_1_is_read_as_plink2_reads_it(plink2: Callable[..., None], tmp_path: Path) -> None:
    """Three probabilities need not add up to 1; a person without any has no dosage."""
    random, n = np.random.default_rng(4), 3000
    triples = random.multinomial(1 << 15, random.dirichlet((0.5, 0.5, 0.5), n))
    triples[::3] = (triples[::3] * random.uniform(0.4, 1, (len(triples[::3]), 1))).astype(np.int64)
    triples[::17] = 0
    packed = zlib.compress(triples.astype("<u2").tobytes())
    words = b"".join(struct.pack("<H", len(word)) + word for word in (b"", b"rs1", b"1"))
    alleles = b"".join(struct.pack("<I", 1) + allele for allele in (b"A", b"C"))
    variant = struct.pack("<I", n) + words + struct.pack("<I", 100) + alleles
    path, sample = tmp_path / "t.bgen", tmp_path / "t.sample"
    path.write_bytes(
        struct.pack("<IIII4sI", 20, 20, 1, n, b"bgen", 1 | 1 << 2)
        + variant
        + struct.pack("<I", len(packed))
        + packed
    )
    people = "".join(f"{k} {k} 0 1\n" for k in range(1, n + 1))
    sample.write_text("ID_1 ID_2 missing sex\n0 0 0 D\n" + people)
    pheno = tmp_path / "pheno"
    pheno.write_text("FID IID Y\n" + "".join(f"{k} {k} {k % 2 + 1}\n" for k in range(1, n + 1)))
    plink2("--bgen", path, "ref-first", "--sample", sample, "--make-pgen", "--out", tmp_path / "p")
    mine = opened(tmp_path, bgen=path, sample=sample, pheno=pheno)
    same(mine, opening.opened(pfile=tmp_path / "p", pheno=pheno))


def test_a_bgen_with_people_of_one_allele(plink2: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "t.bgen"
    writer = BgenWriter(str(path), 4, samples=list("abcd"), compression="zstd", layout=2)
    some = np.array([[0.1, 0.2, 0.7], [0.3, 0.7, np.nan], [1, 0, 0], [np.nan] * 3])
    writer.add_variant(
        "v1", "rs1", "X", 100, ["A", "C"], some, ploidy=np.array([2, 1, 2, 2], np.uint8), bit_depth=8
    )
    three = np.full((4, 6), 1 / 6)
    writer.add_variant("v2", "rs2", "X", 200, ["A", "C", "G"], three, bit_depth=16)
    writer.add_variant("v3", "", "01", 300, ["A", "C"], np.array([[0.1, 0.2, 0.7]] * 4), bit_depth=16)
    writer.close()
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\na\t2\t1\nb\t1\t2\nc\t2\t1\nd\t2\t2\n")
    data, report = read(tmp_path, bgen=path, psam=psam)
    assert data is not None, report.findings
    assert data.panel.name.tolist() == [b"v3", b"rs1"]
    assert data.genotypes.dosages(np.array([0])).tolist() == [[26150, 22873, 0, NO_DOSAGE]]
    [said] = found(report, Code.ALLELES_SEVERAL)
    assert "C,G" in said


def test_a_copy_is_made_once(imputed: Path, tmp_path: Path) -> None:
    path, psam = tmp_path / "t.vcf", imputed.with_suffix(".psam")
    shutil.copy(imputed, path)
    heard: list[tuple[Path, int, int]] = []
    options = DataOptions(vcf=path, psam=psam, copies=tmp_path / "c", min_samples=1, min_per_class=0)
    assert open_cohort(options, lambda *told: heard.append(told))[0] is not None
    assert (path, VARIANTS, VARIANTS) in heard
    opened, read = ([file.name for file, *now in heard if now == [done, 1]] for done in (0, 1))
    assert opened == read and len(opened) == 3
    heard.clear()
    assert open_cohort(options, lambda *told: heard.append(told))[0] is not None
    assert path not in [file for file, *_ in heard]
    [pgen] = (tmp_path / "c").rglob("*.pgen")
    assert os.name == "nt" or not pgen.parent.stat().st_mode & 0o077
    pgen.write_bytes(pgen.read_bytes()[:-1])
    heard.clear()
    assert open_cohort(options, lambda *told: heard.append(told))[0] is not None
    assert path in [file for file, *_ in heard]
    path.write_text(path.read_text().replace("rs149", "rs999"))
    data, _ = open_cohort(options)
    assert data is not None and b"rs999" in data.panel.name
    assert len(list((tmp_path / "c").rglob("*.pgen"))) == 1


def test_a_program_hears_how_far_the_copy_is(imputed: Path, tmp_path: Path) -> None:
    """Lines before the report tell it; a copy that is there is not made again."""
    files = ["--vcf", imputed, "--psam", imputed.with_suffix(".psam"), "--copies", tmp_path / "copies"]
    for is_new in (True, False):
        given = map(str, [*files, "--min-samples", 1, "--min-per-class", 0, "--json", "--progress"])
        *lines, _ = CliRunner().invoke(check, list(given)).output.partition("{\n")[0].split("\n")
        told = [json.loads(line) for line in lines]
        copied = [each["done"] for each in told if each["unit"] == "variants" and each["total"]]
        assert copied == [VARIANTS] * is_new


def test_one_of_two_makes_the_copy(imputed: Path, tmp_path: Path) -> None:
    heard: list[tuple[Path, int, int]] = []
    options = DataOptions(
        vcf=imputed, psam=imputed.with_suffix(".psam"), copies=tmp_path, min_samples=1, min_per_class=0
    )
    assert open_cohort(options)[0] is not None
    [pgen] = tmp_path.rglob("*.pgen")
    made_at = pgen.stat().st_mtime_ns
    with ThreadPoolExecutor(1) as pool:
        with FileLock(pgen.parents[1] / "lock"):  # as if another process made it
            waiting = pool.submit(open_cohort, options, lambda *told: heard.append(told))
            until(lambda: heard or waiting.done(), lambda: "it does not wait")
            assert not waiting.done()
        assert waiting.result()[0] is not None
    assert [now for file, *now in heard if file == imputed and now != [0, 0]] == []
    assert pgen.stat().st_mtime_ns == made_at


@pytest.mark.parametrize("name", ["t.psam", "t.fam", "people.txt"])
def test_people_in_another_order_than_the_psam(imputed: Path, name: str, tmp_path: Path) -> None:
    """It is one by its header, whatever it is called."""
    psam = imputed.with_suffix(".psam")
    header, *rows = psam.read_text().splitlines()
    (turned := tmp_path / name).write_text("\n".join([header, *rows[::-1], "more\t1\t1"]) + "\n")
    data, report = read(tmp_path, vcf=imputed, psam=turned)
    assert data is not None
    same(data, opened(tmp_path, vcf=imputed, psam=psam))
    assert found(report, Code.SAMPLES_DIFFER) and found(report, Code.SAMPLES_UNMATCHED)
    turned.write_text("\n".join([header, *rows[3:]]) + "\n")
    [said] = found(read(tmp_path, vcf=imputed, psam=turned)[1], Code.SAMPLES_DIFFER)
    assert "i0" in said


def test_people_in_another_order_than_the_sample(
    imputed: Path, plink2: Callable[..., None], tmp_path: Path
) -> None:
    plink2("--vcf", imputed, "dosage=DS", "--export", "bgen-1.2", "bits=8", "--out", tmp_path / "t")
    path, sample = tmp_path / "t.bgen", tmp_path / "t.sample"
    first, second, *rows = sample.read_text().splitlines()
    sample.write_text("\n".join([first, second, rows[1], rows[0], *rows[2:]]) + "\n")
    [said] = found(read(tmp_path, bgen=path, sample=sample)[1], Code.SAMPLES_DIFFER)
    assert "another order" in said and "i0" in said
    sample.write_text("\n".join([first, second, *rows[::-1]]) + "\n")
    [said] = found(read(tmp_path, bgen=path, sample=sample)[1], Code.SAMPLES_DIFFER)
    assert "another order" in said
    sample.write_text("\n".join([first, second, *rows[1:]]) + "\n")
    [said] = found(read(tmp_path, bgen=path, sample=sample)[1], Code.SAMPLES_DIFFER)
    assert "39 people 40" in said
    sample.write_text("\n".join(rows) + "\n")
    assert found(read(tmp_path, bgen=path, sample=sample)[1], Code.HEADER)


def test_what_such_files_do_not_say_is_asked_before_they_are_copied(imputed: Path, tmp_path: Path) -> None:
    of_vcf = open_cohort(DataOptions(vcf=imputed, copies=tmp_path))[1]
    assert ["phenotypes" in said or "sexes" in said for said in found(of_vcf, Code.OPTION)] == [True] * 2
    of_bgen = open_cohort(DataOptions(bgen=imputed, copies=tmp_path))[1]
    assert ["--psam" in said for said in found(of_bgen, Code.OPTION)] == [True]
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Pgenlib's own end,
@pytest.mark.qt_no_exception_capture  # whoever hears of it
def test_a_disk_that_is_full(imputed: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")  # not on Windows
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        _, report = read(tmp_path / "c", vcf=imputed, psam=imputed.with_suffix(".psam"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    [said] = found(report, Code.COPY)
    assert "cannot be written" in said and "--copies" in said
    assert not list((tmp_path / "c").rglob("genotypes*"))


def test_indexes_that_cannot_be_read_are_not_needed(
    imputed: Path, plink2: Callable[..., None], tmp_path: Path
) -> None:
    path, psam = tmp_path / "t.vcf.gz", imputed.with_suffix(".psam")
    plink2("--vcf", imputed, "--export", "vcf", "bgz", "--out", tmp_path / "t")
    Path(f"{path}.csi").write_bytes(b"no index")
    assert len(opened(tmp_path / "c", vcf=path, psam=psam).panel) == VARIANTS
    plink2("--vcf", imputed, "--export", "bgen-1.2", "--out", tmp_path / "b")
    Path(tmp_path / "b.bgen.bgi").write_bytes(b"no index")
    given = {"bgen": tmp_path / "b.bgen", "sample": tmp_path / "b.sample", "psam": psam}
    assert len(opened(tmp_path / "c", **given).panel) == VARIANTS


def test_a_field_that_is_not_there(tmp_path: Path) -> None:
    lines = [line for line in HEADER.splitlines() if "ID=DS" not in line and "ID=HDS" not in line]
    path = write_vcf(tmp_path / "t.vcf", [("1", "GT", ["0/1", "0/0"])], "\n".join(lines) + "\n")
    [said] = found(read(tmp_path, vcf=path, vcf_dosage="DS")[1], Code.COPY)
    assert "has no DS" in said and "GP, GT" in said
    none = "\n".join(line for line in lines if "FORMAT" not in line)
    path.write_text(none + "\n" + "\t".join([*COLUMNS[:-1]]) + "\n1\t100\trs1\tA\tC\t.\t.\t.\n")
    [said] = found(read(tmp_path, vcf=path)[1], Code.COPY)
    assert "no samples" in said


def test_ds_alone_does_not_say_who_has_one_x(tmp_path: Path) -> None:
    path = write_vcf(tmp_path / "t.vcf", [("1", "DS", ["0.6", "1"]), ("X", "DS", ["0.6", "1"])])
    [said] = found(read(tmp_path, vcf=path)[1], Code.COPY)
    assert "X:101 has DS and no GT" in said


@pytest.mark.parametrize("kind", ["vcf", "vcf.gz", "gzip", "bcf", "bgen"])
@pytest.mark.parametrize("cut", ["half", "five bytes", "all but the header"])
def test_files_that_were_cut_off(
    imputed: Path, kind: str, cut: str, plink2: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / ("t.vcf.gz" if kind == "gzip" else f"t.{kind}")
    if kind == "bgen":
        plink2("--vcf", imputed, "dosage=DS", "--export", "bgen-1.2", "bits=8", "--out", tmp_path / "t")
    elif kind in ("vcf.gz", "bcf"):
        writer = cyvcf2.Writer(str(path), cyvcf2.VCF(str(imputed)), "wz" if kind == "vcf.gz" else "wb")
        for record in cyvcf2.VCF(str(imputed)):
            writer.write_record(record)
        writer.close()
    else:
        path.write_bytes(imputed.read_bytes() if kind == "vcf" else gzip.compress(imputed.read_bytes()))
    whole = path.read_bytes()
    size = {"half": len(whole) // 2, "five bytes": len(whole) - 5, "all but the header": 500}[cut]
    path.write_bytes(whole[:size])
    option = "bgen" if kind == "bgen" else "vcf"
    data, report = read(tmp_path / "c", **{option: path, "psam": imputed.with_suffix(".psam")})
    assert data is None, f"{kind} {cut}"
    [said] = found(report, Code.COPY)
    assert "cut off" in said
    assert not list((tmp_path / "c").rglob("*.p*"))


def test_what_is_no_bgen_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.bgen").write_bytes(b"no BGEN at all, but some text")
    [said] = found(read(tmp_path, bgen=tmp_path / "t.bgen")[1], Code.COPY)
    assert "is no BGEN" in said


def left_by_plink2(plink2: Callable[..., None], prefix: Path, least: float) -> list[str]:
    """The IDs that --minimac3-r2-filter leaves of a .pgen."""
    plink2("--pfile", prefix, "--minimac3-r2-filter", least, "--make-just-pvar", "--out", f"{prefix}-left")
    lines = Path(f"{prefix}-left.pvar").read_text().splitlines()
    return [line.split()[2] for line in lines if not line.startswith("#")]


def test_poorly_imputed_variants_are_those_of_plink2(
    imputed: Path, plink2: Callable[..., None], tmp_path: Path
) -> None:
    """The files are a .pgen, the VCF that it is made from, and the BGEN that is made from it."""
    psam, prefix = imputed.with_suffix(".psam"), tmp_path / "p"
    of_plink2(plink2, prefix, psam, "--vcf", imputed, "dosage=HDS")
    plink2("--pfile", prefix, "--export", "bgen-1.2", "bits=16", "ref-first", "--out", tmp_path / "b")
    files: list[dict[str, object]] = [
        {"pfile": prefix, "copies": None},
        {"vcf": imputed, "psam": psam},
        {"bgen": tmp_path / "b.bgen", "sample": tmp_path / "b.sample", "psam": psam},
    ]
    for least in (0.65, 0.7):
        wanted = left_by_plink2(plink2, prefix, least)
        assert 10 < len(wanted) < VARIANTS - 10
        for given in files:
            data, report = opening.read(minimac3_r2_filter=least, **{"copies": tmp_path, **given})
            assert data is not None, report.findings
            assert sorted(data.panel.name.tolist()) == sorted(name.encode() for name in wanted)
            assert report.summary["imputation"][f"left out, below {least:g}"] == VARIANTS - len(wanted)
    [said] = found(read(tmp_path, vcf=imputed, psam=psam, minimac3_r2_filter=1.0)[1], Code.NO_VARIANT_LEFT)
    assert "smaller number" in said


def test_the_quality_that_imputation_wrote(tmp_path: Path) -> None:
    header = HEADER + '##INFO=<ID=R2,Number=1,Type=Float,Description="Quality">\n'
    path = write_vcf(tmp_path / "t.vcf", [("1", "GT:DS", ["0/1:1", "0/0:0.1"])] * 3, header)
    info = iter(["R2=0.29", "R2=0.31", "."])
    lines = path.read_text().splitlines()
    lines = [line if line[0] == "#" else line.replace(".\t.\t.", f".\t.\t{next(info)}") for line in lines]
    path.write_text("\n".join(lines) + "\n")
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\ni0\t1\t1\ni1\t2\t2\n")
    data = opened(tmp_path, vcf=path, psam=psam, vcf_dosage="DS", minimac3_r2_filter=0.3)
    assert data.panel.name.tolist() == [b"rs1", b"rs2"]


def test_genotypes_without_a_quality(imputed: Path, plink2: Callable[..., None], tmp_path: Path) -> None:
    plink2("--vcf", imputed, "--make-bed", "--out", tmp_path / "b")
    of_bed = open_cohort(DataOptions(bfile=tmp_path / "b", minimac3_r2_filter=0.3))[1]
    assert "hard calls only" in found(of_bed, Code.OPTION)[0]
    layout_2(path := tmp_path / "t.bgen", np.array([[1, 2], [3, 4]]), 8, phased=False)
    given = {"bgen": path, "sample": path.with_suffix(".sample"), "minimac3_r2_filter": 0.3}
    assert "not phased" in found(read(tmp_path, **given)[1], Code.OPTION)[0]
    given = {"vcf": imputed, "vcf_dosage": "DS", "minimac3_r2_filter": 0.3}
    assert "no HDS" in found(read(tmp_path, **given)[1], Code.OPTION)[0]


def test_blanks_shift_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.bgen"
    writer = BgenWriter(str(path), 2, samples=["a", "b"], compression="zlib", layout=2)
    some = np.array([[0.1, 0.2, 0.7], [1, 0, 0]])
    writer.add_variant("v1", "rs1\t7 x", "1", 100, ["A", "C"], some, bit_depth=8)
    writer.close()
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\na\t2\t1\nb\t1\t2\n")
    assert opened(tmp_path, bgen=path, psam=psam).panel.name.tolist() == [b"rs1_7_x"]
    writer = BgenWriter(str(path), 2, samples=["a", "b"], compression="zlib", layout=2)
    writer.add_variant("v1", "rs1", "1", 100, ["A", "C\n1\t2"], some, bit_depth=8)
    writer.close()
    [said] = found(read(tmp_path, bgen=path, psam=psam)[1], Code.COPY)
    assert "has blanks" in said


@pytest.mark.parametrize("option", ["vcf", "bgen"])
def test_without_what_reads_them(
    imputed: Path, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, {"vcf": "cyvcf2", "bgen": "bgen"}[option], None)
    [said] = found(read(tmp_path, **{option: imputed})[1], Code.READER)
    assert f"pip install 'unpooled-client[{option}]'" in said
