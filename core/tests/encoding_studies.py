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


def folded_in(
    counts: Sequence[Sequence[int]], rest: Sequence[int], below: Sequence[bool], people: int
) -> list[int]:
    """Which of the kept levels are folded into a rest, by plain counting: those of them that hide it.

    `counts` has a line for each level, of each fold. `below`: in which folds the rest is below a floor.
    """

    def rung(count: int) -> int:
        return people << (count // people).bit_length() - 1

    order = sorted(range(len(counts)), key=lambda k: (sum(map(rung, counts[k])), -k))
    for more in range(1, len(order) if any(below) else 0):
        of = order[:more]
        sums = [sum(counts[k][f] for k in of) + rest[f] for f in range(len(rest))]
        least = [sum(rung(counts[k][f]) for k in of) for f in range(len(rest))]
        most = [2 * low - more for low in least]
        if all(
            not below[f] or least[f] + people // 2 <= sums[f] <= most[f] + people - people // 2
            for f in range(len(rest))
        ):
            return of
    return order if any(below) else []


def fit(plan: Plan, tables: Sequence[ArrayTable]) -> dict[str, Any]:
    """The content of the encoding file, through the real encodings and masks."""
    test, found = check(plan), run.run(plan, NOBODY, tables)
    out = io.BytesIO()
    test.files[ENCODING_FILE](out, NOBODY, test.columns_for(ENCODING_FILE, found), plan)
    content: dict[str, Any] = json.loads(out.getvalue())
    return content
