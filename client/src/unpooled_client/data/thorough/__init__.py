"""Checks made once, before a study, beyond those made whenever the files are opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Report
from unpooled_client.data.thorough.frequencies import check_frequencies
from unpooled_client.data.thorough.people import check_people


@dataclass(frozen=True)
class Closer:
    """Settings of the closer checks. None stands for "not given"."""

    king_cutoff: float | None = None
    """Pairs of people of this kinship or more are told."""
    read_freq: Path | None = None
    """A reference's frequencies."""


AS_USUAL = Closer()


def look_closer(data: PlinkData, closer: Closer, report: Report) -> None:
    """Look at people and frequencies; the report hears what is odd."""
    check_people(data, closer.king_cutoff, report)
    if closer.read_freq is not None:
        check_frequencies(data, closer.read_freq, report)
