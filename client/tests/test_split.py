"""Variants of several alternate alleles: each allele has the calls and dosages of plink2's split."""

from __future__ import annotations

import functools
import gzip
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

import cyvcf2
import numpy as np
import opening
import pytest
from bgen import BgenWriter
from opening import findings, same, write_psam

from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.data.plink.bim import read_bim
from unpooled_client.data.plink.pgen import PgenFile
from unpooled_client.data.plink.split import Split

PEOPLE = 70
ALTERNATES = ("C", "C,T", "C,T,G", "*,C", "C,<DEL>", "CTT,C,CT,CTTTT,CTTT,CTTTTT")
HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##contig=<ID=X>
##contig=<ID=MT>
##INFO=<ID=DR2,Number=A,Type=Float,Description="Quality">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">
##FORMAT=<ID=GP,Number=G,Type=Float,Description="Probabilities">
"""
Row = tuple[str, int, str, str, list[str]]
"""Chromosome, position, ALT, FORMAT and a cell for each person."""


def write_vcf(path: Path, rows: list[Row], info: str = ".") -> Path:
    """Write the rows, whose REF is A, and the people beside them."""
    people = [f"i{k}" for k in range(len(rows[0][4]))]
    titles = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *people]
    lines = [
        "\t".join([chromosome, str(position), f"rs{k}", "A", alt, ".", ".", info, fields, *cells])
        for k, (chromosome, position, alt, fields, cells) in enumerate(rows)
    ]
    path.write_text(HEADER + "\n".join(["\t".join(titles), *lines]) + "\n")
    write_psam(path.with_suffix(".psam"), len(people))
    return path


read, opened = (functools.partial(each, by_place=True) for each in (opening.read, opening.opened))


def found(report: Report, code: Code) -> list[tuple[str, int]]:
    return [(f"{each.severity}: {each.message} {each.read}", each.count) for each in findings(report, code)]


def of_pfile(prefix: Path, psam: Path) -> PlinkData:
    shutil.copy(psam, f"{prefix}.psam")
    return opened(pfile=prefix)


def calls(random: np.random.Generator, alleles: int, *, haploid: bool = False) -> list[str]:
    """GT of people of whom some have none, some phase, and most the reference where `alleles` is odd."""
    chance = random.dirichlet(np.ones(alleles + 1) * (0.2 if alleles % 2 else 2))
    pairs = random.choice(alleles + 1, (PEOPLE, 2), p=chance).tolist()
    cells = []
    for k, (a, b) in enumerate(pairs):
        kind = random.random()
        one = haploid and k % 2 == 0
        cells.append("." if one and kind < 0.1 else f"{a}" if one else "./." if kind < 0.1
                     else f"{a}|{b}" if kind < 0.5 else f"{a}/{b}")  # fmt: skip
    return cells


@dataclass(frozen=True)
class Called:
    """Calls, on chromosomes that men have once, too."""

    whole: Path
    unphased: Path
    """The same without phase: plink2 a3.5 takes alleles of other people when it splits phased calls."""
    by_hand: Path
    """The same with a row for each alternate allele."""

    @property
    def psam(self) -> Path:
        return self.whole.with_suffix(".psam")


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Called:
    folder, random = tmp_path_factory.mktemp("called"), np.random.default_rng(1)
    rows: list[Row] = []
    for chromosome in ("1", "X", "MT"):
        for k in range(40):
            alt = ALTERNATES[k % len(ALTERNATES)]
            gt = calls(random, alt.count(",") + 1, haploid=chromosome != "1")
            rows.append((chromosome, 100 + k, alt, "GT", gt))
    slashes = [(*start, [cell.replace("|", "/") for cell in gt]) for *start, gt in rows]
    split = [
        (chromosome, position, alt, fields, [only(cell, allele) for cell in gt])
        for chromosome, position, alts, fields, gt in rows
        for allele, alt in enumerate(alts.split(","), 1)
    ]
    named = zip(("whole", "unphased", "split"), (rows, slashes, split), strict=True)
    return Called(*(write_vcf(folder / f"{name}.vcf", each) for name, each in named))


def test_a_pgen_is_split_as_plink2_splits_it(
    called: Called, plink2: Callable[..., None], tmp_path: Path
) -> None:
    for name, path, more in (("t", called.unphased, []), ("p", called.unphased, ["multiallelics=-"])):
        plink2("--vcf", path, "--psam", called.psam, "--make-pgen", *more, "--out", tmp_path / name)
    mine, theirs = (of_pfile(tmp_path / name, called.psam) for name in ("t", "p"))
    assert len(mine.panel) == 3 * 40 + 3 * sum(ALTERNATES[k % 6].count(",") for k in range(40))
    same(mine, theirs)


def test_a_pgen_with_phase_is_split_as_if_by_hand(
    called: Called, plink2: Callable[..., None], tmp_path: Path
) -> None:
    for name, path in (("t", called.whole), ("p", called.by_hand)):
        plink2("--vcf", path, "--psam", called.psam, "--make-pgen", "--out", tmp_path / name)
    mine, theirs = (of_pfile(tmp_path / name, called.psam) for name in ("t", "p"))
    same(mine, theirs)
    rows = mine.variants.row.astype(np.int64)
    assert isinstance(mine.genotypes, PgenFile) and isinstance(theirs.genotypes, PgenFile)
    quality = [each.minimac3_r2(rows) for each in (mine.genotypes, theirs.genotypes)]
    assert np.array_equal(*quality, equal_nan=True)


def test_by_id_a_pgen_keeps_the_variants_of_two_alleles(
    called: Called, plink2: Callable[..., None], tmp_path: Path
) -> None:
    for name, more in (("t", []), ("p", ["--max-alleles", 2])):
        plink2(
            "--vcf", called.unphased, "--psam", called.psam, "--make-pgen", *more, "--out", tmp_path / name
        )
        shutil.copy(called.psam, tmp_path / f"{name}.psam")
    mine, theirs = (opening.opened(pfile=tmp_path / name) for name in ("t", "p"))
    assert len(mine.panel) == 3 * sum("," not in ALTERNATES[k % 6] for k in range(40))
    same(mine, theirs)


@pytest.mark.parametrize("kind", ["vcf", "vcf.gz", "bcf"])
def test_a_vcf_is_split_as_plink2_splits_it(
    called: Called, kind: str, plink2: Callable[..., None], tmp_path: Path
) -> None:
    path, modes = tmp_path / f"t.{kind}", {"vcf": "w", "vcf.gz": "wz", "bcf": "wb"}
    given = ("--vcf", called.unphased, "--psam", called.psam)
    plink2(*given, "--make-pgen", "multiallelics=-", "--out", tmp_path / "p")
    writer = cyvcf2.Writer(str(path), cyvcf2.VCF(str(called.whole)), modes[kind])
    for record in cyvcf2.VCF(str(called.whole)):
        writer.write_record(record)
    writer.close()
    data, report = read(vcf=path, vcf_dosage="GT", psam=called.psam, copies=tmp_path)
    assert data is not None, report.findings
    same(data, of_pfile(tmp_path / "p", called.psam))
    rows = sum("," in ALTERNATES[k % 6] for k in range(40)) * 3
    [(said, count)] = found(report, Code.ALLELES_SEVERAL)
    assert count == rows and "one variant for each" in said and said.startswith("note")


def genotypes_of(alleles: int) -> list[tuple[int, int]]:
    """List the genotypes of so many alleles, with the reference, in the order of VCF and BGEN."""
    return sorted(combinations_with_replacement(range(alleles), 2), key=lambda pair: (pair[1], pair[0]))


def imputed(random: np.random.Generator, alleles: int) -> np.ndarray:
    """Probabilities of genotypes in thousandths, (people, genotypes)."""
    shape = np.full(len(genotypes_of(alleles)), 0.3)
    return random.multinomial(1000, random.dirichlet(shape, PEOPLE))


def alone(chances: np.ndarray, alleles: int, allele: int) -> np.ndarray:
    """Probabilities of none, one and two copies of one allele, (people, 3)."""
    out = np.zeros((len(chances), 3), np.int64)
    for place, genotype in enumerate(genotypes_of(alleles)):
        out[:, genotype.count(allele)] += chances[:, place]
    return out


@pytest.mark.parametrize("field", ["DS", "GP"])
def test_dosages_are_those_of_files_that_were_split(
    field: str, plink2: Callable[..., None], tmp_path: Path
) -> None:
    """Plink2 reads no dosages of several alleles: it is given each allele on a line of its own."""
    random = np.random.default_rng(2)
    whole: list[Row] = []
    split: list[Row] = []
    for k in range(60):
        alts = ALTERNATES[k % len(ALTERNATES)].split(",")
        chances, gt = imputed(random, len(alts) + 1), calls(random, len(alts))
        known = random.random(PEOPLE) < 0.9
        each = [alone(chances, len(alts) + 1, allele) for allele in range(1, len(alts) + 1)]
        numbers = [chances] if field == "GP" else [np.stack([one @ [0, 1, 2] for one in each], axis=1)]
        split_numbers = each if field == "GP" else [(one @ [0, 1, 2])[:, None] for one in each]
        whole.append(("1", 100 + k, ",".join(alts), f"GT:{field}", cells(gt, numbers[0], known)))
        for allele, (alt, own) in enumerate(zip(alts, split_numbers, strict=True), 1):
            own_calls = [only(cell, allele) for cell in gt]
            split.append(("1", 100 + k, alt, f"GT:{field}", cells(own_calls, own, known)))
    mine, theirs = write_vcf(tmp_path / "t.vcf", whole), write_vcf(tmp_path / "s.vcf", split)
    psam, dosage = mine.with_suffix(".psam"), {"DS": "dosage=DS", "GP": "dosage=GP-force"}[field]
    plink2("--vcf", theirs, dosage, "--psam", psam, "--make-pgen", "--out", tmp_path / "p")
    data = opened(vcf=mine, vcf_dosage=field, psam=psam, copies=tmp_path)
    same(data, of_pfile(tmp_path / "p", psam))
    assert data.genotypes.has_dosages


def only(call: str, allele: int) -> str:
    """The call in which all other alleles are the reference."""
    return "".join(letter if letter in "./|" else str(int(int(letter) == allele)) for letter in call)


def cells(gt: list[str], numbers: np.ndarray, known: np.ndarray) -> list[str]:
    """GT and a field of numbers, in thousandths, which some people lack."""
    texts = (",".join(f"{value / 1000:.3f}" for value in row) for row in numbers.tolist())
    return [
        f"{call}:{text if has else '.'}" for call, text, has in zip(gt, texts, known.tolist(), strict=True)
    ]


def add_variant(
    k: int,
    ploidy: np.ndarray,
    lacks: np.ndarray,
    phased: bool,
    bits: int,
    writer: BgenWriter,
    alts: list[str],
    of_two: list[np.ndarray],
    of_one: np.ndarray,
) -> None:
    """Write probabilities, in the format's units, of those who have two alleles and of those who have one."""
    numbers = np.concatenate(of_two, axis=1) / (2**bits - 1)
    numbers[ploidy == 1] = np.nan
    numbers[ploidy == 1, : of_one.shape[1]] = of_one[ploidy == 1] / (2**bits - 1)
    numbers[lacks] = np.nan
    writer.add_variant(
        "v", f"rs{k}", "X", 100 + k, ["A", *alts], numbers, ploidy=ploidy, phased=phased, bit_depth=bits
    )


