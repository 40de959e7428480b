"""Why a request can be refused. The text is fit for a person: what, where, remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from logging import Logger

from django.db import InterfaceError, OperationalError

from unpooled.errors import UnpooledError

DATABASE_AWAY = (OperationalError, InterfaceError)
"""Exceptions raised while the database does not answer."""


class StoreAway(OSError):
    """The store of files does not answer, or refuses: what failed may be tried again."""


class UnfitStore(UnpooledError):
    """The store of files cannot be used, or does not promise what the platform promises."""


def first_line(error: Exception) -> str:
    """Shorten a database driver's message, which is often a page, for a line of a log."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


def is_full(error: Exception) -> bool:
    """Tell whether a file or the database found no room on the disk; databases say so in words."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    words = str(error).lower()
    return isinstance(error, OperationalError) and ("disk is full" in words or "no space left" in words)


@contextmanager
def logged_if_away(log: Logger, what: object) -> Iterator[None]:
    """Do a worker's work; while database or store are away a line is enough: a sweep, or a look, follows."""
    try:
        yield
    except DATABASE_AWAY as error:
        log.error("%s: the database does not answer (%s)", what, first_line(error))
    except StoreAway as error:
        log.error("%s: %s", what, error.strerror)


class OtherRelease(UnpooledError):
    """A study under way was begun by another release: only that one can go on with it."""

    def __init__(self, began: str, here: str) -> None:
        super().__init__(
            f"It was begun by release {began}, and this is {here}. To finish it, go back to that "
            "release with the backup of before the upgrade. Or abort it, and duplicate the study."
        )


class Refused(UnpooledError):
    """A request that cannot be granted; becomes an HTTP answer with `status`."""

    status = 400

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str = "",
        *,
        status: int | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy, self.fields = code, message, remedy, dict(fields or {})
        self.status = status or type(self).status

    def body(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": self.message, "remedy": self.remedy}
        if self.fields:
            error["fields"] = self.fields
        return {"error": error}


class Unauthorized(Refused):
    status = 401


class Missing(Refused):
    status = 404


class Conflict(Refused):
    """The request does not fit this state of the study."""

    status = 409


class Over(Refused):
    """The study has ended."""

    status = 410


class Unavailable(Refused):
    """Another service does not answer; the same request may succeed later."""

    status = 503


def no_room() -> Refused:
    """Return the refusal of a request for which the platform's disk has no room."""
    return Refused(
        "disk-full",
        "The platform's disk is full.",
        "Send it again once the platform's operator has made room.",
        status=507,
    )
