"""Tree of the errors that can occur. An error's text is fit for a person: what, where, expected, remedy.

UnpooledError
├── DataProblem      an input file is not as expected; has file, line, column, remedy
├── Refuse           the study cannot be computed as planned; has the plan's field and the remedy
│   └── BoundError   a number is larger than was declared; names the quantity, never the value
└── ProtocolError    a message, or an order of messages, that may not be
    └── CodecError   bytes that are no encoding of an expected value
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class UnpooledError(Exception):
    """Base of all errors that this project raises on purpose."""


class DataProblem(UnpooledError):
    """An input file that cannot be used as it is.

    `line` and `column` count from 1; `remedy` says what the person can do about it.
    """

    def __init__(
        self,
        what: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        column: int | None = None,
        remedy: str = "",
    ) -> None:
        self.what, self.file, self.line, self.column, self.remedy = what, file, line, column, remedy
        where = ":".join(str(part) for part in (file, line, column) if part is not None)
        sentence = f"{what.rstrip('.')}."
        super().__init__(" ".join(part for part in (f"{where}:" if where else "", sentence, remedy) if part))


class Refuse(UnpooledError):
    """The study cannot be computed as it is planned.

    `field` is the plan's field or option that must change, by its declared name. The text does not have it: a
    page leads there. `reason` says what is wrong, though not of how many people, and `remedy` what to change.
    """

    def __init__(self, field: str, reason: str, remedy: str) -> None:
        self.field, self.reason, self.remedy = field, reason, remedy
        super().__init__(f"{reason}. {remedy}")


class BoundError(Refuse):
    """A quantity exceeds the bound that its step declares, so its sum could overflow.

    The text says where and the remedy, but not the value. `quantity` is the declared name of what is beyond:
    nothing else is fit for the server. If it is a cohort's own number, no field of the plan is named.
    """

    def __init__(self, reason: str, remedy: str, *, quantity: str, field: str = "") -> None:
        self.quantity = quantity
        super().__init__(field, reason, remedy)


class ProtocolError(UnpooledError):
    """A message that may not be: wrong length, wrong content, wrong order."""


class CodecError(ProtocolError):
    """Bytes that are not the encoding of an expected value."""


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many there are beside them."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