@pytest.mark.parametrize("phased", [False, True])
@pytest.mark.parametrize("bits", [8, 16])
def test_a_bgen_is_split_as_if_by_hand(
    bits: int, phased: bool, plink2: Callable[..., None], tmp_path: Path
) -> None:
    """Plink2 reads no such BGEN: it is given one in which each allele has a variant of its own."""
    random, top = np.random.default_rng(bits), 2**bits - 1
    people = [f"i{k}" for k in range(PEOPLE)]
    paths = [tmp_path / name for name in ("t.bgen", "s.bgen")]
    whole, split = (BgenWriter(str(path), PEOPLE, samples=people, compression="zstd", layout=2)
                    for path in paths)  # fmt: skip
    for k in range(50):
        alts = ALTERNATES[k % len(ALTERNATES)].split(",")
        alleles, ploidy = len(alts) + 1, np.full(PEOPLE, 2, np.uint8)
        ploidy[::2] -= k % 3 == 0
        width = alleles if phased else len(genotypes_of(alleles))
        units = [
            random.multinomial(top, random.dirichlet(np.full(width, 0.3), PEOPLE)) for _ in range(1 + phased)
        ]
        one = random.multinomial(top, random.dirichlet(np.full(alleles, 0.3), PEOPLE))
        lacks = random.random(PEOPLE) < 0.1
        add = functools.partial(add_variant, k, ploidy, lacks, phased, bits)
        add(whole, alts, units, one)
        for allele, alt in enumerate(alts, 1):
            of_one = np.stack([top - one[:, allele], one[:, allele]], axis=1)
            of_two = (
                [np.stack([top - each[:, allele], each[:, allele]], axis=1) for each in units]
                if phased
                else [alone(units[0], alleles, allele)]
            )
            add(split, [alt], of_two, of_one)
    whole.close()
    split.close()
    psam, sample = write_psam(tmp_path / "t.psam", PEOPLE), tmp_path / "t.sample"
    rows = "".join(f"{name} {name} 0 {1 + k % 2}\n" for k, name in enumerate(people))
    sample.write_text("ID_1 ID_2 missing sex\n0 0 0 D\n" + rows)
    plink2("--bgen", paths[1], "ref-first", "--sample", sample, "--make-pgen", "--out", tmp_path / "p")
    data = opened(bgen=paths[0], psam=psam, copies=tmp_path)
    same(data, of_pfile(tmp_path / "p", psam))
    assert data.genotypes.has_dosages


