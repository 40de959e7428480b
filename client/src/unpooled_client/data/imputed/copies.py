"""Genotypes of other formats than PLINK's: a copy as .pgen, .pvar and .psam is made once, and read.

    FOLDER/NAME-DIGEST/       of the file's path
        DIGEST-DIGEST/        of its size and time, and of the options that it is read by
            genotypes.pgen, genotypes.pvar, and genotypes.r2, the quality of imputation; a line of the .pvar
                          has a row in the other two for each alternate allele
            made.json         their sizes, and what was odd in the file
            DIGEST.psam       the people, called after its content

The file is read in pieces, never whole. The copy lies in a folder that only this account may read, and is
used again as long as file and options are the same; one of an earlier state of the file is removed. Dosages
are plink2's whole numbers of 1/16384; a call is made within 0.1 of a whole number of copies, as plink2 does
unless it is told otherwise.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from unpooled.errors import DataProblem
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.panel.filesets import OF_VCF
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.findings.source import exists, how_to_install
from unpooled_client.data.imputed.bgen import open_bgen
from unpooled_client.data.imputed.copied_people import rows_of_psam
from unpooled_client.data.imputed.pieces import Dosed, Progress, Reading
from unpooled_client.data.imputed.vcf import open_vcf
from unpooled_client.data.options import DataOptions

_FORMAT = 3
"""Format version of the copies; raised whenever copies would be made differently."""
NAME, MADE, QUALITY = "genotypes", "made.json", "r2"
COPYING = "Copying the genotypes"


@dataclass(frozen=True)
class _Copy:
    """A copy that is whole."""

    prefix: Path
    psam: Path
    notes: dict[str, int]
    """Counts of the oddities found in the file."""


def silent(file: Path, done: int, total: int) -> None:
    """Nobody hears of the progress."""


def default_folder() -> Path:
    """Return the folder where this system caches what can be made again."""
    return user_cache_path("unpooled", appauthor=False) / "copies"


def with_copy(options: DataOptions, report: Report, reading: Reading) -> DataOptions | None:
    """The options that read the copy, which is made if need be; as they are if PLINK's files are given.

    None if the file cannot be read: the report says why.
    """
    copied = options.copied
    if copied is None:
        return options
    path, what = options.genotypes, f"the {copied.name} file"
    if not exists(path, what, report):
        return None
    try:
        copy = _copy_of(options, partial(reading, path), report)
    except ImportError:
        report.error(
            Code.READER,
            f"{what} needs a package that is not installed here",
            file=path,
            remedy=how_to_install(copied.option),
        )
        return None
    except DataProblem as problem:
        report.error(Code.COPY, problem.what, file=problem.file, line=problem.line, remedy=problem.remedy)
        return None
    if copy is None:
        return None
    _tell(copy, path, what, report)
    return dataclasses.replace(
        options,
        pfile=copy.prefix,
        psam=copy.psam,
        quality=Path(f"{copy.prefix}.{QUALITY}"),
        vcf=None,
        vcf_dosage=None,
        bgen=None,
        sample=None,
        copies=None,
    )


def _tell(copy: _Copy, path: Path, what: str, report: Report) -> None:
    report.note(
        Code.COPY,
        f"{what} is read from a copy as .pgen, .pvar and .psam",
        file=path,
        read=f"{copy.prefix}.pgen",
        remedy="It is made again when it is missing or the file has changed. Choose its folder by --copies.",
    )
    for odd, count in copy.notes.items():
        report.warning(
            Code.DOSAGE,
            f"{what} has {odd}, taken as missing",
            file=path,
            count=count,
            remedy="If these are many, look at how the file was made.",
        )


def _copy_of(options: DataOptions, progress: Progress, report: Report) -> _Copy | None:
    """The copy, which is made if need be. None if the report says why not."""
    path = options.genotypes
    is_vcf = options.copied is OF_VCF
    file: Dosed = open_vcf(path, options.vcf_dosage, options.chr_set) if is_vcf else open_bgen(path)
    people = rows_of_psam(path, file.people, file.samples, options.sample, options.psam, report)
    if options.minimac3_r2_filter is not None and file.lacks_quality:
        report.error(
            Code.OPTION,
            f"the quality of imputation is not known: {file.lacks_quality}",
            file=path,
            remedy="Leave --minimac3-r2-filter out, and leave variants out with --exclude FILE.",
        )
        return None
    if people is None:
        return None
    status = path.stat()
    of_file = (options.copies or default_folder()) / f"{path.name}-{_digest(str(path.absolute()))[:8]}"
    state = _digest(f"{_FORMAT} {status.st_size} {status.st_mtime_ns}")[:16]
    made = of_file / f"{state}-{_digest(f'{options.vcf_dosage} {options.chr_set}')[:8]}"
    try:
        of_file.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(of_file / "lock", progress):
            # Looked at under the lock: another process may just have made it.
            if (notes := _notes(made)) is None:
                notes = _make(file, made, progress)
            for other in of_file.glob("*-*"):
                # Only of other states: another process may be reading a copy of this one by other options.
                if not other.name.startswith(state):
                    shutil.rmtree(other, ignore_errors=True)  # Windows keeps what somebody has open
            psam = _write_people(made, people)
    except OSError as error:
        raise DataProblem(
            f"the copy cannot be written: {error.strerror}",
            file=of_file,
            remedy="It takes about as much room as the file itself. Choose another folder by --copies.",
        ) from error
    return _Copy(made / NAME, psam, notes)


@contextmanager
def _alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of a copy, so that only one process makes it; while waiting, report that copying is under
    way.
    """
    # Woken each second to report: another process may copy for an hour.
    holds = FileLock(lock, timeout=1)
    while True:
        try:
            holds.acquire()
            break
        except Timeout:
            progress(0, 0)
    try:
        yield
    finally:
        holds.release()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _notes(made: Path) -> dict[str, int] | None:
    """Return the notes of a copy that is present and whole; None if there is none."""
    try:
        about = json.loads((made / MADE).read_bytes())
        sizes = {kind: made.joinpath(f"{NAME}.{kind}").stat().st_size for kind in about["sizes"]}
    except (OSError, ValueError, KeyError):
        return None
    return dict(about["notes"]) if sizes == about["sizes"] else None


