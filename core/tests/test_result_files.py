"""Names and sizes of result files: they follow from the plan, and are names on every system."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from unpooled.algorithms import ALGORITHMS, usual
from unpooled.algorithms.result_files import MANIFEST, PREFIX, most_bytes, result_files
from unpooled.plan import Plan
from unpooled.schema import Column

HOSTILE = ["../../x", "a\\b", "CON", "nul.txt", ".", "a:b", "größe", "身長" * 100, "a" * 200, "x ", "a*?<>|"]


def plan_of(test: str, phenotype: str) -> Plan:
    found = ALGORITHMS[test]
    of_tables = {"schema": (Column("weight"),)} if usual(test).get("phenotype") == "" else {}
    values = usual(test) | {"files": tuple(found.files)} | of_tables
    return Plan(**{"test": test, "phenotype": phenotype, "cohorts": 3, "compensator_key": bytes(32)} | values)


@pytest.mark.parametrize("phenotype", HOSTILE)
@pytest.mark.parametrize("test", ALGORITHMS)
def test_every_name_is_plain_on_every_system(test: str, phenotype: str) -> None:
    names = result_files(plan_of(test, phenotype))
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert name == MANIFEST or name.startswith(f"{PREFIX}.")
        assert not re.search(r'[\\/:*?"<>|\x00-\x1f\x7f\s]', name) and not name.endswith(".")
        assert len(name.encode()) < 220


def test_the_bound_grows_with_the_data_and_without_them_is_the_largest() -> None:
    plan = plan_of("logistic", "asthma")
    small, large = {"variants": 10, "list_bytes": 200}, {"variants": 10**6, "list_bytes": 10**7}
    bounds = [most_bytes("study.frq", plan, sizes) for sizes in (small, large, {})]
    assert bounds == sorted(bounds) and bounds[0] < bounds[1] < bounds[2]
    assert most_bytes(MANIFEST, plan, small) == most_bytes(MANIFEST, plan, large)
    longer = replace(plan, files=("assoc",))
    assert most_bytes("study.frq", longer, large | {"longest_id": 16_000}) > bounds[1]
