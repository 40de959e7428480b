"""A cohort learns how its own rows are predicted by a network whose study did not measure that."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.contract.runs import run, small
from unpooled.described.file_list import report_name
from unpooled.fitted.model import Model
from unpooled.plan.result_files import MODEL_FILE
from unpooled_client.compare.tables import compare_tables


@pytest.mark.parametrize("name", ["private-network", "private-network, of a number"])
def test_a_cohort_is_told_how_its_own_rows_are_predicted(name: str, tmp_path: Path) -> None:
    plan, table = small(name).plan, small(name).cohorts[0]
    content = run(name).files[file := report_name(MODEL_FILE, plan)]
    (tmp_path / file).write_bytes(content)
    levels = table.categories.levels[:, 0]
    x = np.column_stack([table.values[:, :2], levels == 0, levels == 1, ~np.isin(levels, (0, 1))])
    model = Model(json.loads(content))
    predicted = model.predict(pd.DataFrame(x, columns=model.feature_names_in_))
    if plan.outcome and plan.outcome.has_classes:
        wanted = np.mean(predicted == np.array(plan.outcome.levels, object)[table.classes])
    else:
        wanted = np.mean((predicted - table.values[:, 2]) ** 2)
    (found,) = compare_tables([tmp_path / file], table, plan)
    assert found.pool == pytest.approx(wanted, rel=1e-12) and np.isnan(found.own)
