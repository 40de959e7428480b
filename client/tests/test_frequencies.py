"""A cohort's frequencies beside a reference's: as plink1.9 and plink2 write them, and otherwise."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import opening
import pytest
from click.testing import CliRunner
from opening import findings as found
from scipy.stats import chi2_contingency

from tests.plinks import call, plink2, write_bed
from unpooled.panel.panel import Panel
from unpooled_client.commands.check import check
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.data.plink.variants import Variants
from unpooled_client.data.thorough.frequencies import (
    Reference,
    _in_both,
    _read,
    _standard_error,
    check_frequencies,
    dosed_in,
    expected_of,
    observed_in,
)

PEOPLE = 400
PAIRS = ["A G", "C T", "A T", "G C", "A C", "T G", "T A", "C G"] * 3
FREQUENCY = np.array([0.03, 0.2, 0.1, 0.9, 0.45, 0.8, 0.3, 0.6] * 3)
WRITERS = {"plink2": "afreq", "plink1.9": "frq"}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("frequencies") / "t"
    rng = np.random.default_rng(5)
    copies = rng.binomial(2, FREQUENCY[:, None], (len(PAIRS), PEOPLE))
    copies[rng.random(copies.shape) < 0.05] = 3
    write_bed(prefix, copies)
    lines = (f"{1 + k // 6} rs{k} 0 {1000 + k} {pair}\n" for k, pair in enumerate(PAIRS))
    prefix.with_suffix(".bim").write_text("".join(lines))
    people = (f"F{k} I{k} 0 0 {1 + k % 2} {1 + k % 3 // 2}\n" for k in range(PEOPLE))
    prefix.with_suffix(".fam").write_text("".join(people))
    return prefix


@pytest.fixture
def opened(prefix: Path) -> PlinkData:
    return opening.opened(bfile=prefix)


def reference(path: Path, lines: list[str], header: str = "#CHROM ID REF ALT ALT_FREQS OBS_CT") -> Path:
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def compared(data: PlinkData, path: Path) -> Report:
    report = Report()
    check_frequencies(data, path, report)
    return report


def truly(k: int, other: bool = False) -> float:
    return float(1 - FREQUENCY[k] if other else FREQUENCY[k])


@pytest.mark.parametrize("program", WRITERS)
def test_frequencies_are_those_of_plink(
    prefix: Path, opened: PlinkData, program: str, tmp_path: Path
) -> None:
    call(program, "--bfile", prefix, "--freq", "--out", tmp_path / "t")
    path = tmp_path / f"t.{WRITERS[program]}"
    read = _read(path, Report())
    assert read is not None
    mine, theirs = _in_both(opened, read)
    expected, has_same = expected_of(opened.variants, mine, read, theirs)
    assert len(mine) == len(PAIRS) and has_same.all()
    assert observed_in(opened, mine)[0] == pytest.approx(expected, abs=6e-5)
    report = compared(opened, path)
    assert not report.findings
    assert report.summary["frequencies"]["distribution"]["to 0.01"] == len(PAIRS)


def test_frequencies_of_dosages_are_those_of_plink2(tmp_path: Path) -> None:
    made = tmp_path / "t"
    plink2("--dummy", 120, 200, 0.05, 0.02, "dosage-freq=0.5", "--seed", 3, "--out", made)
    plink2("--pfile", made, "--freq", "--out", made)
    data = opening.opened(pfile=made)
    path = made.with_suffix(".afreq")
    assert compared(data, path).summary["frequencies"]["distribution"]["to 0.01"] == 200
    read = _read(path, Report())
    assert read is not None
    mine, theirs = _in_both(data, read)
    expected, _ = expected_of(data.variants, mine, read, theirs)
    frequency, counted = dosed_in(data, mine)
    assert frequency == pytest.approx(expected, abs=1e-6) and (counted == read.counted[theirs]).all()
    assert np.abs(observed_in(data, mine)[0] - expected).max() > 0.01  # that of calls is another


def test_other_strands_and_alleles(opened: PlinkData, tmp_path: Path) -> None:
    lines = [
        f"1 rs0 C T {truly(0)} 99",  # A/G on the other strand: the same
        f"1 rs1 C T {truly(1, other=True)} 99",  # of T, where the file has that of C
        f"1 rs2 A T {truly(2)} 99",  # T has A's: the other strand
        f"1 rs3 C G {truly(3)} 99",
        "1 rs4 C A 0.95 99",  # far
        "1 rs5 C A 0.5 99",  # T/G is A/C on the other strand, and far
        "1 rs8 A C 0.5 99",  # other alleles
        "1 rs9 C T,G 0.2,0.1 99",  # several
        "1 rs10 T A nan 99",
        "1 rs99 A C 0.5 99",  # not here
        "1 rs11 C G 0.5 99",
        "1 rs11 C G 0.5 99",  # twice
    ]
    report = compared(opened, reference(tmp_path / "r.afreq", lines))
    [other] = found(report, Code.ALLELES_DIFFER)
    assert (other.count, other.read) == (1, "rs8 A/G")
    [strand] = found(report, Code.STRAND)
    assert strand.count == 1 and "rs2 A/T: 0.1" in str(strand.read) and "--flip" in str(strand.remedy)
    [far] = found(report, Code.FREQUENCY)
    assert far.count == 2 and [example.split()[0] for example in far.examples] == ["rs4", "rs5"]
    about = report.summary["frequencies"]
    assert about["autosomal variants in both"] == 7
    assert about["that differ by more than 5 standard errors"] == 3


def plainly(pair: tuple[bytes, bytes], one: bytes, other: bytes, frequency: float) -> float | None:
    """The frequency of a pair's first allele where the reference has that of `one`; None of other alleles."""
    for strand in (b"ACGT", b"TGCA"):
        if strand == b"ACGT" or len(one) == len(other) == 1:
            named = [allele.translate(bytes.maketrans(b"ACGT", strand)) for allele in (one, other)]
            if sorted(named) == sorted(pair):
                return frequency if named[0] == pair[0] else 1 - frequency
    return None


