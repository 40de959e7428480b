"""The .bed file: genotypes, two bits each, handed on as they are.

Rows are copied into padded rows of 64-bit words and never decoded. They are read, not memory-mapped: a mapped
file that is cut off, or whose network share goes away, kills the process without a message, while a failed
read is an error that can be reported. It costs little: 8 GB/s from the page cache, where mapping gave 15.

pandas-plink is not used: it decodes each call into a number (0.009 GB/s), and importing it with Dask and
xarray takes longer than a whole study.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ALL_MISSING, Packed, dosages_of
from unpooled.errors import DataProblem
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.findings.source import head_of

MAGIC = b"\x6c\x1b"
SNP_MAJOR, SAMPLE_MAJOR = b"\x01", b"\x00"
HEADER = 3
WHAT = "the .bed file"

WINDOW = 1 << 20  # bytes read at once: few enough to be copied while they are in the cache
HOLE = 64 << 10  # unwanted bytes between two rows that are rather read over than left out


@dataclass(frozen=True)
class BedFile:
    """A SNP-major .bed of known shape. May be read from several threads at once."""

    path: Path
    samples: int
    variants: int

    @property
    def row_bytes(self) -> int:
        return -(-self.samples // 4)

    @property
    def size(self) -> int:
        """Bytes that the file must have."""
        return HEADER + self.variants * self.row_bytes

    def words(self, rows: np.ndarray) -> np.ndarray:
        """Return packed calls, as `unpooled_client.data.plink.genotypes` says; takes about 1 MiB of memory
        besides the result.
        """
        out = np.empty((len(rows), -(-self.samples // 32)), "<u8")
        padded = out.view(np.uint8)[:, : self.row_bytes]
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        absent = int(np.searchsorted(wanted, 0))
        # -1 sorts first: what the file lacks is missing for everybody.
        out[order[:absent]] = ALL_MISSING
        try:
            with self.path.open("rb", buffering=0) as file:
                for start, stop in self._windows(wanted, absent):
                    low, high = int(wanted[start]), int(wanted[stop - 1]) + 1
                    data = self._read(file, low, high)
                    place, into = wanted[start:stop] - low, order[start:stop]
                    if _follow(place) and _follow(into):  # copying slices is several times as fast
                        padded[into[0] : into[0] + len(into)] = data
                    else:
                        padded[into] = data[place]
        except OSError as error:
            raise DataProblem(f"{WHAT} cannot be read: {error.strerror}", file=self.path) from error
        return out

    @property
    def has_dosages(self) -> bool:
        return False

    def dosages(self, rows: np.ndarray) -> np.ndarray:
        """Return whole copies as dosages, as `unpooled_client.data.plink.genotypes` says."""
        return dosages_of(Packed(self.words(rows), np.zeros(len(rows), bool)), self.samples).values

    def _windows(self, rows: np.ndarray, start: int) -> list[tuple[int, int]]:
        """Cut the ascending `rows[start:]` into stretches that are worth one read each."""
        most = max(1, WINDOW // self.row_bytes)
        holes = np.flatnonzero(np.diff(rows[start:]) > 1 + HOLE // self.row_bytes) + 1 + start
        windows = []
        for bound in [*holes.tolist(), len(rows)]:
            while start < bound:
                stop = min(bound, int(np.searchsorted(rows, rows[start] + most)))
                windows.append((start, stop))
                start = stop
        return windows

    def _read(self, file: io.FileIO, low: int, high: int) -> np.ndarray:
        """Rows `low` to `high` as they are, uint8 (high - low, row_bytes)."""
        data = np.empty((high - low, self.row_bytes), np.uint8)
        space = data.data.cast("B")
        file.seek(HEADER + low * self.row_bytes)
        while space:
            count = file.readinto(space)
            if not count:
                raise DataProblem(
                    f"{WHAT} ends early: it was cut off while it was in use",
                    file=self.path,
                    remedy="Restore it and start again; the run goes on.",
                )
            space = space[count:]
        return data


def _follow(numbers: np.ndarray) -> bool:
    """Tell whether ascending numbers are consecutive, without gaps or repetitions."""
    return bool(numbers[-1] - numbers[0] == len(numbers) - 1 and (np.diff(numbers) == 1).all())


def has_header(path: Path, report: Report) -> bool:
    """Tell whether a file begins as a SNP-major .bed; if not, the report says what it is."""
    head = head_of(path, WHAT, HEADER, report)
    if head is None or head == MAGIC + SNP_MAJOR:
        return head is not None
    if head == MAGIC + SAMPLE_MAJOR:
        report.error(
            Code.BED_SAMPLE_MAJOR,
            f"{WHAT} is sample-major (individual-major): an old layout",
            file=path,
            read=head.hex(" "),
            expected="6c 1b 01",
            remedy="Write it again with `plink1.9 --bfile OLD --make-bed --out NEW`.",
        )
        return False
    if head[:2] == b"\x1f\x8b":
        report.error(
            Code.FILE_COMPRESSED, f"{WHAT} is compressed", file=path, remedy="Unpack it with `gunzip`."
        )
        return False
    pgen = "It is a .pgen file: give it with --pfile, or " if head[:2] == MAGIC else ""
    report.error(
        Code.BED_MAGIC,
        f"{WHAT} does not begin like a PLINK 1 .bed",
        file=path,
        read=head.hex(" "),
        expected="6c 1b 01",
        remedy=f"{pgen}write a .bed with `plink2 … --make-bed`, or `plink1.9 … --make-bed`.",
    )
    return False


def has_size(bed: BedFile, report: Report) -> bool:
    """Tell whether a .bed has its expected size; if not, the report says which size would fit."""
    size = bed.path.stat().st_size
    if size == bed.size:
        return True
    report.error(
        Code.BED_SIZE,
        f"the size of {WHAT} does not fit the .fam and the .bim",
        file=bed.path,
        read=f"{size} bytes",
        expected=f"{bed.size} bytes for {bed.samples} samples and {bed.variants} variants",
        remedy=_size_remedy(bed, size),
    )
    return False


def _size_remedy(bed: BedFile, size: int) -> str:
    data = size - HEADER
    if data % bed.row_bytes == 0:
        return (
            f"It fits {bed.samples} samples and {data // bed.row_bytes} variants: is the .bim the right one?"
        )
    if bed.variants and data % bed.variants == 0:
        most = 4 * data // bed.variants
        return (
            f"It fits {most - 3} to {most} samples and {bed.variants} variants: is the .fam the right one, "
            "or was a line added to it or removed?"
        )
    if size < bed.size:
        return "It was probably cut off, by a full disk or a broken copy: copy it again."
    return "Use .bed, .bim and .fam of one run of PLINK."
