"""--keep and --remove: which samples count.

As in plink1.9 (tried with v1.90b6.26): the first two words of a line are FID and IID, the rest is passed
over; a sample that is not in the .fam is passed over, a sample that is listed twice counts once; --remove
follows --keep.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled_client.data.fam import Fam
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Code, Report
from unpooled_client.data.table import read_table


def read_selection(fam: Fam, options: DataOptions, report: Report) -> np.ndarray:
    """Which samples count, bool (n,)."""
    kept = np.ones(len(fam), bool)
    if (
        options.keep is not None
        and (listed := _listed(options.keep, "the --keep file", fam, report)) is not None
    ):
        kept &= listed
    if options.remove is not None and not _is_empty(options.remove):
        listed = _listed(options.remove, "the --remove file", fam, report)
        kept &= True if listed is None else ~listed
    if not kept.any():
        report.error(
            Code.NOBODY_LEFT, "no sample is left after --keep and --remove", remedy="Look at both lists."
        )
    return kept


def _is_empty(path: Path) -> bool:
    """An empty --remove removes nobody; an empty --keep is a mistake."""
    return path.is_file() and path.stat().st_size == 0


def _listed(path: Path, what: str, fam: Fam, report: Report) -> np.ndarray | None:
    """The samples that a file lists, bool (n,), or None where it cannot be read."""
    table = read_table(path, what, fam, report, partial=True)
    if table is None:
        return None
    listed = np.zeros(len(fam), bool)
    listed[table.sample] = True
    return listed
