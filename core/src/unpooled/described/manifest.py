"""A round in the manifest of a study's results: by these lines a cohort finds its own run of the study in it.

    "rounds": ["17 0.3.2 5f…9c 81…e0", …]     round, place in the study, and two SHA-256 in hex

The first is of what was asked, as masks have it (`masking.question`); the second of the record
`unpooled/told`, in which cohorts are told the sum. A hyphen stands where there is none: a list is agreed on
before the study has places, and a sum that only makes rows is told to nobody. By its digest a cohort could
try out what the others have sent. What is told has a salt in it that only server and cohorts know, so to
all others its digest says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.errors import ProtocolError

_NONE = "-"


@dataclass(frozen=True, order=True)
class ListedRound:
    """A round as the manifest lists it."""

    round: int
    place: str
    asked: str
    told: str

    @property
    def line(self) -> str:
        """The same as it stands in the manifest."""
        return " ".join((str(self.round), self.place or _NONE, self.asked, self.told or _NONE))

    @classmethod
    def of(cls, line: str) -> ListedRound:
        """Read a line; ProtocolError for any other text."""
        try:
            number, place, asked, told = line.split(" ")
            found = cls(int(number), place.removeprefix(_NONE), asked, told.removeprefix(_NONE))
        except (ValueError, AttributeError) as error:
            raise ProtocolError(f"not a round of a manifest: {line!r:.80}") from error
        if found.line != line:
            raise ProtocolError(f"not a round of a manifest: {line!r:.80}")
        return found