@pytest.mark.parametrize(
    ("fields", "cell", "wanted"),
    [
        ("GT", "1/2", (1, 1)),
        ("GT", "2", (0, 2)),
        ("GT", "0/3", None),
        ("GT", "./2", None),
        ("DS", "0.25,1.5", (0.25, 1.5)),
        ("DS", "0.25", None),
        ("DS", "0.25,.", None),
        ("DS", "0.25,1,0", None),
        ("DS", "1.5,1", None),
        ("DS", "1.005,1", (1.005, 1)),
        ("DS", ".", None),
        ("GT:DS", "1/2:.", (1, 1)),
        ("GT:DS", "2:0,0.5", (0, 1)),
        ("GP", "0,0,0,0,0.25,0.75", (0.25, 1.75)),
        ("GP", "0,0,0,0,0,0", None),
        ("GP", "0,0,1", None),
        ("GT:GP", "2:0.25,0.25,0.5", (0.5, 1)),
        ("GT:GP", "0/1:0.25,0.25,0.5", None),
        ("GP", "0,0,0,0,1", None),
        ("GP", "0,0,0,0,1,0,0", None),
    ],
)
def test_cells_of_two_alternate_alleles(
    fields: str, cell: str, wanted: tuple[float, float] | None, tmp_path: Path
) -> None:
    plain = {"GT": "0/0", "DS": "0,0", "GP": "1,0,0,0,0,0"}
    beside = ":".join(plain[field] for field in fields.split(":"))
    path = write_vcf(tmp_path / "t.vcf", [("1", 100, "C,T", fields, [cell, beside])])
    field = fields.split(":")[-1]
    data, report = read(vcf=path, vcf_dosage=field, psam=path.with_suffix(".psam"), copies=tmp_path)
    assert data is not None, report.findings
    dosages = data.genotypes.dosages(data.variants.row.astype(np.int64))
    assert dosages[:, 1].tolist() == [0, 0]
    expected = [NO_DOSAGE] * 2 if wanted is None else [round(copies * COPY) for copies in wanted]
    assert dosages[:, 0].tolist() == expected
    told = sum(count for _, count in found(report, Code.DOSAGE))
    assert told == (wanted is None and cell != ".")


