"""Run random federations of one kind, tell which disagree with the pool, and keep the least that does."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from unpooled.plan.plan import Plan

from .tables.compare import Outcome
from .tables.judge import Disagreement
from .tables.shrink import Shrinkable, minimal


class Drawn(Shrinkable, Protocol):
    """Federation drawn from a seed."""

    @property
    def seed(self) -> int: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def cohorts(self) -> Sequence[Sized]: ...
    @property
    def kinds(self) -> Sequence[str]: ...


F = TypeVar("F", bound=Drawn)


@dataclass
class Fuzz(Generic[F]):
    """A kind of federations."""

    name: str
    draw: Callable[[int], F]
    compare: Callable[[F, Path], Outcome]
    title: Callable[[F], str]
    """Description of a study in one line."""
    keep: Callable[[F, Path], dict[str, Any]]
    """Writes a federation's files; gives what else is to be known of it."""
    shrinking: float = 30.0
    """Seconds for one case."""

    def main(self, count: int, seconds: float, seed: int, out: Path) -> int:
        """Run those of `count` seeds from `seed` on; the number that disagree, whose cases lie in `out`."""
        started, wrong, notes = time.monotonic(), 0, Counter[str]()
        for at in range(seed, seed + count):
            if time.monotonic() - started > seconds:
                count = at - seed
                break
            outcome = self.judged(federation := self.draw(at))
            notes.update(f"{federation.plan.test}: {note}" for note in outcome.notes)
            if outcome.disagreements:
                wrong += 1
                self._tell(federation, outcome)
                self._keep(federation, outcome.disagreements[0], out / f"{self.name}-{at}")
        print(f"{count} federations in {time.monotonic() - started:.0f} s, {wrong} disagree", file=sys.stderr)
        for note, times in notes.most_common():
            print(f"{times:6}  {note}", file=sys.stderr)
        return wrong

    def judged(self, federation: F) -> Outcome:
        """Compare a federation with the truth. Any failure is a disagreement, too."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                return self.compare(federation, Path(folder))
            except Exception:
                said = traceback.format_exc(limit=-3)
                return Outcome((Disagreement(-1, "failure", said),))

    def _disagrees(self, federation: F, what: str) -> bool:
        """Tell whether a federation disagrees in this respect."""
        return any(found.what == what for found in self.judged(federation).disagreements)

    def _tell(self, federation: F, outcome: Outcome) -> None:
        rows = "+".join(str(len(cohort)) for cohort in federation.cohorts)
        print(f"seed {federation.seed}: {self.title(federation)}, rows {rows}", flush=True)
        for found in outcome.disagreements:
            of = "" if found.column < 0 else f"column {found.column} ({federation.kinds[found.column]}), "
            print(f"    {of}{found.what}: {found.said}", flush=True)

    def _keep(self, federation: F, found: Disagreement, folder: Path) -> None:
        """Write the least that still disagrees: its tables, and how to run it."""
        least = minimal(federation, lambda fewer: self._disagrees(fewer, found.what), self.shrinking)
        folder.mkdir(parents=True, exist_ok=True)
        said = {"seed": least.seed, "what": found.what, "said": found.said, "kinds": least.kinds}
        case = json.dumps(said | self.keep(least, folder), indent=1)
        (folder / "case.json").write_text(case, encoding="utf-8")
        rows = sum(map(len, least.cohorts))
        print(f"    {rows} rows, {least.columns} columns of it lie in {folder}", flush=True)
