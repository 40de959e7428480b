"""Times federated lasso and ridge regression beside scikit-learn's on the pooled table, in turn.

    .venv/bin/python bench/models.py [--rows 1000000 --columns 100 --cohorts 5 --runs 3]

Federated: from the tables in memory to the model, with the real encodings and masks, all parties in one
process. scikit-learn: StandardScaler, then LassoCV with five folds, or RidgeCV as it is fastest: by leaving
out one row at a time. Seconds are of the processor, so that a busy machine matters less.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.preprocessing import StandardScaler

from unpooled.algorithms import check, usual
from unpooled.algorithms.learning.questions import SumProducts
from unpooled.cohort import ArrayTable
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.question import words
from unpooled.run import run
from unpooled.schema import Column

FOLDS, PENALTIES = 5, 50
GOAL, MOST_BYTES = 2.0, 1_000_000
"""Times scikit-learn's seconds; and of a cohort's largest share."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all cohorts together")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--cohorts", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    table = generated(arguments.rows, arguments.columns)
    for method, pooled in (("lasso", pooled_lasso), ("ridge", pooled_ridge)):
        plan = plan_of(method, arguments.columns, arguments.cohorts)
        show_bytes(method, plan)
        study(plan, table[: 100 * arguments.columns])  # compiles kernels
        ratios = []
        for _ in range(arguments.runs):
            ours, theirs = seconds(study, plan, table), seconds(pooled, table)
            ratios.append(ours / theirs)
            print(f"{method}: {ours:.2f} s, scikit-learn {theirs:.2f} s, ratio {ratios[-1]:.2f}", flush=True)
        print(f"{method}: median ratio {statistics.median(ratios):.2f}, want at most {GOAL:g}")


def generated(rows: int, columns: int) -> np.ndarray:
    """The pooled table, outcome last: float64 (rows, columns + 1), by columns."""
    random = np.random.default_rng(0)
    table = np.empty((rows, columns + 1), order="F")
    table[:, :columns] = random.normal(size=(rows, columns))
    effects = random.normal(size=columns) * (random.random(columns) < 0.3)
    table[:, columns] = table[:, :columns] @ effects + 3 * random.normal(size=rows)
    return table


def plan_of(method: str, columns: int, cohorts: int) -> Plan:
    schema = (*(Column(f"x{k}") for k in range(columns)), Column("y", role="outcome"))
    said: dict[str, Any] = {**usual(method), "test": method, "cohorts": cohorts, "schema": schema}
    return Plan(**{**said, "compensator_key": bytes(32), "files": tuple(said["files"])})


def show_bytes(method: str, plan: Plan) -> None:
    (question,) = SumProducts.foreseen(plan, None).questions
    sent = words(question, plan.scheme(128)) * plan.scheme(128).word_bytes
    print(f"{method}: a cohort's products are {sent:,} bytes, want at most {MOST_BYTES:,}")


def study(plan: Plan, table: np.ndarray) -> None:
    prepared = check(plan).prepared
    run(
        plan,
        Panel.of([]),
        [prepared(ArrayTable(part), plan) for part in np.array_split(table, plan.cohorts)],
    )


def pooled_lasso(table: np.ndarray) -> None:
    z = StandardScaler().fit_transform(table[:, :-1])
    LassoCV(alphas=PENALTIES, cv=FOLDS, tol=1e-12, max_iter=100_000).fit(z, table[:, -1])


def pooled_ridge(table: np.ndarray) -> None:
    z = StandardScaler().fit_transform(table[:, :-1])
    RidgeCV(alphas=np.geomspace(1e2, 1e-5, PENALTIES) * len(z)).fit(z, table[:, -1])


def seconds(do: Callable[..., None], *arguments: Any) -> float:
    started = time.process_time()
    do(*arguments)
    return time.process_time() - started


if __name__ == "__main__":
    main()