def test_each_allele_has_the_quality_that_imputation_wrote(tmp_path: Path) -> None:
    path = write_vcf(
        tmp_path / "t.vcf", [("1", 100, "C,T", "GT:DS", ["0/1:0.9,0", "0/2:0,0.8"])], "DR2=0.29,0.31"
    )
    given = {"vcf": path, "vcf_dosage": "DS", "psam": path.with_suffix(".psam"), "copies": tmp_path}
    assert opened(**given, minimac3_r2_filter=0.3).panel.name.tolist() == [b"1:100:A:T"]


@pytest.mark.parametrize("phased", [False, True])
def test_a_pvar_that_names_too_few_alleles_is_of_another_pgen(
    called: Called, phased: bool, plink2: Callable[..., None], tmp_path: Path
) -> None:
    path = called.whole if phased else called.unphased
    plink2("--vcf", path, "--psam", called.psam, "--make-pgen", "--out", tmp_path / "t")
    shutil.copy(called.psam, tmp_path / "t.psam")
    pvar = tmp_path / "t.pvar"
    pvar.write_text(pvar.read_text().replace("rs7\tA\tC,T", "rs7\tA\tC"))
    for by_place in (False, True):
        data, report = read(pfile=tmp_path / "t", by_place=by_place)
        [(said, _)] = found(report, Code.PGEN_SIZE)
        assert data is None and "its .pvar has one: first in row 8" in said


