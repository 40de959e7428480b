"""What there is to say of the IDs and the alleles of a whole .bim or .pvar file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled import text
from unpooled.agreement import UNNAMED
from unpooled.panel import Panel
from unpooled.text import Bytes
from unpooled_client.data.report import Code, Report, at_lines, shown

LONG_ID = 100


@dataclass(frozen=True)
class IdsAndAlleles:
    """Tells the report. Lines and names are arrays of m variants; `some` are indices of those to tell of."""

    path: Path
    column: int
    """Of the IDs, from 1."""
    report: Report

    def check_ids(self, line: np.ndarray, name: np.ndarray) -> None:
        """Tell of variants that cannot be found by their IDs, and of odd IDs."""
        unnamed = name == UNNAMED
        self._tell(
            np.flatnonzero(unnamed),
            line,
            name,
            Code.VARIANT_UNNAMED,
            "a variant has no ID (.): it is left out of the study",
            "Name them, e.g. with `plink2 --set-missing-var-ids @:#:$r:$a --make-bed`; or ask the "
            "coordinator for a plan that matches variants by place.",
        )
        self._tell_twice(np.flatnonzero(_repeated(name) & ~unnamed), line, name)
        self._tell(
            _not_ascii(name),
            line,
            name,
            Code.VARIANT_ID_ODD,
            "the ID of a variant contains non-ASCII letters",
            "IDs are compared byte by byte: other cohorts must write them in the same encoding.",
        )
        if (width := name.dtype.itemsize) > LONG_ID:
            self._tell(
                np.flatnonzero(np.char.str_len(name) > LONG_ID),
                line,
                name,
                Code.VARIANT_ID_LONG,
                f"the ID of a variant has more than {LONG_ID} letters: in memory every ID takes as much room "
                f"as the longest, {width:,}",
                "Shorten such IDs in all cohorts alike, e.g. with `plink2 --set-all-var-ids @:#:$r:$a "
                "--new-id-max-allele-len 20 truncate --make-bed`.",
            )

    def check_alike(self, panel: Panel, line: np.ndarray) -> None:
        """Tell of variants, in canonical order, that are called alike after their places."""
        again = panel.is_alike
        again = np.flatnonzero(np.append(again, False) | np.append(False, again))
        if len(again):
            self._tell_twice(again[np.argsort(line[again], kind="stable")], line, panel.name)

    def check_unseen(self, some: np.ndarray, line: np.ndarray, name: np.ndarray) -> None:
        """Tell of those with an allele that was not seen, which cannot be found by their alleles."""
        self._tell(
            some,
            line,
            name,
            Code.ALLELES_UNSEEN,
            "an allele is 0, and the study matches variants by their alleles: this one is found only "
            "where other cohorts have a 0, too",
            "Give files with both alleles of each variant, as imputation and `plink2 --make-pgen` write "
            "them.",
        )

    def check_equal(self, some: np.ndarray, line: np.ndarray, name: np.ndarray) -> None:
        """Tell of those whose two alleles are one."""
        self._tell(
            some,
            line,
            name,
            Code.ALLELES_EQUAL,
            "a variant names the same allele twice",
            "Write 0 for an allele that was not seen.",
        )

    def _tell_twice(self, some: np.ndarray, line: np.ndarray, name: np.ndarray) -> None:
        self._tell(
            some,
            line,
            name,
            Code.VARIANT_DUPLICATE,
            "a variant shares its ID with another one: both are left out of the study",
            "Rename or remove them, e.g. with `plink2 --rm-dup force-first --make-bed`.",
        )

    def _tell(
        self, some: np.ndarray, line: np.ndarray, name: np.ndarray, code: Code, message: str, remedy: str
    ) -> None:
        if not len(some):
            return
        lines, names = line[some[:3]], name[some[:3]]
        self.report.warning(
            code,
            message,
            file=self.path,
            line=int(lines[0]),
            column=self.column,
            read=shown(names[0]),
            remedy=remedy,
            count=len(some),
            examples=at_lines(lines.tolist(), names),
        )


def _repeated(name: np.ndarray) -> np.ndarray:
    """Which names stand more than once, bool (m,)."""
    width = name.dtype.itemsize
    letters: Bytes = np.ascontiguousarray(name).view(np.uint8)
    letters.flags.writeable = False  # as the text of a file is: one compiled kernel serves both
    start = np.arange(len(name), dtype=np.int64) * width
    code, first = text.classes(letters, start, start + width)
    if len(first) == len(name):
        return np.zeros(len(name), bool)
    return np.bincount(code)[code] > 1


def _not_ascii(name: np.ndarray) -> np.ndarray:
    """Indices of names that hold a byte beyond ASCII."""
    if not (np.ascontiguousarray(name).view(np.uint8) > 127).any():
        return np.zeros(0, np.int64)
    return np.flatnonzero([not one.isascii() for one in name.tolist()])
