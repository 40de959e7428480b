"""Times what a round of a network costs each party, all as processes that talk over HTTP on this machine.

    python bench/rounds.py [--rounds 200] [--rows 1000] [--columns 40] [--hidden 160,20] [--runs 3]

A study of ten rounds is subtracted from one of many, so that nothing of start and end is left. Clients also
train a network on their own table alone, in as many rounds, to set it beside the pool's: that is in theirs.
"""

from __future__ import annotations

import csv
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import rehearsal
from processor import Watch

FEW = 10
COHORTS = 3


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1000, help="of each cohort")
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--hidden", default="160,20", help="units of each hidden layer")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        words = [*study(Path(name), given.rows, given.columns), "--hidden", given.hidden]
        for _ in range(given.runs):
            few, many = (spent(Path(name) / "out", count, words) for count in (FEW, given.rounds))
            each = {party: (many[party] - few[party]) / (given.rounds - FEW) for party in many}
            print(", ".join(f"{party} {1000 * seconds:.1f} ms" for party, seconds in each.items()))


def study(folder: Path, rows: int, columns: int) -> list[str]:
    """Write a schema and a table for each cohort; the words of a rehearsal that name them."""
    names = [f"x{k}" for k in range(columns)]
    lines = [["name", "type", "role", "values"], *([name, "number", "", ""] for name in names)]
    write(folder / "columns.csv", [*lines, ["y", "category", "outcome", "no|yes"]])
    words, random = ["--schema", str(folder / "columns.csv")], np.random.default_rng(1)
    for cohort in range(COHORTS):
        x = random.normal(size=(rows, columns))
        y = np.where(x[:, :5].sum(axis=1) + random.normal(size=rows) > 0, "yes", "no")
        rows_of = ([*map(str, row), word] for row, word in zip(x, y, strict=True))
        write(path := folder / f"{cohort}.csv", [[*names, "y"], *rows_of])
        words += ["--table", str(path)]
    return words


def write(path: Path, lines: Iterable[Iterable[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def spent(out: Path, rounds: int, words: Iterable[str]) -> dict[str, float]:
    """Rehearse a study of so many rounds: seconds of processor of each party, and those of the rounds."""
    watch, began = Watch(os.getpid()), time.time()
    options = ["--fit", "network", "--training-rounds", rounds, "--patience", 0]
    found = rehearsal.rehearsed(out, *options, *words)
    watch.stop()
    took = watch.spent(began, time.time())
    parties = {party: seconds for party, seconds in sorted(took.items()) if party != "others"}
    return {**parties, "in all": sum(parties.values()), "wall": found["seconds"]["phases"]["rounds"]}


if __name__ == "__main__":
    main()
