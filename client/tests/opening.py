"""Cohorts opened from their files, floors aside, and what the check says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unpooled_client.data.checks.calls import codes_of
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.findings.report import Code, Finding, Report
from unpooled_client.data.options import DataOptions

FLOORS = {"min_samples": 1, "min_per_class": 0}


def read(**given: object) -> tuple[PlinkData | None, Report]:
    return open_cohort(DataOptions(**{**FLOORS, **given}))  # type: ignore[arg-type]


def opened(**given: object) -> PlinkData:
    """The data, which must be without errors."""
    data, report = read(**given)
    assert data is not None, report.findings
    return data


def findings(report: Report, code: Code) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def said(report: Report, code: Code) -> list[str]:
    """All words of the findings of a code."""
    return [f"{each.message} {each.read} {each.expected} {each.remedy}" for each in findings(report, code)]


def same(mine: PlinkData, theirs: PlinkData) -> None:
    """The same people, and the same variants with the same calls and dosages, in whatever order."""
    assert mine.panel.digest == theirs.panel.digest
    assert (mine.variants.a1_is_first == theirs.variants.a1_is_first).all()
    assert (mine.samples.sex == theirs.samples.sex).all()
    assert np.array_equal(mine.samples.phenotype, theirs.samples.phenotype, equal_nan=True)
    rows = [data.variants.row.astype(np.int64) for data in (mine, theirs)]
    mixed = np.random.default_rng(3).permutation(len(rows[0]))
    for order in (np.arange(len(mixed)), mixed, mixed[:7]):
        both = [(data.genotypes, row[order]) for data, row in zip((mine, theirs), rows, strict=True)]
        dosages, calls = ([asked(*one) for one in both] for asked in (_dosages, codes_of))
        assert (dosages[0] == dosages[1]).all() and (calls[0] == calls[1]).all()


def _dosages(genotypes: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(genotypes.dosages(rows))


def write_psam(path: Path, people: int) -> Path:
    """Men and women, cases and controls."""
    rows = (f"i{k}\t{1 + k % 2}\t{1 + k // 2 % 2}" for k in range(people))
    path.write_text("\n".join(["#IID\tSEX\tY", *rows]) + "\n")
    return path
