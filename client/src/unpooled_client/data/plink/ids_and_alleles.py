"""Checks of the IDs and the alleles of a whole .bim or .pvar file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.memory import tokenizer
from unpooled.memory.spool import AT_ONCE, slices
from unpooled.memory.tokenizer import Bytes
from unpooled.panel import partition
from unpooled.panel.agreement import UNNAMED
from unpooled.panel.alleles import UNSEEN
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.plink.variants import Found, Variants, found

LONG_ID = 100


@dataclass(frozen=True)
class IdsAndAlleles:
    """Tells the report."""

    path: Path
    column: int
    """Column of the IDs, from 1."""
    report: Report
    at_once: int = AT_ONCE

    def check(self, variants: Variants) -> None:
        """Tell what can be said in any order of the variants."""
        if variants.panel.by_place:
            self._check_unseen(variants)
        else:
            self._check_ids(variants)
        self._check_equal(variants)

    def _check_ids(self, variants: Variants) -> None:
        """Tell of variants that cannot be found by their IDs, and of odd IDs."""
        self._tell(
            self._found(variants, lambda part: part.panel.name == UNNAMED),
            variants,
            Code.VARIANT_UNNAMED,
            "a variant has no ID (.): it is left out of the study",
            "Name them, e.g. with `plink2 --set-missing-var-ids @:#:$r:$a --make-bed`; or ask the "
            "coordinator for a plan that matches variants by place.",
        )
        self._tell_twice(self._repeated(variants), variants)
        self._tell(
            self._found(variants, lambda part: _not_ascii(part.panel.name)),
            variants,
            Code.VARIANT_ID_ODD,
            "the ID of a variant contains non-ASCII letters",
            "IDs are compared byte by byte: other cohorts must write them in the same encoding.",
        )
        if (width := variants.panel.name.dtype.itemsize) > LONG_ID:
            self._tell(
                self._found(variants, lambda part: np.char.str_len(part.panel.name) > LONG_ID),
                variants,
                Code.VARIANT_ID_LONG,
                f"the ID of a variant has more than {LONG_ID} letters: in memory every ID takes as much room "
                f"as the longest, {width:,}",
                "Shorten such IDs in all cohorts alike, e.g. with `plink2 --set-all-var-ids @:#:$r:$a "
                "--new-id-max-allele-len 20 truncate --make-bed`.",
            )

    def check_alike(self, variants: Variants) -> None:
        """Tell of variants, in canonical order, that are called alike after their places."""
        again = Found()
        for rows in slices(len(variants), self.at_once):
            start = max(rows.start - 1, 0)
            part = variants.part(slice(start, rows.stop + 1))  # with the neighbours of the first and the last
            alike = part.panel.is_alike
            here = np.append(alike, False) | np.append(False, alike)
            here[: rows.start - start] = here[rows.stop - start :] = False
            at = np.flatnonzero(here)
            again.add(start + at, part.line[at])
            variants.forget()
        self._tell_twice(again, variants)

    def _repeated(self, variants: Variants) -> Found:
        """Find the variants whose ID stands more than once."""
        name, again = variants.panel.name, Found()
        parts = partition.number_of_parts(len(variants), self.at_once)
        for rows in partition.members(partition.by_name(name, parts, self.at_once), parts, self.at_once):
            some = name if parts == 1 else name[rows]
            here = rows[_repeated(some) & (some != UNNAMED)]
            again.add(here, variants.line[here])
            variants.forget()
        return again

    def _found(self, variants: Variants, which: Callable[[Variants], np.ndarray]) -> Found:
        return found(variants, which, self.at_once)

    def _check_unseen(self, variants: Variants) -> None:
        """Tell of those with an allele that was not seen, which cannot be found by their alleles."""
        unseen = _unseen(variants)
        self._tell(
            self._found(variants, lambda part: (part.panel.first == unseen) | (part.panel.second == unseen)),
            variants,
            Code.ALLELES_UNSEEN,
            "an allele is 0, and the study matches variants by their alleles: this one is found only "
            "where other cohorts have a 0, too",
            "Give files with both alleles of each variant, as imputation and `plink2 --make-pgen` write "
            "them.",
        )

    def _check_equal(self, variants: Variants) -> None:
        """Tell of those whose two alleles are one."""
        unseen = _unseen(variants)

        def is_one(part: Variants) -> np.ndarray:
            return np.asarray((part.panel.first == part.panel.second) & (part.panel.first != unseen))

        self._tell(
            self._found(variants, is_one),
            variants,
            Code.ALLELES_EQUAL,
            "a variant names the same allele twice",
            "Write 0 for an allele that was not seen.",
        )

    def _tell_twice(self, some: Found, variants: Variants) -> None:
        self._tell(
            some,
            variants,
            Code.VARIANT_DUPLICATE,
            "a variant shares its ID with another one: both are left out of the study",
            "Rename or remove them, e.g. with `plink2 --rm-dup force-first --make-bed`.",
        )

    def _tell(self, some: Found, variants: Variants, code: Code, message: str, remedy: str) -> None:
        if not some:
            return
        details = some.at(self.path, lambda row: bytes(variants.panel.name[row]), self.column)
        self.report.warning(code, message, remedy=remedy, **details)


def _unseen(variants: Variants) -> int:
    """The number of the allele that was not seen, -1 where there is none."""
    alleles = variants.panel.alleles
    return alleles.index(UNSEEN) if UNSEEN in alleles else -1


def _repeated(name: np.ndarray) -> np.ndarray:
    """Mark the names that stand more than once, bool (m,)."""
    width = name.dtype.itemsize
    letters: Bytes = np.ascontiguousarray(name).view(np.uint8)
    letters.flags.writeable = False  # as the text of a file is: one compiled kernel serves both
    start = np.arange(len(name), dtype=np.int64) * width
    code, first = tokenizer.classes(letters, start, start + width)
    if len(first) == len(name):
        return np.zeros(len(name), bool)
    return np.bincount(code)[code] > 1


def _not_ascii(name: np.ndarray) -> np.ndarray:
    """Mark the names that hold a byte beyond ASCII, bool (k,)."""
    letters = np.ascontiguousarray(name).view(np.uint8).reshape(len(name), -1)
    return np.asarray((letters > 127).any(axis=1))
