"""Results: delivered by themselves into a folder, each file whole and as the server announced it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path

from unpooled_client.api import ResultFile, ServerError
from unpooled_client.events import Event, Results
from unpooled_client.session import Session
from unpooled_client.state import replace, sync_folder

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
# Names that Windows keeps for itself.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


class DeliveryError(ServerError):
    """A result file that cannot be stored, or is not what was announced."""


def deliver(session: Session, files: Sequence[ResultFile], folder: Path) -> Generator[Event, None, None]:
    """Fetch the result files that are not there already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeliveryError(
            f"the folder {folder} cannot be made: {error.strerror}.",
            "Choose another with --out and start again.",
        ) from error
    for file in files:
        yield from session.wait_for(fetch, session, file, folder)
    yield Results(tuple(str(folder / file.name) for file in files), str(folder))


def fetch(session: Session, file: ResultFile, folder: Path) -> None:
    """Put one result file in place, unless it is there; DeliveryError if it is not what was announced."""
    if not _NAME.fullmatch(file.name) or _RESERVED.fullmatch(file.name):
        raise DeliveryError(f"the server names a result file {file.name!r}.", "Tell the server's operator.")
    target = folder / file.name
    if _has(target, file):
        return
    part = folder / f".{file.name}.{os.getpid()}.part"
    try:
        session.api.result(file, part)
        if not _has(part, file):
            raise DeliveryError(
                f"the result file {file.name} was damaged on its way.",
                "Start again: it is then fetched anew.",
            )
        replace(part, target)
        sync_folder(folder)
    except OSError as error:
        raise DeliveryError(
            f"the result file {target} cannot be written: {error.strerror}.",
            "Make room or choose another folder with --out, and start again: the results stay available.",
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _has(path: Path, file: ResultFile) -> bool:
    if not path.is_file() or path.stat().st_size != file.bytes:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
