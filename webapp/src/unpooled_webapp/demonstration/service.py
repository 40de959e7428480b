"""Starting a demo, and cleaning up after it.

HOME/demo/lock        held by the process that looks after the clients, as long as it lives
         /<study>/    its clients' invitations, data, states; gone when it has ended
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.models import QuerySet

from unpooled_server.errors import Conflict, Refused
from unpooled_server.models import Study
from unpooled_server.names import OVER
from unpooled_server.services import invitations, studies
from unpooled_server.services.transitions import PLATFORM
from unpooled_webapp.demonstration import example, folder_in
from unpooled_webapp.processes import Child
from unpooled_webapp.rehearsal.clients import hand_over

log = logging.getLogger(__name__)

ENDED = "The demo's cohorts have ended before the study had. The platform's log says why."
DESCRIPTION = (
    "The people are invented. Three clients take part on the server's own machine, as three sites would from "
    "theirs. Three variants were planted, and stand out in the results."
)
PATIENCE = 3.0  # seconds in which processes that were killed are gone
# All that the demo's processes get of this one's environment: no secret is among it.
_KEPT = (
    *("PATH", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "LANG", "LC_ALL"),
    *("TMPDIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"),
)
# The platform and three clients share this machine.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def is_permitted() -> bool:
    """Tell whether the platform's operator lets coordinators run demos."""
    return bool(settings.UNPOOLED_DEMO_ADDRESS)


def lacking() -> str:
    """Say what has to be set up before a demo can run; empty if nothing."""
    if not settings.UNPOOLED_COMPENSATOR_URL:
        return "No compensator is set up. Start the platform by `unpooled up --with-compensator`."
    if importlib.util.find_spec("unpooled_client") is None:
        return "The client is not installed beside the platform: `pip install ./client`."
    return ""


def is_running() -> bool:
    """Tell whether a demo has not ended yet. Its clients outlive its study a little."""
    with _lock() as lock:
        return lock is None or _unfinished().exists()


def begin(user: User) -> Study:
    """Create a study, and start three clients that take part in it. Refused where one may not, or runs."""
    if not is_permitted():
        raise Refused(
            "no-demo",
            "Demos are not permitted on this platform.",
            "Its operator can permit them.",
            status=403,
        )
    if missing := lacking():
        raise Conflict("demo-lacks", "A demo cannot run here.", missing)
    with _lock() as lock:
        if lock is None:
            raise Conflict("demo-runs", "A demo is running already.", "Wait until it has ended.")
        _clean_up()
        study = studies.create(
            user,
            example.NAME,
            DESCRIPTION,
            example.PLAN,
            auto_start=True,
            one_operator=settings.UNPOOLED_ONE_OPERATOR,
            is_demo=True,
        )
        try:
            cohorts = _start(study, user, lock)
        except BaseException:
            _clean_up()
            raise
    threading.Thread(target=_see_to_the_end, args=(cohorts, study), name="demo", daemon=True).start()
    return study


def clean_up() -> None:
    """End what is left of a demo whose processes have ended. Does nothing while they run."""
    end = time.monotonic() + PATIENCE
    while _folder().exists() and time.monotonic() < end:
        with _lock() as got:
            if got is not None:
                _clean_up_or_say_so()
                return
        time.sleep(0.1)


def _clean_up_or_say_so() -> None:
    """The platform starts, and ends, without its database too. What is left, the next start finds."""
    try:
        _clean_up()
    except DatabaseError:
        log.exception("the study of a demo could not be ended")


def _start(study: Study, user: User, lock: int) -> Child:
    folder = _folder() / study.pk
    for place in example.PLACES:
        letter = invitations.invite(study, place.name, settings.UNPOOLED_DEMO_ADDRESS, user.get_username())
        hand_over(folder / place.prefix, letter)
    command = ["unpooled_webapp.demonstration.cohorts", str(settings.UNPOOLED_HOME), str(folder)]
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # The lock is held by whoever has this file open: from now on by that process too.
    child = Child("demo", command, kept | _ONE_THREAD, (lock,))
    child.start()
    return child


def _see_to_the_end(cohorts: Child, study: Study) -> None:
    """Wait for the demo's processes, and clean up after them."""
    assert cohorts.process is not None  # noqa: S101  # it was started
    status = cohorts.process.wait()
    cohorts.stop()  # what it has left behind
    log.info("the demo's cohorts have ended with status %s", status)
    try:
        clean_up()
    finally:
        connection.close()


def _clean_up() -> None:
    """End unfinished demos and delete their files; the caller holds the lock."""
    for study in _unfinished():
        with contextlib.suppress(Conflict):  # it ended just now
            studies.abort(study, PLATFORM, ENDED)
    for folder in _folder().iterdir():
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)


def _unfinished() -> QuerySet[Study]:
    return Study.objects.filter(is_demo=True).exclude(state__in=OVER)


@contextlib.contextmanager
def _lock() -> Iterator[int | None]:
    """The lock's file descriptor; None if a demo runs."""
    _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(_folder() / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        yield None
        return
    try:
        yield lock
    finally:
        os.close(lock)


def _folder() -> Path:
    return folder_in(Path(settings.UNPOOLED_HOME))
