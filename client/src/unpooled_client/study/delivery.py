"""Results: delivered by themselves into a folder, each file whole and as the server announced it.

The server is not trusted: nothing is stored before plan and roster were accepted here, under a name that
does not follow from that plan, larger than the plan allows, or over a file that this client did not write.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from unpooled.asking.sizes import Sizes
from unpooled.described.file_list import most_bytes, result_files, results_name
from unpooled.plan.common_options import FILE_STEM
from unpooled.plan.file_names import is_plain
from unpooled.plan.plan import Plan
from unpooled_client.data.options import DataOptions
from unpooled_client.network.answers import ResultFile, Study
from unpooled_client.network.connection import ServerError
from unpooled_client.state.events import Event, Results, Transformed
from unpooled_client.state.files import Remediable
from unpooled_client.state.folder import Saved
from unpooled_client.state.written import NotOurs, Written, digest_of
from unpooled_client.study.reading import guard
from unpooled_client.study.session import Session
from unpooled_client.study.trust import checked_plan

_TELL = "Nothing was stored. Tell the server's operator."


class DeliveryError(ServerError):
    """A result file that is not what was announced, or not of the study that was accepted."""


class NoPlace(Remediable):
    """A result file cannot be written where it is to be."""


def agreed_plan(study: Study, saved: Saved) -> Plan:
    """The plan that was accepted here; DeliveryError unless the study is one of that plan."""
    if saved.agreement is None or checked_plan(study).hash() != saved.agreement.plan.hash():
        raise DeliveryError(
            "the server offers results, but the plan and the roster of this study were not accepted here.",
            "Nothing was stored. If they were accepted with another state folder, give it with --state.",
        )
    return saved.agreement.plan


def check_offered(files: Sequence[ResultFile], plan: Plan, sizes: Sizes) -> None:
    """DeliveryError unless each name follows from the plan, and stands once, and no file is too large."""
    expected = set(result_files(plan))
    for file in files:
        if file.name not in expected or not is_plain(file.name):
            raise DeliveryError(
                f"the server names a result file {file.name!r}, which does not follow from the plan.", _TELL
            )
        expected.remove(file.name)  # once
        if file.bytes > (most := most_bytes(file.name, plan, sizes)):
            raise DeliveryError(
                f"the server announces {file.bytes:,} bytes of {file.name}; under the plan it has "
                f"{most:,} at most.",
                _TELL,
            )


def usual_folder(parent: Path, study: str, plan: Plan, written: Written) -> Path:
    """Return the default folder for results, named after the study's files.

    Another study of the same name may have its results there: then one with a number.
    """
    name = results_name(plan) if FILE_STEM.of(plan) else f"unpooled-{study}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    folders = (parent / each for each in names)
    return next(folder for folder in folders if not _has_others(folder, plan, written))


def _has_others(folder: Path, plan: Plan, written: Written) -> bool:
    """Tell whether files that this client did not write for this study stand where its results would."""
    if folder.exists() and not folder.is_dir():
        return True
    try:
        for name in result_files(plan):
            written.refuse_foreign(folder / name)
    except NotOurs:
        return True
    return False


def deliver(
    session: Session, files: Sequence[ResultFile], folder: Path
) -> Generator[Event, None, tuple[Path, ...]]:
    """Fetch the result files that are not there already; where they are.

    Raises NotOurs, once all others are there, if files of other origin stand in their places.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoPlace(
            f"the folder {folder} cannot be made: {error.strerror}.",
            "Choose another with --out and start again.",
        ) from error
    left_alone: list[Path] = []
    for file in files:
        try:
            yield from session.wait_for(fetch, session, file, folder)
        except NotOurs as error:
            left_alone += error.paths
    if left_alone:
        raise NotOurs(*left_alone)
    paths = tuple(folder / file.name for file in files)
    yield Results(tuple(map(str, paths)), str(folder))
    return paths


def fetch(session: Session, file: ResultFile, folder: Path) -> None:
    """Put one result file in place, unless it is there.

    Raises DeliveryError if it is not what was announced, NotOurs if it would replace another, and NoPlace.
    """
    target = folder / file.name
    try:
        if _has(target, file):
            return
        with Written(session.folder).draft(target, of_people=False) as part:
            session.api.result(file, part)
            if not _has(part, file):
                raise DeliveryError(
                    f"the result file {file.name} was damaged on the way.",
                    "Start again: it is then fetched again.",
                )
    except OSError as error:
        raise NoPlace(
            f"the result file {target} cannot be written: {error.strerror}.",
            "Make room or choose another folder with --out, and start again: the results stay available.",
        ) from error


def write_beside(
    session: Session, options: DataOptions, target: Path, what: str, write: Callable[..., None], *made: Any
) -> Generator[Event, None, None]:
    """Write a file about this cohort's own people, beside its data: `write` gets the path, and `made`.

    Raises DataChanged if the data are no longer those that were accepted, and NotOurs if a file of other
    origin stands in the place.
    """
    guard(session.saved.files, options.paths)
    with Written(session.folder, "Move it away and start again.").draft(target, of_people=True) as part:
        yield from session.wait_for(write, part, *made)
    yield Transformed(str(target), what)


def _has(path: Path, file: ResultFile) -> bool:
    return path.is_file() and path.stat().st_size == file.bytes and digest_of(path) == file.sha256
