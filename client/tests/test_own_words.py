"""A cohort's own words beside those of the pool, also where nobody had listed them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.studies import plan_of
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.methods import check
from unpooled.panel.panel import Panel
from unpooled.plan.categories import MISSING, REST, Words
from unpooled.plan.result_files import ENCODING_FILE
from unpooled.plan.schema import Column
from unpooled_client.compare.tables import compare_tables

NOBODY = Panel.of([])
COHORTS = (
    ["aspirin"] * 20 + ["ibuprofen"] * 12 + ["mine"] * 8 + [""] * 5,
    ["aspirin"] * 10 + ["ibuprofen"] * 14 + ["other"] * 6 + [""] * 6,
    ["aspirin"] * 5 + ["ibuprofen"] * 30 + ["else"] * 3 + [""] * 9,
)


@pytest.mark.parametrize("missing", ["missing", "rest", "value"])
@pytest.mark.parametrize("column", [{"most": 9}, {"levels": ("aspirin", "ibuprofen")}])
def test_shares_are_of_the_words_that_the_pool_has(
    column: dict[str, Any], missing: str, tmp_path: Path
) -> None:
    plan = plan_of("encode", [Column("drug", "category", "", "one-hot", **column)], 3, missing_words=missing)
    method = check(plan)
    tables = [
        method.prepared(ArrayTable(np.zeros((len(words), 0)), {"drug": Words.of(words)}), plan)
        for words in COHORTS
    ]
    file = tmp_path / report_name(ENCODING_FILE, plan)
    file.write_bytes(run.written(ENCODING_FILE, plan, NOBODY, run.run(plan, NOBODY, tables)))
    found = {one.what: (one.pool, one.own) for one in compare_tables([file], tables[0], plan)}
    counted = {"missing": 40, "rest": 45, "value": 45}[missing]
    pooled = {"missing": 108, "rest": 128, "value": 128}[missing]
    assert found["share of aspirin"] == (35 / pooled, 20 / counted)
    assert found["share of ibuprofen"] == (56 / pooled, 12 / counted)
    others = {"missing": (17, 8), "rest": (37, 13), "value": (17, 8)}[missing]
    assert found[f"share of {REST}"] == (others[0] / pooled, others[1] / counted)
    if missing == "value":
        assert found[f"share of {MISSING}"] == (20 / pooled, 5 / counted)
