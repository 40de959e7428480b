"""Calls of a VCF that cannot be: they are missing, and that is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.findings.report import Code
from unpooled_client.data.options import DataOptions

HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##contig=<ID=X>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	i0	i1
"""


LINES = "".join(f"1\t{k}\trs{k}\tA\tC\t.\t.\t.\tGT\t0/1\t1/1\n" for k in (100, 200))
LAST = "1\t200"


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (HEADER + LINES + "\n", 8, "a line is empty"),
        (HEADER + LINES.replace(LAST, f"\n{LAST}"), 7, "a line is empty"),
        (HEADER + LINES.replace(LAST, "1 200"), 7, "10 cells"),
        (HEADER + LINES.replace("\t", " "), 6, "1 cells"),
        (
            HEADER + LINES + "1\t300\trs3\tA\tC\t.\t.\t.\tGT\t0/1\n",
            8,
            "It needs 11, one for each of 2 people",
        ),
        (HEADER + LINES.replace("1/1\n", "1/1\t0/0\n"), 6, "12 cells"),
        (HEADER + LINES.replace(LAST, "1\t20p"), 7, "no whole number"),
        (HEADER + LINES.replace("1/1\n", '"1/1\n'), 6, "no call"),
        (HEADER + LINES.replace(LAST, "\0" + LAST), 7, "zero byte"),
        (HEADER + LINES.replace(LAST, LAST.replace("1", "#", 1)), 7, "begins with #"),
        (HEADER + LINES.replace("1", "#", 1), 6, "begins with #"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_which_htslib_would_die_are_told(
    tmp_path: Path, content: str, line: int, says: str, packed: bool
) -> None:
    path = tmp_path / ("t.vcf.gz" if packed else "t.vcf")
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    data, report = open_cohort(options_of(path))
    [finding] = [each for each in report.findings if each.code == Code.COPY]
    assert data is None and finding.line == line and says in f"{finding.message} {finding.remedy}"


def test_the_last_line_end_may_lack_after_a_whole_call(tmp_path: Path) -> None:
    (path := tmp_path / "t.vcf").write_text((HEADER + LINES)[:-1])
    data, report = open_cohort(options_of(path))
    assert data is not None, report.findings
    assert data.genotypes.dosages(np.arange(2)).tolist() == [[COPY, 2 * COPY]] * 2
    path.write_text((HEADER + LINES)[:-2])
    assert open_cohort(options_of(path))[0] is None


def options_of(vcf: Path) -> DataOptions:
    """Options for a VCF of the two people, whose sexes and phenotypes are written beside it."""
    (psam := vcf.with_name("t.psam")).write_text("#IID\tSEX\tY\ni0\t1\t1\ni1\t2\t2\n")
    return DataOptions(vcf=vcf, psam=psam, copies=vcf.parent, min_samples=1, min_per_class=0)


@pytest.mark.parametrize(
    ("chromosome", "cell", "beside", "wanted"),
    [
        ("1", "0/4", "0/1", COPY),
        ("1", "0/7", "0/1", COPY),
        ("1", "7/0", "0/1", COPY),
        ("1", "2|2", "0/1", COPY),
        ("X", "2", "0/1", COPY),
        ("X", "4", "1", 2 * COPY),
    ],
)
def test_a_call_of_an_allele_that_is_not_there_is_missing(
    tmp_path: Path, chromosome: str, cell: str, beside: str, wanted: int
) -> None:
    (vcf := tmp_path / "t.vcf").write_text(
        f"{HEADER}{chromosome}\t100\trs0\tA\tC\t.\t.\t.\tGT\t{cell}\t{beside}\n"
    )
    data, report = open_cohort(options_of(vcf))
    assert data is not None, report.findings
    assert data.genotypes.dosages(np.arange(1)).tolist() == [[NO_DOSAGE, wanted]]
    [finding] = [each for each in report.findings if each.code == Code.DOSAGE]
    assert "of an allele that is not there" in f"{finding.message} {finding.read}"
