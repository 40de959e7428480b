"""Files of studies in the platform's store. A file is there whole or not at all; nothing is unpickled.

studies/<study>/shares/<round>.<cohort>.<nonce>      masked bytes, until the round is aggregated
                      /<round>.dealing               of a round that is compared, as long
               /states/<digest>.<random>             what is kept of a branch, or asked, where it is long
               /told/<place>                         sums of a round, as cohorts are told them
                    /<place>.shown                   a comparison, as all are shown it who have not dealt
               /rows/<random>.npy                    some result rows
                    /merged-<table>/<name>.npy       all of a table, sorted, in place of those; with an object
                                                     store beside them, on a machine that needs it
               /lists/<digest>.bin, list.bin, panel.bin, remarks.tsv
               /results-<random>/<name>
                                /columns/<name>.npy, pictures/<name>
"""

from __future__ import annotations

import collections
import fcntl
import fnmatch
import hashlib
import mmap
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

import numpy as np
from django.conf import settings

from unpooled.asking.procedure import Rows
from unpooled.errors import ProtocolError
from unpooled.panel import list_file
from unpooled.panel.panel import Panel
from unpooled_server.errors import UnfitStore
from unpooled_server.storage import files
from unpooled_server.storage.columns import Columns, save_column
from unpooled_server.storage.files import Files
from unpooled_server.storage.files import OtherBytes as OtherBytes

# Bytes of a body or a file that are in memory at once.
BLOCK = 1 << 20


def kept() -> Files:
    """Return the store that the settings name."""
    return _named(settings.UNPOOLED_STORE, settings.UNPOOLED_STORE_KEY, Path(settings.UNPOOLED_HOME))


@lru_cache
def _named(address: str, key: str, home: Path) -> Files:
    if address.startswith("s3://"):
        try:
            from unpooled_server.storage.objects import Objects  # its library is loaded where it is needed
        except ModuleNotFoundError:
            raise UnfitStore("UNPOOLED_STORE: install its library: pip install './webapp[store]'") from None
        (scratch := home / "scratch").mkdir(exist_ok=True, mode=0o700)
        return Objects(address, key, scratch)
    return Files(Path(unquote(urlsplit(address).path)) if address else home)


class LostFile(ProtocolError):
    """A file that a committed row names is gone or damaged."""


def study_folder(study: str) -> Path:
    return kept().root / "studies" / study


