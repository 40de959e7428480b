"""Calls of a VCF that cannot be: they are missing, and that is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unpooled.cohort import COPY, NO_DOSAGE
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Code

HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##contig=<ID=X>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	i0	i1
"""


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
    (psam := tmp_path / "t.psam").write_text("#IID\tSEX\tY\ni0\t1\t1\ni1\t2\t2\n")
    options = DataOptions(vcf=vcf, psam=psam, copies=tmp_path, min_samples=1, min_per_class=0)
    data, report = open_cohort(options)
    assert data is not None, report.findings
    assert data.genotypes.dosages(np.arange(1)).tolist() == [[NO_DOSAGE, wanted]]
    [finding] = [each for each in report.findings if each.code == Code.DOSAGE]
    assert "of an allele that is not there" in f"{finding.message} {finding.read}"
