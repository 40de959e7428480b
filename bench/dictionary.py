"""Times studies of encodings that look for their dictionaries, every party a process of its own.

    python bench/dictionary.py [--runs 2]

Columns of as many levels as a census has, 45,000 rows in all, dealt out to 4 and to 10 cohorts; and one
column of 10,000 different words at 10 cohorts. Seconds are from the moment all cohorts are ready to the
files.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rehearsal

CACHE = Path(".cache/bench")
LEVELS, ROWS = (9, 16, 7, 15, 6, 5, 2, 42), 45_000
"""The levels of eight columns: each is rarer than the one before."""
MOST_LEVELS, MOST_WORDS = 64, 10_000
"""Different words that a cohort may have."""
WORDS_A_COHORT = 9_000
STUDIES = (("8 columns", 4, 5.0), ("8 columns", 10, 10.0), ("10,000 words", 10, 20.0))
"""Studies: name, number of cohorts, and the goal in seconds."""


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args()
    for what, cohorts, goal in STUDIES:
        data = CACHE / f"dictionary of {what} in {cohorts}"
        if not (data / "schema.csv").exists():
            generate(data, cohorts, LEVELS if what == "8 columns" else ())
        took = [seconds(data, cohorts) for _ in range(arguments.runs + 1)][1:]  # the first warms caches
        spread = f"from {min(took):.2f} to {max(took):.2f}"
        print(f"{what:14} {cohorts:3} cohorts {statistics.median(took):8.2f} s    ({spread}; goal {goal:g})")


def generate(data: Path, cohorts: int, levels: Sequence[int]) -> None:
    """Tables and schema: a column for each number of levels, or without any one of many words."""
    data.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    if levels:
        columns = [random.choice(count, ROWS, p=falling(count)) for count in levels]
        parts = [np.column_stack(columns)[k::cohorts] for k in range(cohorts)]
    else:
        parts = [random.choice(MOST_WORDS, (WORDS_A_COHORT, 1)) for _ in range(cohorts)]
    names = [f"column {k}" for k in range(parts[0].shape[1])]
    for k, part in enumerate(parts):
        lines = (",".join(f"word {word}" for word in row) for row in part.tolist())
        (data / f"cohort{k + 1}.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    searched = f"one-hot,{MOST_LEVELS}" if levels else f"ordinal,{MOST_WORDS}"
    schema = ["name,type,encoding,values", *(f"{name},category,{searched}" for name in names)]
    (data / "schema.csv").write_text("\n".join(schema) + "\n")


def falling(count: int) -> np.ndarray:
    """Probabilities of so many levels, in proportion to 1, 1/2, 1/3 …"""
    shares = 1 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum())


def seconds(data: Path, cohorts: int) -> float:
    tables = [word for k in range(cohorts) for word in ("--table", data / f"cohort{k + 1}.csv")]
    report = rehearsal.rehearsed(data / "ours", "--encode", "--schema", data / "schema.csv", *tables)
    return float(report["seconds"]["ready_to_files"])


if __name__ == "__main__":
    main()
