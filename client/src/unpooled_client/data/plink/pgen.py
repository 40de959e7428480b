"""The .pgen file of PLINK 2: its hard calls, read by Pgenlib, which is plink2's own reader."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.asking.cohort import ALL_MISSING
from unpooled.errors import DataProblem
from unpooled.kernels.dosages import COPY, NO_DOSAGE, from_copies
from unpooled.kernels.packing import pack_copies
from unpooled.panel.filesets import OF_PFILE
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.findings.source import head_of, how_to_install
from unpooled_client.data.plink.genotypes import stretches
from unpooled_client.data.plink.imputation import r2_of
from unpooled_client.data.plink.pgen_records import rows_of_several, take_dosages
from unpooled_client.data.plink.split import WHOLE, Split

if TYPE_CHECKING:
    from pgenlib import PgenReader

MAGIC = b"\x6c\x1b"
PLINK_1 = (b"\x00", b"\x01")
WHAT = "the .pgen file"

DECODED = 1 << 20  # bytes of decoded calls at once, few enough to be packed while they are in the cache


@dataclass(frozen=True)
class PgenFile:
    """A .pgen of known shape. May be read from several threads at once."""

    path: Path
    samples: int
    variants: int
    """Rows in the file."""
    split: Split = WHOLE
    """Its rows of several alternate alleles; variants are numbered as this says."""

    def words(self, rows: np.ndarray) -> np.ndarray:
        """The hard calls as `unpooled_client.data.plink.genotypes` says, of which A1 is ALT."""
        width = -(-self.samples // 32)
        out = np.empty((len(rows), width), np.uint64)
        out[rows < 0] = ALL_MISSING
        for places, at, allele in self._stretches(rows, 32 * width):
            copies = np.zeros((len(at), 32 * width), np.int8)
            with self._reader() as reader:
                reader.read_list(at, copies, allele)
            out[places] = pack_copies(copies)
        return out

    def _stretches(self, rows: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Yield places in `rows`, the file's rows for these, uint32, ascending, and which allele to read.

        `size`: bytes that a decoded row takes. What is absent, -1, is left out.
        """
        # Ascending: a record may only say how it differs from one before.
        order = np.argsort(rows, kind="stable")
        order = order[np.searchsorted(rows[order], 0) :]
        at, alleles, _ = self.split.places(rows[order])
        most = max(1, DECODED // size)
        for allele in range(1, 1 + int(alleles.max(initial=1))):
            some = np.flatnonzero(alleles == allele)
            for start in range(0, len(some), most):
                part = some[start : start + most]
                yield order[part], at[part].astype(np.uint32), allele

    @functools.cached_property
    def has_dosages(self) -> bool:
        """True if any of some rows, spread over the file, has a dosage that is not whole copies.

        Of several alternate alleles plink2 stores no dosages, nor does Pgenlib read them.
        """
        for stretch in stretches(self.variants + len(self.split)):
            rows = np.arange(stretch.start, stretch.stop)
            _, _, is_one_of_several = self.split.places(rows)
            if _in_part(self.dosages(rows[~is_one_of_several])).any():
                return True
        return False

    def dosages(self, rows: np.ndarray) -> np.ndarray:
        """Return dosages of A1, which is ALT, as `unpooled_client.data.plink.genotypes` says.

        Pgenlib gives the file's whole numbers of 1/16384 in single precision, which holds them exactly.
        """
        out = np.empty((len(rows), self.samples), np.uint16)
        out[rows < 0] = NO_DOSAGE
        waiting = np.where(self._taken(rows, out), -1, rows)
        for places, at, allele in self._stretches(waiting, 4 * self.samples):
            copies = np.empty((len(at), self.samples), np.float32)
            with self._reader() as reader:
                reader.read_dosages_list(at, copies, allele)
            out[places] = from_copies(copies)
        return out

    def _taken(self, rows: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Read rows into `out` without Pgenlib where possible, and mark those that were read."""
        done = np.zeros(len(rows), bool)
        order = np.argsort(rows, kind="stable")
        order = order[np.searchsorted(rows[order], 0) :]
        at, _, is_one_of_several = self.split.places(rows[order])
        order, at = order[~is_one_of_several], at[~is_one_of_several]
        with suppress(OSError):  # Pgenlib meets it, too
            done[order] = take_dosages(self.path, self.variants, at, order, out)
        return done

    def minimac3_r2(self, rows: np.ndarray) -> np.ndarray:
        """The quality of imputation of some rows, float64 (k,) (`unpooled_client.data.plink.imputation`).

        A dosage without phase is shared evenly between the haplotypes, as plink2 does. DataProblem as above.
        """
        out = np.empty(len(rows))
        for places, at, allele in self._stretches(rows, 8 * self.samples):
            haplotypes = np.empty((len(at), 2 * self.samples), np.float32)
            with self._reader() as reader:
                reader.read_phased_dosages_list(at, haplotypes, allele)
            dosages = np.where(haplotypes < 0, np.nan, haplotypes.astype(np.float64))
            out[places] = r2_of(dosages[:, ::2], dosages[:, 1::2])
        return out

    @contextmanager
    def _reader(self) -> Iterator[PgenReader]:
        """The reader of the file as it is now, for one thread at a time. DataProblem if it cannot read."""
        try:
            status = self.path.stat()
            # By time and size, too: a file that was replaced is opened anew.
            opened = _opened(self, status.st_mtime_ns, status.st_size)
            with opened.lock:
                yield opened.reader
        except (RuntimeError, OSError) as error:
            raise DataProblem(
                f"{WHAT} cannot be read: {_reason(error)}",
                file=self.path,
                remedy="Was it cut off or replaced while it was in use? Restore it and start again; the run "
                "goes on.",
            ) from error


def _in_part(dosages: np.ndarray) -> np.ndarray:
    """Mark the dosages that are not a whole number of copies."""
    return np.asarray((dosages % COPY > 0) & (dosages != NO_DOSAGE))


@dataclass(frozen=True)
class _Opened:
    """One reader for all threads: Pgenlib keeps Python's own lock while it reads, and its index is large."""

    reader: PgenReader
    lock: threading.Lock


@functools.lru_cache(maxsize=2)
def _opened(file: PgenFile, modified: int, size: int) -> _Opened:
    """A reader of the file as it is now. RuntimeError or OSError if it is no .pgen, or has another shape."""
    from pgenlib import PgenReader

    reader = PgenReader(
        str(file.path).encode(),
        raw_sample_ct=file.samples,
        variant_ct=file.variants,
        allele_idx_offsets=file.split.offsets(file.variants),
    )
    return _Opened(reader, threading.Lock())


def _reason(error: Exception) -> str:
    """Return Pgenlib's message without the names of its functions."""
    if isinstance(error, OSError):
        return str(error.strerror)
    said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
    if "allele_idx_offsets" in said:
        return "it has variants of several alternate alleles, which the .pvar does not name"
    if "error 63" in said or "multiallelic dosages" in said:
        return "it has dosages of a variant of several alternate alleles, which this reader does not know"
    if holds := re.search(r"contains (\d+ (?:samples|variants))", said):
        return f"it has {holds[1]}"
    return "its records are damaged or cut off" if "error" in said else said.strip().rstrip(".")


def open_pgen(
    path: Path, samples: int, variants: int, report: Report, split: Split = WHOLE
) -> PgenFile | None:
    """A .pgen of this shape whose last row can be read; None if it is not: the report says why."""
    try:
        import pgenlib  # noqa: F401
    except ImportError:
        report.error(
            Code.PGEN_READER,
            f"{WHAT} needs a package that is not installed here",
            file=path,
            remedy=how_to_install(OF_PFILE.genotypes),
        )
        return None
    file = PgenFile(path, samples, variants, split)
    try:
        file.words(np.array([variants + len(split) - 1]))
        _check_alternates(file)
        has_dosages = file.has_dosages
    except DataProblem as problem:
        report.error(
            Code.PGEN_SIZE,
            str(problem),
            file=path,
            expected=f"{samples} samples and {variants} variants, as in the .psam and the .pvar",
            remedy="Use .pgen, .pvar and .psam of one run of plink2. Was it cut off, by a full disk or a "
            "broken copy? Then copy it again.",
        )
        return None
    if has_dosages:
        report.note(
            Code.PGEN_DOSAGES,
            f"{WHAT} has dosages: a study of imputed dosages uses these, and any other its hard calls",
            file=path,
            remedy="A call was made where a dosage was near a whole number of copies, within 0.1 unless "
            "plink2 was told otherwise (--hard-call-threshold); it is missing elsewhere.",
        )
    return file


def _check_alternates(file: PgenFile) -> None:
    """DataProblem if somebody has an allele that the .pvar does not name, or the file cannot be read."""
    try:
        rows = rows_of_several(file.path, file.variants, file.samples)
    except OSError as error:
        raise DataProblem(f"{WHAT} cannot be read: {error.strerror}", file=file.path) from error
    unnamed = np.setdiff1d(rows, file.split.further)
    if len(unnamed):
        raise DataProblem(
            f"{WHAT} has several alternate alleles where its .pvar has one: first in row {unnamed[0] + 1:,}",
            file=file.path,
        )


def is_pgen(path: Path, report: Report) -> bool:
    """Tell whether a file begins as a .pgen; if not, the report says what it is."""
    head = head_of(path, WHAT, 3, report)
    if head is None or (head[:2] == MAGIC and head[2:] not in PLINK_1):
        return head is not None
    bed = "If it is a .bed, give it with --bfile. " if head[:2] == MAGIC else ""
    report.error(
        Code.PGEN_MAGIC,
        f"{WHAT} does not begin like a PLINK 2 .pgen",
        file=path,
        read=head.hex(" "),
        expected="6c 1b, and then neither 00 nor 01",
        remedy=f"{bed}Write a .pgen with `plink2 … --make-pgen`.",
    )
    return False
