"""Times federated lasso, ridge and logistic regression beside scikit-learn's on the pooled table, in turn.

    .venv/bin/python bench/models.py [--rows 1000000 --columns 100 --cohorts 5 --runs 3]

Federated: from the tables in memory to the model, with the real encodings and masks, all parties in one
process. scikit-learn: StandardScaler, then LassoCV with five folds, RidgeCV as it is fastest, by leaving out
one row at a time, or LogisticRegressionCV with five folds and as many penalties. Of the rows a logistic model
has a tenth. Seconds are of the processor, so that a busy machine matters less.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rehearsal
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.preprocessing import StandardScaler

from unpooled.asking.cohort import ArrayTable
from unpooled.asking.question import words
from unpooled.methods import check, questions_of, usual
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.logistic_questions import Differentiate
from unpooled.methods.learning.models import OF_CLASSES
from unpooled.methods.learning.options import LOGISTIC_PENALTIES
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import run

FOLDS, PENALTIES = 5, 50
GOAL = 2.0
"""Times scikit-learn's seconds"""


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all cohorts together")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--cohorts", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    table = generated(arguments.rows, arguments.columns)
    few = table[: arguments.rows // 10].copy(order="F")
    few[:, -1] = few[:, -1] > 0
    for method, pooled in (
        ("lasso", pooled_lasso),
        ("ridge", pooled_ridge),
        ("logistic-model", pooled_logistic),
    ):
        plan = plan_of(method, arguments.columns, arguments.cohorts)
        show_bytes(method, plan)
        table = few if method in OF_CLASSES else table
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
    classes: dict[str, Any] = {"type": "category", "levels": ("0", "1")} if method in OF_CLASSES else {}
    schema = (*(Column(f"x{k}") for k in range(columns)), Column("y", role="outcome", **classes))
    said: dict[str, Any] = {**usual(method), "test": method, "cohorts": cohorts, "schema": schema}
    return Plan(compensator_key=NO_KEY, **said)


def show_bytes(method: str, plan: Plan) -> None:
    for kind in questions_of(plan):
        if kind in (SumProducts, Differentiate):
            (question,) = kind.foreseen(plan, None).questions
            sent = words(question, plan.scheme(kind.ring_bits)) * plan.scheme(kind.ring_bits).word_bytes
            print(f"{method}: a cohort's largest answer to “{kind.title}” has {sent:,} bytes", flush=True)


def study(plan: Plan, table: np.ndarray) -> None:
    run(plan, Panel.of([]), [cohort(plan, part) for part in np.array_split(table, plan.cohorts)])


def cohort(plan: Plan, part: np.ndarray) -> ArrayTable:
    prepared = check(plan).prepared
    if plan.test not in OF_CLASSES:
        return prepared(ArrayTable(part), plan)
    classes = Words(part[:, -1].astype(np.int32), ("0", "1"))
    return prepared(ArrayTable(part[:, :-1], {"y": classes}), plan)


def pooled_lasso(table: np.ndarray) -> None:
    z = StandardScaler().fit_transform(table[:, :-1])
    LassoCV(alphas=PENALTIES, cv=FOLDS, tol=1e-12, max_iter=100_000).fit(z, table[:, -1])


def pooled_ridge(table: np.ndarray) -> None:
    z = StandardScaler().fit_transform(table[:, :-1])
    RidgeCV(alphas=np.geomspace(1e2, 1e-5, PENALTIES) * len(z)).fit(z, table[:, -1])


def pooled_logistic(table: np.ndarray) -> None:
    z = StandardScaler().fit_transform(table[:, :-1])
    C = 1 / (np.geomspace(1, 1e-5, LOGISTIC_PENALTIES) * len(z))
    fit = LogisticRegressionCV(
        Cs=C,
        cv=FOLDS,
        tol=1e-10,
        solver="newton-cholesky",
        scoring="neg_log_loss",
        max_iter=1000,
        l1_ratios=(0,),
        use_legacy_attributes=False,
    )
    fit.fit(z, table[:, -1])


def seconds(do: Callable[..., None], *arguments: Any) -> float:
    started = time.process_time()
    do(*arguments)
    return time.process_time() - started


if __name__ == "__main__":
    main()
