"""A cohort's own model of scaled columns beside the pool's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.preprocessing import PowerTransformer, RobustScaler

from tests.contract.studies import plan_of
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.methods import check
from unpooled.panel.panel import Panel
from unpooled.plan.result_files import MODEL_FILE
from unpooled.plan.schema import Column
from unpooled_client.compare.tables import compare_tables

NOBODY = Panel.of([])


def test_quartiles_and_lambdas_are_of_the_pool_and_of_this_table(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    values = [np.column_stack([random.lognormal(k, 1, (300, 2)), random.normal(size=300)]) for k in range(3)]
    schema = (
        Column("troponin", encoding="yeo-johnson"),
        Column("bmi", encoding="robust"),
        Column("y", role="outcome"),
    )
    plan = plan_of("ridge", schema, 3, files=(MODEL_FILE,))
    tables = [check(plan).prepared(ArrayTable(table), plan) for table in values]
    file = tmp_path / report_name(MODEL_FILE, plan)
    file.write_bytes(run.written(MODEL_FILE, plan, NOBODY, run.run(plan, NOBODY, tables)))
    found = {(one.feature, one.what): one for one in compare_tables([file], tables[0], plan)}
    for name, rows in (("pool", np.vstack(values)), ("own", values[0])):
        power = PowerTransformer().fit(rows[:, :1]).lambdas_[0]
        assert abs(getattr(found["troponin", "lambda"], name) - power) < 1e-5
        assert getattr(found["bmi", "median"], name) == RobustScaler().fit(rows[:, 1:2]).center_[0]
