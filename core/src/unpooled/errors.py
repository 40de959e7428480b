"""What can go wrong, as a tree. The text of an error is fit for a person: what, where, expected, remedy.

UnpooledError
├── DataProblem      an input file is not as expected; has file, line, column, remedy
├── DisclosureError  what was asked would reveal so few people that it must not be
├── ColumnError      the method cannot serve a column of the pool; names it, and the remedy
├── BoundError       a number is larger than was declared; names the quantity, never the value
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


class DisclosureError(UnpooledError):
    """What was asked would tell of few people. The text says what, and the remedy, but not how many."""


class ColumnError(UnpooledError):
    """Of a column's pooled values the method has no numbers. The text names columns, and the remedy."""


class BoundError(UnpooledError):
    """A quantity exceeds the bound that its step declares, so its sum could overflow.

    The text says where and the remedy, but not the value. `quantity` is the declared name of what is beyond:
    nothing else is fit for the server.
    """

    def __init__(self, text: str, quantity: str = "") -> None:
        self.quantity = quantity
        super().__init__(text)


class ProtocolError(UnpooledError):
    """A message that may not be: wrong length, wrong content, wrong order."""


class CodecError(ProtocolError):
    """Bytes that are not the encoding of an expected value."""


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many there are beside them."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
