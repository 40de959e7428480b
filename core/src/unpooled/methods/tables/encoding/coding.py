"""The codes of a table's words: blinded at the cohort, and multiplied by two keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from unpooled.asking.cohort import ArrayTable, Table
from unpooled.methods.tables.encoding.dictionary import CODE_BITS, code_text
from unpooled.methods.tables.encoding.options import IGNORE_CASE
from unpooled.plan.categories import Words, normal
from unpooled.plan.plan import Plan
from unpooled.protocol import codes, oprf
from unpooled.protocol.codes import Blinding


def blinding(table: Table, plan: Plan, column: int, study: str, secret: bytes) -> Blinding:
    """Return what is blinded of a searched column, given by its place among those with a dictionary.

    ProtocolError if the column has more different words than the plan allows.
    """
    found = plan.dictionaries[column]
    return Blinding(secret, f"{study}/{found.title}", table.categories.searched[column], found.most)


def unblinded(
    blinding: Blinding, points: bytes, progress: Callable[[int], None] = lambda done: None
) -> np.ndarray:
    """The codes of the words, from their points times the keys; `progress` hears how many are done."""
    return blinding.codes(points, CODE_BITS, progress)


def with_codes(table: Table, codes: Mapping[int, np.ndarray]) -> ArrayTable:
    """The table with the codes of its words, by column."""
    here = cast(ArrayTable, table)
    return replace(here, coded=replace(here.categories, codes=codes))


def as_codes(table: ArrayTable, plan: Plan) -> ArrayTable:
    """The table with the codes of its words in their place, where the dictionary has only those."""
    found = dict(table.words)
    for place in plan.searched:
        title, codes = plan.dictionaries[place].title, table.categories.codes[place].tolist()
        named = dict(zip(table.categories.searched[place], map(code_text, codes), strict=True))
        words = found[title]
        known = [normal(word, ignore_case=IGNORE_CASE.of(plan)) for word in words.values]
        found[title] = Words(words.codes, tuple(named.get(word, word) for word in known))
    return replace(table, words=found)


def coded(tables: Sequence[Table], plan: Plan) -> Sequence[Table]:
    """Tables with the codes of their words, all in one process; as they are, if they have codes already."""
    if not plan.searched or plan.alone or all(table.categories.codes for table in tables):
        return tables
    key = oprf.random_key()
    return [_coded(table, plan, key) for table in tables]


def _coded(table: Table, plan: Plan, key: bytes) -> Table:
    found = {}
    for column in plan.searched:
        own = blinding(table, plan, column, "in process", os.urandom(codes.SECRET_BYTES))
        found[column] = unblinded(own, codes.multiplied(key, own.points()))
    return with_codes(table, found)
