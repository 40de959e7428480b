"""A method of tables with one option, whole: the power mean of each column, (sum of x^p / n)^(1/p)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unpooled.asking.cohort import ArrayTable, Table
from unpooled.asking.procedure import Asks, Rows, Study, procedure
from unpooled.asking.question import Arrays, Foreseen, Question, Real
from unpooled.asking.sizes import Sizes
from unpooled.method_modules import TABLES
from unpooled.methods.algorithm import TableMethod
from unpooled.methods.purpose import Purpose
from unpooled.methods.tables.census import CountValues, count_values
from unpooled.panel.panel import Panel
from unpooled.plan.options import Whole
from unpooled.plan.plan import NO_KEY, NONE, Plan
from unpooled.plan.schema import Column
from unpooled.run import run

POWER = Whole(
    name="power",
    label="Power",
    hint="1 is the mean, 2 the root mean square.",
    default=2,
    least=1,
    most=4,
    methods="Means were of the power {}.",
)


@procedure("power-mean")
def power_mean(study: Study) -> Asks[None]:
    """Count values, sum their powers, take the root."""
    n = yield from count_values(study)  # refuses columns that too few cohorts have
    sums = yield SumPowers(len(n), POWER.of(study.plan))
    mean = (sums["powers"] / np.maximum(n, 1)) ** (1 / POWER.of(study.plan))
    yield Rows("features", {"feature": np.arange(len(n)), "n": n, "mean": mean})


@dataclass(frozen=True)
class SumPowers(Question, name="power-mean/sums", title="Sum powers", ring_bits=128):
    """Its fields are all that a cohort receives; `sends` is all that leaves it."""

    sends: ClassVar[tuple[Real, ...]] = (
        Real(
            "powers",
            ("features",),
            2**40,
            "per feature: the sum of its values, each to the power",
            "the power mean of each feature of the pool",
        ),
    )
    each: ClassVar[dict[str, str]] = {"features": "feature"}

    features: int
    power: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        return Foreseen([cls(len(plan.features), POWER.of(plan))])

    def local(self, table: Table) -> Arrays:
        return {"powers": np.nansum(table.values**self.power, axis=0)}


def write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    names = [feature.title for feature in plan.features]
    out.write(json.dumps(dict(zip(names, columns["mean"].tolist(), strict=True))).encode() + b"\n")


POWER_MEAN = TableMethod(
    name="power-mean",
    title="Power mean of each column",
    purpose=Purpose.TABLE,
    method="Of each column the power mean of all cohorts' values was computed.",
    asks=(CountValues, SumPowers),
    procedure=power_mean,
    options=(POWER,),
    files={"means": write},
    usual_files=("means",),
    table="features",
)
TABLES[POWER_MEAN.name] = __name__  # in the program this line stands in the table of modules


def tables() -> Iterator[ArrayTable]:
    random = np.random.default_rng(1)
    for people in (40, 25, 60):
        yield ArrayTable(random.gamma(2, size=(people, 2)))


asked: dict[str, Any] = {"test": "power-mean", "trait": NONE, "phenotype": "", "panel_mode": NONE, "power": 3}
plan = Plan(
    **asked,
    cohorts=3,
    compensator_key=NO_KEY,
    files=("means",),
    schema=(Column("dose"), Column("weight")),
)
cohorts = list(tables())
found = run(plan, Panel.of([]), cohorts)["features"]["mean"]
pooled = np.concatenate([table.values for table in cohorts])
wanted = (pooled**3).mean(axis=0) ** (1 / 3)
print("federated", found)
print("pooled   ", wanted)
if not np.allclose(found, wanted, rtol=1e-12):
    raise SystemExit("they differ")
