"""An invitation: one string to paste, which admits one cohort to one study.

    unpooled1:<base64url of {"compensator": …, "server": …, "study": …, "token": …}>

It holds the cohort's token, so it is passed on as a password is.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from unpooled.errors import UnpooledError

PREFIX = "unpooled1:"
_MAX_LENGTH = 4096
_FINGERPRINT = re.compile(r"[0-9a-f]{4}( [0-9a-f]{4}){7}")
_WORD = re.compile(r"[A-Za-z0-9_.~-]{1,200}")


class InvitationError(UnpooledError):
    """A text that is no invitation."""


@dataclass(frozen=True)
class Invitation:
    """Invitation to a study: the server's address, the study, the token that admits, the compensator's
    fingerprint.
    """

    server: str
    """Address of the server, without a last slash: https://studies.example.org"""
    study: str
    token: str = field(repr=False)
    compensator: str
    """Fingerprint of the compensator's public key, as `sealing.fingerprint` writes it."""

    def __post_init__(self) -> None:
        if not is_address(self.server):
            raise InvitationError("the invitation names no server address. " + _ASK)
        if not _WORD.fullmatch(self.study) or not _WORD.fullmatch(self.token):
            raise InvitationError("the invitation names no study or holds no token. " + _ASK)
        if not _FINGERPRINT.fullmatch(self.compensator):
            raise InvitationError("the invitation carries no fingerprint of a compensator. " + _ASK)

    def to_text(self) -> str:
        """The string that a coordinator hands over."""
        values = {
            "compensator": self.compensator,
            "server": self.server,
            "study": self.study,
            "token": self.token,
        }
        data = json.dumps(values, separators=(",", ":")).encode()
        return PREFIX + base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    @classmethod
    def from_text(cls, text: str) -> Invitation:
        """The invitation in a pasted string; line breaks and blanks in it, as mail programs add, do no harm.

        Raises InvitationError with what to do about any other text.
        """
        packed = "".join(text.split())
        if not packed.startswith(PREFIX):
            raise InvitationError(f"an invitation begins with {PREFIX} " + _ASK)
        if len(packed) > _MAX_LENGTH:
            raise InvitationError("the text is too long for an invitation. " + _ASK)
        values = _values(packed.removeprefix(PREFIX))
        names = ("server", "study", "token", "compensator")
        if set(values) != set(names) or not all(isinstance(values[name], str) for name in names):
            raise InvitationError("the invitation lacks a part, or was made by another version. " + _ASK)
        return cls(**values)


_ASK = "Copy the whole string again, or ask the coordinator for a new invitation."


def is_address(server: str) -> bool:
    """Tell whether a text is a server's address, without a last slash, that network programs can take."""
    if " " in server or not server.isprintable():
        return False
    try:
        address = urlsplit(server)
        port = address.port
        (address.hostname or "").encode("idna")
    except ValueError:
        return False
    plain = not (address.query or address.fragment or address.username) and not server.endswith("/")
    return address.scheme in ("http", "https") and bool(address.hostname) and port != 0 and plain


def _values(packed: str) -> dict[str, str]:
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        values = json.loads(data)
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvitationError("the invitation was cut off or changed on its way. " + _ASK) from error
    return values if isinstance(values, dict) else {}
