"""Random federations of tables that models are fitted to, beside scikit-learn's and statsmodels' of the pool.

federation  what a seed makes of them: method, columns, outcome, cohorts, what is missing
files       CSV and Parquet, through the client's readers
truth       plain counting: which floor is not held, which levels are kept, the columns of the design
fits        scikit-learn, statsmodels, and a closed form
judge       all of it: refusals, coefficients, standard errors, errors, and performance
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
from .federation import Federation, draw
from .judge import compare

SHRINKING = 30.0
"""Seconds for one case."""


def main(count: int, seconds: float, seed: int, out: Path) -> int:
    """Run federations of `count` seeds from `seed` on; the number that disagree, whose cases lie in `out`."""
    started, wrong, notes = time.monotonic(), 0, Counter[str]()
    for at in range(seed, seed + count):
        if time.monotonic() - started > seconds:
            count = at - seed
            break
        federation = draw(at)
        outcome = judged(federation)
        notes.update(outcome.notes)
        if outcome.disagreements:
            wrong += 1
            _tell(federation, outcome)
            _keep(federation, outcome.disagreements[0], out / f"models-{at}")
    print(f"{count} federations in {time.monotonic() - started:.0f} s, {wrong} disagree", file=sys.stderr)
    for note, times in notes.most_common():
        print(f"{times:6}  {note}", file=sys.stderr)
    return wrong


def judged(federation: Federation) -> Outcome:
    """What came of a federation. Whatever fails is a disagreement, too."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return compare(federation, Path(folder))
        except Exception:
            return Outcome((Disagreement(-1, "failure", traceback.format_exc(limit=-3)),))


def disagrees(federation: Federation, what: str) -> bool:
    """Whether a federation does, in this respect."""
    return any(found.what == what for found in judged(federation).disagreements)


def _tell(federation: Federation, outcome: Outcome) -> None:
    plan, rows = federation.plan, "+".join(str(len(cohort)) for cohort in federation.cohorts)
    print(f"seed {federation.seed}: {plan.test}, {', '.join(federation.kinds)}, rows {rows}", flush=True)
    for found in outcome.disagreements:
        print(f"    {found.what}: {found.said}", flush=True)


def _keep(federation: Federation, found: Disagreement, folder: Path) -> None:
    """Write the least that still disagrees."""
    least = minimal(federation, lambda fewer: disagrees(fewer, found.what), SHRINKING)
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "seed": least.seed,
        "what": found.what,
        "said": found.said,
        "kinds": least.kinds,
        "plan": least.plan.to_json(),
        "cells": [{title: column.tolist() for title, column in part.cells.items()} for part in least.cohorts],
    }
    (folder / "case.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    rows = sum(map(len, least.cohorts))
    print(f"    {rows} rows, {least.columns} features of it lie in {folder}", flush=True)
