"""Studies of encodings in one process, and pools to hold them with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import models
import numpy as np
from normalizing import written

from unpooled.asking.cohort import ArrayTable
from unpooled.methods.tables.encoding.reading import categories_of
from unpooled.plan.categories import Words
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import ENCODING_FILE
from unpooled.plan.schema import Column

Cells = dict[str, list[str | None]]
"""A cohort's columns of words, by title."""


def plan_of(columns: Sequence[Column], cohorts: int, **changes: Any) -> Plan:
    return models.plan_of("encode", columns, cohorts, **changes)


def table_of(words: Cells, values: np.ndarray, plan: Plan) -> ArrayTable:
    read = {title: Words.of(cells) for title, cells in words.items()}
    return ArrayTable(values, read, categories_of(read, values, plan))


def fit(plan: Plan, tables: Sequence[ArrayTable]) -> dict[str, Any]:
    """The content of the encoding file."""
    content: dict[str, Any] = json.loads(written(plan, tables, ENCODING_FILE))
    return content
