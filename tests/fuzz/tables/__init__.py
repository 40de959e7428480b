"""Random federations of odd tables, each from one integer, beside what the pooled table gives.

columns     kinds of odd columns
federation  what a seed makes of them: method, masks, cohorts, missing values
files       CSV and Parquet, through the client's readers and writers
truth       rational numbers and long double
judge       whether parameters are right
compare     all of it: what is read, parameters, cells, and what they are turned back into
shrink      the least that still disagrees
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from . import files
from .compare import Outcome, compare
from .federation import Federation, draw
from .judge import Disagreement
from .shrink import disagrees, minimal

SHRINKING = 20.0
"""Seconds for one case."""


def main(count: int, seconds: float, seed: int, out: Path) -> int:
    """Run federations of `count` seeds from `seed` on; the number that disagree, whose cases lie in `out`."""
    started, wrong, notes = time.monotonic(), 0, Counter[str]()
    for at in range(seed, seed + count):
        if time.monotonic() - started > seconds:
            count = at - seed
            break
        federation, outcome = one(at)
        notes.update(f"{federation.plan.test}: {note}" for note in outcome.notes)
        if outcome.disagreements:
            wrong += 1
            _tell(federation, outcome)
            _keep(federation, outcome.disagreements[0], out / f"tables-{at}")
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


def _tell(federation: Federation, outcome: Outcome) -> None:
    plan = federation.plan
    rows = "+".join(str(len(cohort)) for cohort in federation.cohorts)
    print(f"seed {federation.seed}: {plan.test}, {plan.masking} masks, rows {rows}", flush=True)
    for found in outcome.disagreements:
        of = "" if found.column < 0 else f"feature {found.column} ({federation.kinds[found.column]}), "
        print(f"    {of}{found.what}: {found.said}", flush=True)


def _keep(federation: Federation, found: Disagreement, folder: Path) -> None:
    """Write the least that still disagrees: tables, schema, and how to run it."""
    least = minimal(federation, lambda one: disagrees(one, found.what), SHRINKING)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [files.write(least, k, folder) for k in range(len(least.cohorts))]
    schema = "".join(f"{column.title},{column.type},{column.unit}\n" for column in least.plan.schema)
    (folder / "schema.csv").write_text("name,type,unit\n" + schema, encoding="utf-8")
    plan = least.plan
    said = {
        "seed": least.seed,
        "what": found.what,
        "said": found.said,
        "kinds": least.kinds,
        "method": plan.test,
        "masking": plan.masking,
        "variance": plan.variance,
        "run": f"unpooled rehearse --normalize {plan.test} --masking {plan.masking} --schema schema.csv "
        + " ".join(f"--table '{path.name}'" for path in paths),
        "rows": [[list(map(repr, row)) for row in cohort.tolist()] for cohort in least.cohorts],
    }
    (folder / "case.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    print(f"    {least.pool.shape[0]} rows, {least.pool.shape[1]} features of it lie in {folder}", flush=True)
