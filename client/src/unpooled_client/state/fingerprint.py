"""Fingerprints that show whether a data file is still the accepted one: size, time and a digest of the
content.

Text files and a .bed of up to 4 GiB are digested whole (1.2 GB/s, once at the start). Of a larger .bed,
for which that would take minutes at every start, 256 blocks spread evenly over it are digested: a bad
copy, a file from another run and a cut or shifted file all show in them. A change of single calls may
not, so for such a file the time counts as well; for the others only the content does,
and a file restored from a backup is the same file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from unpooled.errors import DataProblem

WHOLE = 4 << 30
BLOCKS = 256
BLOCK = 64 << 10

ELSE = (
    "If nothing derived from the data was sent yet, check and release it again (`unpooled-client check "
    "--state DIR`); otherwise ask for the study to be repeated."
)
"""Remedies for data that differ from the accepted ones, other than going back to these."""


@dataclass(frozen=True)
class Fingerprint:
    """Record of one file that is kept with the state."""

    size: int
    modified: int
    """Nanoseconds since 1970, as the file system says; of a folder a number: see `stamp`."""
    digest: str
    """SHA-256 in hex: of the content, or of the size and the sampled blocks if `sampled`."""
    sampled: bool = False

    @classmethod
    def of(cls, path: Path, whole: int = WHOLE) -> Fingerprint:
        """The fingerprint of a file; DataProblem if it cannot be read."""
        try:
            size, modified = stamp(path)
            if path.is_dir():
                return cls(size, modified, _of_folder(path))
            sampled = size > whole
            digest = _sample(path, size) if sampled else _all(path)
        except OSError as error:
            raise DataProblem(f"the file cannot be read: {error.strerror}", file=path) from error
        return cls(size, modified, digest, sampled)

    def same(self, other: Fingerprint) -> bool:
        """Tell whether two fingerprints are of the same content."""
        alike = (self.size, self.digest, self.sampled) == (other.size, other.digest, other.sampled)
        return alike and (not self.sampled or self.modified == other.modified)


def fingerprints(paths: dict[str, Path]) -> dict[str, Fingerprint]:
    """The fingerprints of some files, by the same names."""
    return {name: Fingerprint.of(path) for name, path in paths.items()}


def check_unchanged(accepted: dict[str, Fingerprint], paths: dict[str, Path]) -> None:
    """DataProblem that names the first file which is not the one that was accepted.

    A file whose size and time are as before is not read again.
    """
    if accepted.keys() != paths.keys():
        other = ", ".join(sorted(accepted.keys() ^ paths.keys()))
        raise DataProblem(
            f"these are not the files that were accepted: {other}",
            remedy=f"Start with the same options as before. {ELSE}",
        )
    for name, path in paths.items():
        if not _as_before(accepted[name], path):
            raise DataProblem(
                f"the {name} file has changed since it was accepted",
                file=path,
                remedy=f"Restore it and start again. {ELSE}",
            )


def _as_before(accepted: Fingerprint, path: Path) -> bool:
    try:
        size, modified = stamp(path)
    except OSError:
        return False
    # A file of another size is another file, and need not be read.
    if size != accepted.size:
        return False
    return modified == accepted.modified or accepted.same(Fingerprint.of(path))


def stamp(path: Path) -> tuple[int, int]:
    """Size, and nanoseconds since 1970, of a file.

    Of a folder the sizes of all files in it, and a number that changes with the name or the time of any: an
    image that is moved to another label's folder keeps its size and its time.
    """
    if not path.is_dir():
        status = path.stat()
        return status.st_size, status.st_mtime_ns
    found = [(each.relative_to(path).as_posix(), each.stat()) for each in _files_in(path)]
    said = repr([(name, status.st_size, status.st_mtime_ns) for name, status in found])
    number = int.from_bytes(hashlib.sha256(said.encode()).digest()[:7])
    return sum(status.st_size for _, status in found), number


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _of_folder(folder: Path) -> str:
    """The digest of the names and digests of all files in a folder."""
    lines = (f"{path.relative_to(folder).as_posix()} {_all(path)}\n" for path in _files_in(folder))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _all(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sample(path: Path, size: int) -> str:
    digest = hashlib.sha256(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        for k in range(BLOCKS):
            # From the first byte to the last: a file that was cut or shifted differs in some block.
            file.seek((size - BLOCK) * k // (BLOCKS - 1))
            digest.update(file.read(BLOCK))
    return digest.hexdigest()
