"""Shares without a nonce: of a round there is one, which is kept until the server has it.

Under masks of pairs (`unpooled.protocol.pairs`) the server could subtract two shares of one round, and would
read the difference of their numbers. So a share lies in a file, and its digest in the book, before its first
byte leaves; after a crash the same bytes are sent. Once the server has them they are erased. Should it ask
again, the share is made again, and leaves only if it is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from unpooled.protocol.problems import Problem
from unpooled_client.state.files import write_atomically
from unpooled_client.study.book import Book, Helped, Sent
from unpooled_client.study.trust import TELL_BOTH, Distrust


class Unsent:
    """The files of one study's shares. Different rounds may be of different threads."""

    def __init__(self, folder: Path, book: Book) -> None:
        self.folder, self.book = folder, book

    def kept(self, round_: int, title: str) -> bytes | None:
        """The share that was about to be sent; None if there is none. Distrust if it is not the book's."""
        try:
            data = self._file(round_).read_bytes()
        except FileNotFoundError:
            return None
        if round_ not in self.book.sent:
            return None  # killed between the file and the book: nothing of it has left
        self._require_only(round_, title, data)
        return data

    def keep(self, round_: int, title: str, data: bytes) -> None:
        """Keep a share that is about to be sent; Distrust if another one may have left before."""
        if round_ in self.book.sent:  # first: another share must not replace the one that is kept
            self._require_only(round_, title, data)
        # Then the file: with a line in the book and no file, a share that differs could never be sent.
        write_atomically(self._file(round_), data, private=True)
        self._require_only(round_, title, data)

    def help(self, round_: int, shares: bytes, made: Callable[[], bytes]) -> bytes:
        """This cohort's help in a round, by all cohorts' `shares`: kept from before, or made now, and kept.

        Distrust if it has helped by other shares, or if what it sent is lost: made anew it would have other
        noise, and two of these say more than one.
        """
        file, digest = self.folder / f"{round_}.help", hashlib.sha256(shares).digest()
        if (before := self.book.helped.get(round_)) is None:
            write_atomically(file, data := made(), private=True)
            self.book.help(Helped(round_, digest, hashlib.sha256(data).digest()))
            return data
        data = file.read_bytes() if file.exists() else b""
        if before != Helped(round_, digest, hashlib.sha256(data).digest()):
            raise Distrust(
                Problem.QUESTION,
                f"in round {round_} the server asks again for help in reading a sum, by other shares than "
                "before, or after it had it.",
                TELL_BOTH,
            )
        return data

    def erase(self, round_: int) -> None:
        """Erase a share that the server has, and the help with it."""
        self._file(round_).unlink(missing_ok=True)
        (self.folder / f"{round_}.help").unlink(missing_ok=True)

    def erase_all(self) -> None:
        """Erase what no round of a study that is over will ask for any more."""
        for path in self.folder.glob("*"):
            path.unlink(missing_ok=True)

    def _require_only(self, round_: int, title: str, data: bytes) -> None:
        if not self.book.send(Sent(round_, hashlib.sha256(data).digest())):
            raise Distrust(
                Problem.DATA_CHANGED,
                f"the answer to round {round_} ({title}) would be another one than before: data files, this "
                "program, or its state have changed since.",
                "Nothing was sent for it, as the server would read the difference. Restore what was changed, "
                "and start again. Where that is impossible, ask the coordinator to repeat the study.",
            )

    def _file(self, round_: int) -> Path:
        return self.folder / str(round_)
