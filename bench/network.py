"""Times a network on tables: seconds a round, of cohorts, masks, sums and optimizer, in one process.

    .venv/bin/python bench/network.py --hidden 200,44 --rounds 200

Three cohorts of invented people, through the real encodings and masks; and what a client that starts again
takes to run the study once more up to its last round.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.methods import check, questions_of, usual, whole, with_chunks
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.run import _Federation

COHORTS = 3


def plan_of(columns: int, hidden: str, rounds: int, optimizer: str) -> Plan:
    schema = (
        *(Column(f"x{k}") for k in range(columns)),
        Column("y", "category", levels=("a", "b"), role="outcome"),
    )
    named = {
        **usual("network"),
        "test": "network",
        "cohorts": COHORTS,
        "compensator_key": NO_KEY,
        "schema": schema,
    }
    options = {"hidden": hidden, "training_rounds": rounds, "patience": 0, "optimizer": optimizer}
    return Plan(**{**named, "files": tuple(named["files"]), **options})  # type: ignore[arg-type]


def tables_of(plan: Plan, rows: int, columns: int) -> list[ArrayTable]:
    random, method = np.random.default_rng(1), check(plan)
    slope, found = random.normal(size=columns), []
    for _ in range(COHORTS):
        x = random.normal(size=(rows, columns))
        y = np.where(x @ slope + random.normal(size=rows) > 0, "b", "a")
        found.append(method.prepared(ArrayTable(x, {"y": Words.of(y.tolist())}), plan))  # type: ignore[attr-defined]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000, help="of each cohort")
    parser.add_argument("--hidden", default="200,28")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--optimizer", default="adam")
    given = parser.parse_args()
    plan = with_chunks(plan_of(given.columns, given.hidden, given.rounds, given.optimizer))
    study = Study(plan, lambda: Panel.of([]))
    federation = _Federation(whole(study), tables_of(plan, given.rows, given.columns), questions_of(plan))
    sums: dict[Place, Arrays] = {}

    def total(place: Place, question: Question) -> Arrays:
        sums[place] = federation.total(place, question)
        return sums[place]

    tree = Tree(whole(study), questions_of(plan), total, [])
    started = time.perf_counter()
    tree.value()
    whole_run = time.perf_counter() - started
    weights = max(len(found["gradient"]) for found in sums.values() if "gradient" in found)
    started = time.perf_counter()
    Tree(whole(study), questions_of(plan), lambda place, question: sums[place]).value()
    replayed = time.perf_counter() - started
    print(
        f"{weights:,} weights, {given.rounds:,} rounds, {COHORTS} cohorts of {given.rows:,} rows: "
        f"{whole_run:.1f} s, of which following is {replayed:.2f} s at each party"
    )


if __name__ == "__main__":
    main()