def made_folder(study: str) -> Path:
    """The study's folder on this machine, which is there from now on."""
    path = study_folder(study)
    kept().use(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def whole_file(path: Path) -> AbstractContextManager[BinaryIO]:
    """Write a file that appears under its name, durably, once the block has ended well."""
    return files.whole_file(path, kept().take)


# Shares


def share_path(study: str, round_id: int, cohort: int, nonce: str) -> Path:
    return study_folder(study) / "shares" / f"{round_id}.{cohort}.{nonce}"


def dealing_path(study: str, round_id: int) -> Path:
    return study_folder(study) / "shares" / f"{round_id}.dealing"


def told_path(study: str, place: str) -> Path:
    """The file with the sums that were asked for at a place, given its label."""
    return study_folder(study) / "told" / place


def shown_path(study: str, place: str) -> Path:
    """The file with the comparison at a place, as cohorts are shown it."""
    return study_folder(study) / "told" / f"{place}.shown"


def keep_told(study: str, place: str, pieces: Collection[bytes | memoryview]) -> bytes:
    """Keep what cohorts are told of a place; its SHA-256."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    keep_blocks(told_path(study, place), pieces)
    return digest.digest()


def drop_told(study: str, before: int) -> None:
    """Delete the sums of the first questions of the branch from which all others come."""
    told = (path for path, _ in kept().below(study_folder(study) / "told"))
    kept().delete(path for path in told if path.name.isdecimal() and int(path.name) < before)


def told_digest(study: str, place: str) -> str:
    """SHA-256 of what cohorts are told of a place, in hex; empty where that is lost."""
    try:
        return files.digest(kept().open(told_path(study, place))).hex()
    except FileNotFoundError:
        return ""


LARGE = 1 << 22
"""Bytes from which what is kept of a branch, or asked, lies in a file.

A database holds a row several times over while it writes or reads it, keeps what was deleted for a while, and
writes all of it to its log as well. Up to this a file's two flushes of the disk cost more than that.
"""


def state_path(study: str, name: str) -> Path:
    return study_folder(study) / "states" / name


def keep_state(study: str, pieces: Collection[bytes | memoryview]) -> str:
    """Keep bytes in a file; its name, which begins with their SHA-256 in hex.

    Nobody else has the name, whatever the bytes are: so whose row names it may erase it.
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    name = f"{digest.hexdigest()}.{secrets.token_hex(8)}"
    with whole_file(state_path(study, name)) as out:
        out.writelines(pieces)
    return name


def load_state(study: str, name: str) -> mmap.mmap | bytes:
    """The bytes in a file, mapped; LostFile if they are not there, or are others."""
    try:
        found = _mapped(state_path(study, name))
    except FileNotFoundError as error:
        raise LostFile(f"a state of the study is lost ({name[:12]})") from error
    if hashlib.sha256(found).hexdigest() != name.partition(".")[0]:
        raise LostFile(f"a state of the study is damaged ({name[:12]})")
    return found


def drop_states(study: str, names: Iterable[str]) -> None:
    kept().delete(state_path(study, name) for name in names)


def _mapped(path: Path) -> mmap.mmap | bytes:
    """The bytes of a file, mapped; FileNotFoundError."""
    with kept().open_here(path) as file:
        # An empty file cannot be mapped.
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.seek(0, os.SEEK_END) else b""


def keep_share(path: Path, blocks: Iterator[bytes], size: int) -> None:
    """Stream a share, or a dealing, of exactly `size` bytes to disk.

    The name is taken only once the file is whole, and never taken twice: under one name lie the same bytes
    for ever. ProtocolError if the stream is shorter; OtherBytes if the name is of other bytes already.
    """
    kept().use(path)
    with files.drafted(path) as draft:
        with draft.open("xb") as out:
            got = sum(out.write(block) for block in blocks)
        if got != size:
            raise ProtocolError(f"the share ends early: got {got} bytes; want {size}")
        kept().take_once(draft, path)


def load_share(path: Path, size: int) -> memoryview:
    """The bytes of a committed share or a dealing, mapped; LostFile if they are not all there."""
    try:
        data = memoryview(_mapped(path))
    except FileNotFoundError as error:
        raise LostFile("masked bytes of a cohort are lost") from error
    if len(data) != size:
        raise LostFile("masked bytes of a cohort are damaged")
    return data


def share_is_there(path: Path, size: int) -> bool:
    return kept().size(path) == size


def drop_what_cohorts_sent(study: str) -> None:
    """Delete masked shares, what cohorts were told, states that hold sums, and cohorts' lists of variants."""
    for name in ("shares", "told", "states", "lists"):
        kept().delete_folder(study_folder(study) / name)


# Result rows


def rows_path(study: str, name: str) -> Path:
    return study_folder(study) / "rows" / f"{name}.npy"


def keep_rows(study: str, columns: Mapping[str, np.ndarray]) -> str:
    """Keep the columns as arrays one after the other, in the order of the mapping; the name of the file."""
    name = secrets.token_hex(8)
    with whole_file(rows_path(study, name)) as out:
        for column in columns.values():
            np.save(out, column, allow_pickle=False)
    return name


def load_rows(path: Path, table: str, names: Sequence[str]) -> Rows:
    try:
        with kept().open_here(path) as file:
            return Rows(table, {name: np.load(file, allow_pickle=False) for name in names})
    except (FileNotFoundError, EOFError, ValueError) as error:
        raise LostFile(f"result rows are lost or damaged ({path.name})") from error


def merged_path(study: str, table: str) -> Path:
    """Return the folder on this machine of a table whose rows were merged."""
    return study_folder(study) / "rows" / f"merged-{table}"


def take_folder(draft: Path, path: Path) -> None:
    """Give a folder that is whole its name; one that another worker has made meanwhile serves as well."""
    try:
        draft.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(draft, ignore_errors=True)


def drop_merged(study: str, names: Iterable[str]) -> None:
    """Delete rows that were merged, unless other machines have yet to merge them."""
    if kept().is_shared:
        kept().delete(rows_path(study, name) for name in names)


def drop_rows(study: str) -> None:
    kept().delete_folder(study_folder(study) / "rows")


# Lists of variants


def list_path(study: str, digest: str) -> Path:
    return study_folder(study) / "lists" / f"{digest}.bin"


def drop_list(study: str, digest: str) -> None:
    kept().delete([list_path(study, digest)])


def drop_other_lists(study: str, keep: Collection[str]) -> None:
    """Delete the cohorts' lists that are of none of these digests."""
    lists = (path for path, _ in kept().below(study_folder(study) / "lists"))
    kept().delete(path for path in lists if path.suffix == ".bin" and path.stem not in keep)


@contextmanager
def list_draft(study: str, cohort: int, start: int) -> Iterator[BinaryIO | None]:
    """The file into which a cohort's list comes, cut to its first `start` bytes; None if a part is coming.

    It stays, on this machine, for the next part. Of a part that fails nothing is kept.
    """
    path = made_folder(study) / "lists" / f".{cohort}"
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as out:
        # Whoever held the lock before may have given the file its name: then this is no draft any more.
        if not (_has_locked(out) and _is_at(out, path)):
            yield None
            return
        _cut(out, start)
        try:
            yield out
        except BaseException:
            # Once it is renamed, a file of this name is somebody else's, who is writing it.
            if _is_at(out, path) and not _cut(out, start):
                path.unlink()
            raise


def _cut(file: BinaryIO, size: int) -> int:
    """Cut a file to this size, unless it is shorter; its size."""
    file.seek(size := min(size, file.seek(0, os.SEEK_END)))
    return file.truncate()


def _has_locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Tell whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


_PANEL, _REMARKS = "panel.bin", "remarks.tsv"


def coordinator_list_path(study: str) -> Path:
    return study_folder(study) / "list.bin"


def panel_path(study: str) -> Path:
    return study_folder(study) / _PANEL


def remarks_path(study: str) -> Path:
    return study_folder(study) / _REMARKS


def load_panel(path: Path) -> Panel:
    """The panel in a file, which is mapped; LostFile if it is not there."""
    try:
        return Panel.from_canonical(_mapped(path))
    except FileNotFoundError as error:
        raise LostFile(f"a list of variants is lost ({path.name})") from error


# The panels of the last studies: each is needed three times, and takes a while to read.
_panels: collections.OrderedDict[str, Panel] = collections.OrderedDict()


def _remember(panel: Panel) -> None:
    _panels[panel.digest.hex()] = panel
    while len(_panels) > 2:
        _panels.popitem(last=False)


@dataclass(frozen=True)
class PanelDraft:
    """A panel, and what is to be said of it, in its maker's own folder: another worker may make the same."""

    panel: Panel
    folder: Path

    @classmethod
    def write(cls, folder: Path, parts: Sequence[Panel], remarks: Iterable[bytes]) -> PanelDraft:
        """Write a draft panel from its parts, on this machine."""
        files.write(folder / _PANEL, list_file.pieces(parts))
        files.write(folder / _REMARKS, remarks)
        _remember(panel := Panel.of_file(folder / _PANEL))
        return cls(panel, folder)

    def take(self, study: str) -> None:
        """Make it the study's panel. Whoever calls holds the study's lock."""
        for path in (panel_path(study), remarks_path(study)):
            kept().take(self.folder / path.name, path)


def agreed_panel(study: str, digest: str) -> Panel:
    """The panel that a study has agreed on; LostFile if its file is gone or damaged."""
    panel = _panels.get(digest)
    if panel is None:
        panel = load_panel(panel_path(study))
        if panel.digest.hex() != digest:
            raise LostFile("the agreed list of variants is damaged")
        _remember(panel)
    return panel


def keep_bytes(path: Path, data: bytes) -> None:
    keep_blocks(path, [data])


def keep_blocks(path: Path, blocks: Iterable[bytes | memoryview]) -> None:
    with whole_file(path) as out:
        out.writelines(blocks)


def blocks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, block by block."""
    with kept().open(path) as file:
        while block := file.read(BLOCK):
            yield block


def keep_panel(path: Path, parts: Sequence[Panel]) -> None:
    """Keep a panel that is given in parts, each of which goes on where the one before it ends."""
    keep_blocks(path, list_file.pieces(parts))


# Results


def results_path(study: str, results_folder: str) -> Path:
    return study_folder(study) / f"results-{results_folder}"


class _Measured:
    """A binary file to write to that counts and digests what passes."""

    def __init__(self, out: BinaryIO) -> None:
        self.out, self.size, self.sha256 = out, 0, hashlib.sha256()

    def write(self, data: bytes | memoryview) -> int:
        self.sha256.update(data)
        self.size += memoryview(data).nbytes
        return self.out.write(data)


def write_result(path: Path, write: Callable[[BinaryIO], object]) -> tuple[int, str]:
    """Write a result file whole; its size and SHA-256 in hex."""
    with whole_file(path) as out:
        measured = _Measured(out)
        write(measured)  # type: ignore[arg-type]
    return measured.size, measured.sha256.hexdigest()


def keep_column(
    study: str, results_folder: str, name: str, rows: int, block: Callable[[slice], np.ndarray]
) -> None:
    """One file per column, so that a page of a table reads a page of each. `block` gives a slice of rows."""
    with whole_file(_columns_path(study, results_folder) / f"{name}.npy") as out:
        save_column(out, rows, block)


def kept_columns(study: str, results_folder: str, names: Sequence[str]) -> Columns:
    """The kept columns of a study, and the text of its alleles."""
    return Columns(_columns_path(study, results_folder), [*names, "alleles"], kept().here)


def picture_path(study: str, results_folder: str, name: str) -> Path:
    """Return the path of a picture of a result, reduced for people."""
    return results_path(study, results_folder) / "pictures" / name


def _columns_path(study: str, results_folder: str) -> Path:
    return results_path(study, results_folder) / "columns"


def drop_results(study: str, *, folder: str = "*", keep: str = "") -> None:
    """Delete a folder of results, or all but the one that counts: a worker that died may have left one."""
    top = study_folder(study)
    found = {path.relative_to(top).parts[0] for path, _ in kept().below(top)}
    for name in fnmatch.filter(found, f"results-{folder}"):
        if name != f"results-{keep}":
            kept().delete_folder(top / name)


def size_of(study: str) -> int:
    """Count the bytes of a study's files."""
    return sum(size for _, size in kept().below(study_folder(study)))


def drop_study(study: str) -> None:
    kept().delete_folder(study_folder(study))
