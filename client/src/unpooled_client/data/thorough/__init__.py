"""Checks made once, before a study, beyond those made whenever the files are opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Report
from unpooled_client.data.thorough.frequencies import check_frequencies
from unpooled_client.data.thorough.people import check_people


@dataclass(frozen=True)
class Thorough:
    """Settings of the thorough checks. None stands for "not given"."""

    king_cutoff: float | None = None
    """Pairs of people of this kinship or more are told."""
    read_freq: Path | None = None
    """A reference's frequencies."""


AS_USUAL = Thorough()


def check_thoroughly(data: PlinkData, thorough: Thorough, report: Report) -> None:
    """Look at people and frequencies; the report hears what is odd."""
    check_people(data, thorough.king_cutoff, report)
    if thorough.read_freq is not None:
        check_frequencies(data, thorough.read_freq, report)
