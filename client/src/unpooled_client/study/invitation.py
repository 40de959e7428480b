"""An invitation, as people hand it over: typed, piped or in a file."""

from __future__ import annotations

import sys
from pathlib import Path

from unpooled.protocol.invitation import PREFIX, Invitation, InvitationError

LONGEST_NAME = 255
"""Characters that systems allow in the name of a file."""


def invitation_from(text: str) -> Invitation:
    """The invitation in a string as typed, in the file of this name, or with - on standard input."""
    return Invitation.from_text(_text_of(text))


def _text_of(invitation: str) -> str:
    """An invitation as typed, from standard input, or from the file that was named."""
    if invitation == "-":
        return sys.stdin.readline()
    if "".join(invitation.split()).startswith(PREFIX) or len(invitation) > LONGEST_NAME:
        return invitation
    path = Path(invitation)
    if not path.is_file():  # what was typed is not repeated: most of a token may be in it
        raise InvitationError(
            f"this is not an invitation, which begins with {PREFIX}, and there is no such file. "
            "Copy the whole string again, or look at the path."
        )
    return text_of_file(path)


def text_of_file(path: Path) -> str:
    """Return the text of a file with an invitation, whichever editor saved it."""
    data = path.read_bytes()
    is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # as editors on Windows may save it
    return data.decode("utf-16" if is_utf16 else "utf-8-sig", errors="replace")