def test_of_very_many_alleles_the_frequencies_are_those_of_each_variant_alone() -> None:
    """Nearly every pair occurs once; when all variants were looked through for each pair, it took 6 s."""
    rng, many = np.random.default_rng(8), 100_000
    alleles = tuple(sorted({bytes(b"ACGT"[k] for k in rng.integers(0, 4, rng.integers(1, 12)))
                            for _ in range(2_000)}))  # fmt: skip
    singles = [k for k, allele in enumerate(alleles) if len(allele) == 1]
    pairs = rng.integers(0, len(alleles), (many, 2))
    pairs[:200] = rng.choice(singles, (200, 2))
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    many, theirs = len(pairs), rng.permuted(pairs, axis=1)
    theirs[:400, 0] = rng.choice(singles, 400)  # of other strands and other alleles
    panel = Panel(*np.ones((2, many), int), None, alleles, *pairs.T)
    variants = Variants(panel, np.arange(many), np.ones(many, bool), np.arange(many), many)
    frequency = rng.random(many)
    given = Reference(np.zeros(many, "S1"), alleles, *theirs.T, frequency, np.full(many, 99.0))
    began, every = time.process_time(), np.arange(many)
    expected, has_same = expected_of(variants, every, given, every)
    assert time.process_time() - began < 2
    wanted = [plainly(panel.pair(k), *(alleles[allele] for allele in theirs[k]), frequency[k])
              for k in every]  # fmt: skip
    assert has_same.tolist() == [value is not None for value in wanted]
    assert 0 < np.count_nonzero(~has_same) < 400
    assert expected[has_same].tolist() == [value for value in wanted if value is not None]


def test_standard_errors_are_those_of_two_proportions() -> None:
    ours, theirs, n, m = 0.3, 0.36, 400.0, 1000.0
    table = np.array([[ours * n, n - ours * n], [theirs * m, m - theirs * m]])
    statistic = chi2_contingency(table, correction=False).statistic
    error = _standard_error(*(np.array([value]) for value in (ours, n, theirs, m)))
    assert ((ours - theirs) / error[0]) ** 2 == pytest.approx(statistic)


@pytest.mark.parametrize(
    ("header", "code"), [("CHR SNP A1 A2 F NCHROBS", Code.HEADER), ("", Code.FILE_EMPTY)]
)
def test_what_is_no_list_of_frequencies(opened: PlinkData, tmp_path: Path, header: str, code: Code) -> None:
    [finding] = found(compared(opened, reference(tmp_path / "r", [], header)), code)
    assert finding.remedy


@pytest.mark.parametrize(
    ("lines", "read"), [(["1 1:1000:A:G A G 0.5 99"], "1:1000:A:G"), (["1 rs0 A G,T 0.2,0.1 99"], None)]
)
def test_a_reference_with_other_ids_is_told(
    opened: PlinkData, tmp_path: Path, lines: list[str], read: str | None
) -> None:
    report = compared(opened, path := reference(tmp_path / "r", lines))
    [finding] = report.findings
    assert (finding.severity, finding.code, finding.file) == (Severity.WARNING, Code.FREQUENCY, path)
    assert "nothing was compared" in finding.message and "--set-all-var-ids" in finding.remedy
    assert (finding.read, finding.expected) == (read, "IDs as in t.bim, such as rs0")
    assert report.summary["frequencies"]["autosomal variants in both"] == 0


def test_a_short_line_is_told(opened: PlinkData, tmp_path: Path) -> None:
    report = compared(opened, reference(tmp_path / "r", ["1 rs0 C T"]))
    [finding] = found(report, Code.TOO_FEW_COLUMNS)
    assert finding.line == 2


def test_the_command(prefix: Path, tmp_path: Path) -> None:
    path, page = reference(tmp_path / "r", ["1 rs4 C A 0.95 99"]), tmp_path / "check.html"
    arguments: list[Any] = ["--bfile", prefix, "--read-freq", path, "--html", page]
    done = CliRunner().invoke(check, [str(word) for word in arguments])
    assert done.exit_code == 0 and "more than 0.2 from the reference's" in done.output
    assert "Frequencies beside the reference" in page.read_text()
