"""States that this cohort's own run of a study goes on from after a restart, where they are large.

Else a client that is started again fetches all sums anew, and runs the study from its beginning. Of networks
of millions of weights these are gigabytes: once every cohort has said that it keeps what follows from them,
the server erases sums.

    states/<place>   one line with the format, HMAC-SHA256 of the rest by the mask seed, then the state

The last two are kept, so that a file that the disk has lost costs one round. They belong to the seed, and so
to one plan and roster.
"""

from __future__ import annotations

import hmac
import mmap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from unpooled.asking.driver import Resting
from unpooled.asking.procedure import Study
from unpooled.errors import UnpooledError
from unpooled_client.state.files import replacing

LARGE = 1 << 22
"""Bytes from which a state is kept. Below, all sums of a thousand rounds are fetched in a minute."""
_FORMAT = b"unpooled state 1\n"
_DIGEST_BYTES = 32
_KEPT = 2


@dataclass
class RestingPlaces:
    """The states in a folder, under one seed."""

    folder: Path
    seed: bytes = field(repr=False)

    def __post_init__(self) -> None:
        self.kept = self._numbers()

    def _numbers(self) -> set[int]:
        found = self.folder.iterdir() if self.folder.is_dir() else ()
        return {int(path.name) for path in found if path.name.isdecimal()}

    def newest(self, study: Study) -> Resting | None:
        """The newest state that is whole; others of this folder are deleted."""
        for number in sorted(self.kept, reverse=True):
            found = self._read(number, study)
            if found is not None:
                return found
            self._drop(number)
        return None

    def keep(self, resting: Resting) -> None:
        """Keep a state if it is large, on disk before anything that follows from it leaves."""
        if resting.asked in self.kept:
            return
        pieces = resting.pieces()
        if sum(memoryview(piece).nbytes for piece in pieces) < LARGE:
            return
        with replacing(self.folder / str(resting.asked), private=True) as file:
            file.write(_FORMAT + self._digest(pieces))
            file.writelines(pieces)
        self.kept.add(resting.asked)
        for number in sorted(self.kept)[:-_KEPT]:
            self._drop(number)

    def has_both(self, number: int) -> bool:
        """Tell whether the states at the question of this number, and at the one before it, are kept."""
        return {number, number - 1} <= self.kept

    def forget(self) -> None:
        """Delete all: the study is over."""
        for number in sorted(self.kept):
            self._drop(number)

    def _read(self, number: int, study: Study) -> Resting | None:
        try:
            with (self.folder / str(number)).open("rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # ValueError of an empty file
            return None
        at = len(_FORMAT) + _DIGEST_BYTES
        if not hmac.compare_digest(bytes(data[:at]), _FORMAT + self._digest([data[at:]])):
            return None
        try:
            return Resting.of(data[at:], study)
        except UnpooledError:  # of a release whose states are others
            return None

    def _digest(self, pieces: Iterable[bytes | memoryview]) -> bytes:
        found = hmac.new(self.seed, digestmod="sha256")
        for piece in pieces:
            found.update(piece)
        return found.digest()

    def _drop(self, number: int) -> None:
        (self.folder / str(number)).unlink(missing_ok=True)
        self.kept.discard(number)
