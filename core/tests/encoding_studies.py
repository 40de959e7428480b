"""Studies of encodings in one process, and pools to hold them with."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from normalizing import NOBODY

from unpooled import run
from unpooled.algorithms import check, usual
from unpooled.algorithms.tables.encoding.reading import categories_of
from unpooled.cohort import ArrayTable
from unpooled.plan import ENCODING_FILE, Plan
from unpooled.schema import Column
from unpooled.words import Words

Cells = dict[str, list[str | None]]
"""A cohort's columns of words, by title."""


def plan_of(columns: Sequence[Column], cohorts: int, **changes: Any) -> Plan:
    named: dict[str, Any] = {
        "test": "encode",
        "cohorts": cohorts,
        "compensator_key": bytes(32),
        "schema": tuple(columns),
        **usual("encode"),
    }
    plan = Plan(**{**named, "files": tuple(named["files"]), **changes})
    check(plan)
    return plan


def table_of(words: Cells, values: np.ndarray, plan: Plan) -> ArrayTable:
    read = {title: Words.of(cells) for title, cells in words.items()}
    return ArrayTable(values, read, categories_of(read, values, plan))


def fit(plan: Plan, tables: Sequence[ArrayTable]) -> dict[str, Any]:
    """The content of the encoding file, through the real encodings and masks."""
    test, found = check(plan), run.run(plan, NOBODY, tables)
    out = io.BytesIO()
    test.files[ENCODING_FILE](out, NOBODY, test.columns_for(ENCODING_FILE, found), plan)
    content: dict[str, Any] = json.loads(out.getvalue())
    return content
