"""Normalization with differential privacy beside that of the exact sums: docs/measured/private-tables.md.

    .venv/bin/python docs/measure_private_tables.py

The diabetes data of scikit-learn as they are, and once more with every person ten times, which shows what
more people would do: three cohorts normalize some of its columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import measuring
import numpy as np
from sklearn.datasets import load_diabetes

from unpooled.asking.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.methods import usual
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import run

WRITES = (measuring.Table("private-tables", free=(2, 3, 4)),)
COHORTS, EPSILONS, TIMES = 3, (1.0, 3.0, 10.0), 10
SETS = ((10, 1), (2, 1), (10, 10), (2, 10))
"""Number of columns, and copies of each person."""
LIMITS = -0.2, 0.2
"""Limits of each column, whose deviation is 0.048."""


def plan_of(epsilon: float, columns: int) -> Plan:
    schema = tuple(Column(f"x{k}", low=LIMITS[0], high=LIMITS[1]) for k in range(columns))
    named = {"test": "z-score", "cohorts": COHORTS, "compensator_key": NO_KEY, "files": ("parameters",)}
    return Plan(**{**usual("z-score"), **named, "epsilon": epsilon}, schema=schema)


def off(epsilon: float, x: np.ndarray, seed: int) -> np.ndarray:
    """Return how far mean and deviation of each column are off, in its deviations; empty if refused."""
    parts = enumerate(np.array_split(x, COHORTS))
    tables = [ArrayTable(part, secret=bytes([seed, k]) * 16) for k, part in parts]
    try:
        found = run(plan_of(epsilon, x.shape[1]), Panel.of([]), tables)["features"]
    except Refuse:
        return np.zeros((2, 0))
    exact, spread = np.clip(x, *LIMITS).mean(axis=0), np.clip(x, *LIMITS).std(axis=0)
    return np.array([found["mean"] - exact, found["deviation"] - spread]) / spread


def lines(epsilons: tuple[float, ...], sets: tuple[tuple[int, int], ...], times: int) -> Iterator[str]:
    x, _ = load_diabetes(return_X_y=True)
    for columns, copies in sets:
        people = np.repeat(x[:, :columns], copies, axis=0)
        cells = [cell([off(epsilon, people, seed) for seed in range(times)]) for epsilon in epsilons]
        yield f"| {len(people):,} | {columns} | {' | '.join(cells)} |"


def cell(found: list[np.ndarray]) -> str:
    """Write root mean squares of mean and deviation; or `refused`, if any study was."""
    if not all(each.size for each in found):
        return "refused"
    return ", ".join(f"{rms:.3f}" for rms in np.sqrt(np.mean(np.square(found), axis=(0, 2))))


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    epsilons, sets, times = (EPSILONS[1:2] * 3, SETS[1:2], 1) if given.small else (EPSILONS, SETS, TIMES)
    head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    rows = [f"| People | Columns | {head} |", "| ---: | ---: | ---: | ---: | ---: |"]
    measuring.write(given.out, "private-tables", [*rows, *lines(epsilons, sets, times)])


if __name__ == "__main__":
    main()
