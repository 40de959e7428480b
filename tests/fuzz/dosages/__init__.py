"""Random federations of imputed dosages, each from one integer, beside plink2 on the pooled .pgen.

federation  what a seed makes of it: people, dosages, a plan, and each cohort's files in a format of its own
judge       the report beside plink2's, line by line, and statsmodels where the two differ
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from .federation import draw
from .judge import Outcome, compare


def main(count: int, seconds: float, seed: int, out: Path) -> int:
    """Compare federations of `count` seeds from `seed` on; the number that disagree: in `out`."""
    started, wrong, total = time.monotonic(), 0, Outcome()
    for at in range(seed, seed + count):
        if time.monotonic() - started > seconds:
            count = at - seed
            break
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            found = compared(at, Path(folder))
            total += found
            if found.disagreements:
                wrong += 1
                print(f"--seed {at}: {len(found.disagreements)} disagreements", file=sys.stderr)
                print("\n".join(f"  {line}" for line in found.disagreements[:3]), file=sys.stderr, flush=True)
                shutil.copytree(folder, out / f"dosages-{at}", dirs_exist_ok=True)
    print(
        f"{count} federations in {time.monotonic() - started:.0f} s, {wrong} disagree. {total}",
        file=sys.stderr,
    )
    return wrong


def compared(seed: int, folder: Path) -> Outcome:
    """Compare the federation of a seed with plink2. Any failure is a disagreement, too."""
    try:
        return compare(draw(seed), folder)
    except Exception:
        return Outcome(notes=Counter(), disagreements=[traceback.format_exc(limit=-3)])