def _make(file: Dosed, made: Path, progress: Progress) -> dict[str, int]:
    """Make the copy, whole or not at all; what was odd, and how often."""
    part = made.with_suffix(".part")
    # What a process that was killed has left.
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(mode=0o700)
        notes = _write(file, part / NAME, progress)
        sizes = {kind: part.joinpath(f"{NAME}.{kind}").stat().st_size for kind in ("pgen", "pvar", QUALITY)}
        about = {"of": str(file.path), "notes": notes, "sizes": sizes}
        part.joinpath(MADE).write_text(json.dumps(about), encoding="utf-8")
        shutil.rmtree(made, ignore_errors=True)  # one that is not whole
        part.replace(made)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return notes


def _write_people(made: Path, rows: list[bytes]) -> Path:
    """The people beside the copy, in a file that is called after its content and never changes."""
    content = b"\n".join(rows) + b"\n"
    psam = made / f"{hashlib.sha256(content).hexdigest()[:16]}.psam"
    if not psam.exists():
        part = psam.with_suffix(".part")
        part.write_bytes(content)
        part.replace(psam)
    return psam


def _write(file: Dosed, prefix: Path, progress: Progress) -> dict[str, int]:
    """Write .pgen and .pvar; DataProblem if the file is damaged."""
    from pgenlib import PgenWriter

    notes: Counter[str] = Counter()
    done, rows = 0, file.rows(progress)
    if not rows:
        raise DataProblem("the file has no variants", file=file.path)
    writer = PgenWriter(
        os.fsencode(f"{prefix}.pgen"), file.samples, rows, nonref_flags=False, dosage_present=True
    )
    with (
        Path(f"{prefix}.pvar").open("w", encoding="utf-8", newline="\n") as pvar,
        Path(f"{prefix}.{QUALITY}").open("wb") as quality,
    ):
        pvar.write("#CHROM\tPOS\tID\tREF\tALT\n")
        for piece in file.pieces(notes):
            done += len(piece.dosages)
            # Stopped at once: Pgenlib would write beyond the room that it was told.
            if done > rows:
                break
            pvar.writelines(f"{line}\n" for line in piece.lines)
            with _writable(prefix):
                writer.append_dosages_batch(_copies(piece.dosages))
            quality.write(piece.quality.astype("<f4").tobytes())
            progress(done, rows)
    if done != rows:
        raise DataProblem(
            f"the file has {'more' if done > rows else 'fewer'} variants than were counted in it before",
            file=file.path,
            remedy=f"They were {rows:,}. Is another program still writing it? Start again when it is done.",
        )
    with _writable(prefix):
        writer.close()
    return {note: count for note, count in notes.items() if count}


@contextmanager
def _writable(prefix: Path) -> Iterator[None]:
    """Turns what Pgenlib raises where it cannot write, which has no reason, into an OSError."""
    try:
        yield
    except RuntimeError as error:
        raise OSError(errno.EIO, "the disk may be full", f"{prefix}.pgen") from error


def _copies(dosages: np.ndarray) -> np.ndarray:
    """Convert dosages to Pgenlib's form: float32, which holds every 1/16384 of two copies; negative if
    missing.
    """
    return np.where(dosages == NO_DOSAGE, np.float32(-9), dosages / np.float32(COPY))
