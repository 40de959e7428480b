"""Random federations of tables of words, each from one integer, beside what the pooled table gives.

words       odd words, how often each is there, and how people write it
federation  what a seed makes of them: encodings, options, cohorts, what is missing
files       CSV and Parquet, through the client's readers and writers
truth       plain counting, and rational numbers
learned     scikit-learn
judge       whether dictionaries and numbers are right
compare     all of it: refusals, what is read, dictionaries, and encoded cells
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from ..tables.compare import Outcome
from ..tables.judge import Disagreement
from ..tables.shrink import minimal
from . import files
from .compare import compare
from .federation import Federation, draw

SHRINKING = 30.0
"""Seconds for one case."""


def main(count: int, seconds: float, seed: int, out: Path) -> int:
    """Run federations of `count` seeds from `seed` on; the number that disagree, whose cases lie in `out`."""
    started, wrong, notes = time.monotonic(), 0, Counter[str]()
    for at in range(seed, seed + count):
        if time.monotonic() - started > seconds:
            count = at - seed
            break
        federation, outcome = one(at)
        notes.update(outcome.notes)
        if outcome.disagreements:
            wrong += 1
            _tell(federation, outcome)
            _keep(federation, outcome.disagreements[0], out / f"encodings-{at}")
    print(f"{count} federations in {time.monotonic() - started:.0f} s, {wrong} disagree", file=sys.stderr)
    for note, times in notes.most_common():
        print(f"{times:6}  {note}", file=sys.stderr)
    return wrong


def one(seed: int) -> tuple[Federation, Outcome]:
    """The federation of a seed, and what came of it."""
    return (federation := draw(seed)), judged(federation)


def judged(federation: Federation) -> Outcome:
    """What came of a federation. Whatever fails is a disagreement, too."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return compare(federation, Path(folder))
        except Exception:
            said = traceback.format_exc(limit=-3)
            return Outcome((Disagreement(-1, "failure", said),))


def disagrees(federation: Federation, what: str) -> bool:
    """Whether a federation does, in this respect."""
    return any(found.what == what for found in judged(federation).disagreements)


def _tell(federation: Federation, outcome: Outcome) -> None:
    rows = "+".join(str(len(cohort)) for cohort in federation.cohorts)
    print(f"seed {federation.seed}: {_options(federation)}, rows {rows}", flush=True)
    for found in outcome.disagreements:
        column = None if found.column < 0 else federation.plan.categories[found.column]
        of = f"{column.title} ({column.encoding}, {federation.kinds[found.column]}), " if column else ""
        print(f"    {of}{found.what}: {found.said}", flush=True)


def _options(federation: Federation) -> str:
    """As `unpooled rehearse` takes them."""
    plan = federation.plan
    said = f"--people {plan.people} --holders {plan.holders} --missing-words {plan.missing_words}"
    said += f" --smooth {plan.smooth} --folds {plan.folds} --spelled {plan.spelled}"
    return said + (" --ignore-case" if plan.ignore_case else "")


def _keep(federation: Federation, found: Disagreement, folder: Path) -> None:
    """Write the least that still disagrees: tables, schema, and how to run it."""
    least = minimal(federation, lambda fewer: disagrees(fewer, found.what), SHRINKING)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [files.write(least, k, folder) for k in range(len(least.cohorts))]
    files.write_schema(least.plan, folder)
    tables = " ".join(f"--table '{path.name}'" for path in paths)
    said = {
        "seed": least.seed,
        "what": found.what,
        "said": found.said,
        "kinds": least.kinds,
        "run": f"unpooled rehearse --encode {_options(least)} --schema schema.csv {tables}",
        "words": [
            {column.title: cohort.cells[column.title] for column in least.plan.categories}
            for cohort in least.cohorts
        ],
    }
    (folder / "case.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    rows = sum(map(len, least.cohorts))
    print(f"    {rows} rows, {least.columns} columns of words of it lie in {folder}", flush=True)