def test_an_allele_that_a_row_of_its_own_names_too_is_told(tmp_path: Path) -> None:
    rows = "1\t7\trs1\tA\tC,T\n1\t7\trs2\tA\tT\n"
    (path := tmp_path / "t.pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + rows)
    variants = read_bim(path, report := Report(), by_place=True)
    assert variants is not None and variants.row.tolist() == [0, 1, 2]
    assert found(report, Code.VARIANT_DUPLICATE) == [
        ("warning: a variant shares its ID with another one: both are left out of the study 1:7:A:T", 2)
    ]


PVAR = "#CHROM\tPOS\tID\tREF\tALT\n1\t7\trs1\tA\tC\n1\t9\trs2\tA\t{}\n"


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize(
    ("alternates", "says"),
    [("C,", "empty"), (",C", "empty"), ("C,,T", "empty"), ("C,.", "empty"), ("C,T,C", "twice"),
     ("C,c", "twice"), (",".join("C" * k for k in range(1, 257)), "more than 254")],
)  # fmt: skip
def test_alternates_that_cannot_be_are_told(
    alternates: str, says: str, by_place: bool, tmp_path: Path
) -> None:
    (path := tmp_path / "t.pvar").write_text(PVAR.format(alternates))
    read_bim(path, report := Report(), by_place=by_place)
    [told] = [each for each in report.findings if each.severity == Severity.ERROR]
    assert (told.code, told.line, told.column) == (Code.ALLELE, 3, 5) and says in told.message and told.remedy


@pytest.mark.parametrize("alternates", ["C,", "C,,T", "C,T,C", "C,."])
@pytest.mark.parametrize("kind", ["vcf", "vcf.gz"])
def test_a_vcf_tells_their_line(alternates: str, kind: str, tmp_path: Path) -> None:
    path = write_vcf(tmp_path / "t.vcf", [("1", 100, alt, "GT", ["0/1", "0/0"]) for alt in ("C", alternates)])
    if kind == "vcf.gz":
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    data, report = read(vcf=tmp_path / f"t.{kind}", psam=path.with_suffix(".psam"), copies=tmp_path)
    [told] = [each for each in report.findings if each.code == Code.COPY]
    assert data is None and told.line == HEADER.count("\n") + 3
    assert "alternate allele" in told.message and told.remedy


def test_a_bgen_that_names_an_allele_twice(tmp_path: Path) -> None:
    path = tmp_path / "t.bgen"
    writer = BgenWriter(str(path), 2, samples=["i0", "i1"], compression="zstd", layout=2)
    writer.add_variant("v", "rs1", "1", 100, ["A", "C", "C"], np.full((2, 6), 1 / 6), bit_depth=8)
    writer.close()
    psam = write_psam(tmp_path / "t.psam", 2)
    [(said, _)] = found(read(bgen=path, psam=psam, copies=tmp_path)[1], Code.COPY)
    assert "twice" in said and "1:100" in said


def test_lists_of_any_size_are_split_alike(tmp_path: Path) -> None:
    """A slow reading of a .pvar against pieces of any size, with lines that are passed over."""
    for seed in range(40):
        random = np.random.default_rng(seed)
        lines = [(str(random.choice(["1", "2", "X", "odd"])), int(random.integers(-1, 40)),
                  str(random.choice([*ALTERNATES, "g,C", "."]))) for _ in range(50)]  # fmt: skip
        lines.append(("1", 50, "C,T"))
        text = "".join(f"{c}\t{p}\trs{k}\tA\t{alt}\n" for k, (c, p, alt) in enumerate(lines))
        (path := tmp_path / "t.pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + text)
        for by_place in (True, False):
            wanted, number = Counter[tuple[object, ...]](), 0
            for k, (chromosome, position, alt) in enumerate(lines):
                alts = alt.upper().split(",")
                for allele in alts:
                    if chromosome != "odd" and position >= 0 and (by_place or len(alts) == 1):
                        pair = sorted([b"A", allele.replace(".", "0").encode()])
                        wanted[number, k + 2, position, *pair] += 1
                    number += 1
            block, room, at_once = (int(random.integers(1, most)) for most in (300, 40, 30))
            variants = read_bim(path, Report(), block=block, room=room, at_once=at_once, by_place=by_place)
            assert variants is not None and variants.rows == len(lines)
            assert variants.rows + len(variants.split) == number
            pairs = [variants.panel.pair(k) for k in range(len(variants))]
            columns = (variants.row.tolist(), variants.line.tolist(), variants.panel.position.tolist(), pairs)
            assert (
                Counter((r, li, p, *sorted(pair)) for r, li, p, pair in zip(*columns, strict=True)) == wanted
            )


def test_the_places_of_alleles() -> None:
    for seed in range(50):
        alternates = np.random.default_rng(seed).integers(1, 5, 30)
        split = Split(np.repeat(np.arange(30), alternates - 1).astype(np.int32))
        rows, alleles, several = split.places(np.arange(alternates.sum()))
        assert rows.tolist() == np.repeat(np.arange(30), alternates).tolist()
        assert alleles.tolist() == [allele for each in alternates for allele in range(1, each + 1)]
        assert (several == (alternates[rows] > 1)).all()
        assert split.first(np.arange(30)).tolist() == (np.cumsum(alternates) - alternates).tolist()
        offsets = split.offsets(30)
        assert offsets is None or np.diff(offsets.astype(int)).tolist() == (alternates + 1).tolist()
