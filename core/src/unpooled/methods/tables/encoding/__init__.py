"""Encodings of columns of words: the dictionary that the pooled table would give, and numbers for its words.

A plan lists the values that a column may have. Those that enough people of the pool have, in enough cohorts,
are kept; all others count as the rest. The encoding file and what it does to a table are in
`unpooled.fitted.encoder`; `hash` and `ngrams` need no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from unpooled.methods.algorithm import AboutFile, TableMethod
from unpooled.methods.purpose import Purpose
from unpooled.methods.tables.encoding import questions
from unpooled.methods.tables.encoding.coding import coded
from unpooled.methods.tables.encoding.dictionary import SiftCodes, SpellWords
from unpooled.methods.tables.encoding.options import IGNORE_CASE, OPTIONS
from unpooled.methods.tables.encoding.procedure import ROWS, encode
from unpooled.methods.tables.encoding.reading import categories_of
from unpooled.methods.tables.encoding.rest import OF_ROWS
from unpooled.methods.tables.encoding.result import columns_of, shown, write
from unpooled.plan.categories import normal
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import ENCODING_FILE
from unpooled.plan.schema import CATEGORY
from unpooled.plan.templates import Template


def _rules(plan: Plan) -> Mapping[str, str]:
    found = dict(_of_schema(plan))
    if plan.masking != "modular":
        found["masking"] = "modular only: under normal noise a count near the floor may fall on either side"
    return found


def _of_schema(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the problems of a plan's columns in a study of encodings, with the field of each."""
    for column in plan.dictionaries:
        seen: dict[str, str] = {}
        for level in column.levels if IGNORE_CASE.of(plan) else ():
            if (other := seen.setdefault(normal(level, ignore_case=True), level)) != level:
                yield "schema", f"{column.title}: {other} and {level} are one word where case is ignored"


ENCODE = TableMethod(
    name="encode",
    title="Encoding of columns of words",
    purpose=Purpose.TABLE,
    method="Words of each column were encoded by the dictionary of all cohorts' tables.",
    asks=(
        questions.CountRows,
        SiftCodes,
        SpellWords,
        questions.Sift,
        *OF_ROWS,
        questions.CountLevels,
        questions.FindTargetMagnitude,
        questions.AverageTargets,
        questions.MeasureTargetSpread,
        questions.SumTargets,
    ),
    procedure=encode,
    files={ENCODING_FILE: write},
    usual_files=(ENCODING_FILE,),
    about_files={
        ENCODING_FILE: AboutFile("Encoding", "the dictionary of each column, with its numbers, as JSON")
    },
    options=OPTIONS,
    templates=(
        Template(
            "encode",
            "Words to numbers",
            "Columns of words, encoded alike in every cohort. Name the columns and their values below.",
        ),
    ),
    table=ROWS,
    columns=columns_of,
    shown=shown,
    columns_of=lambda plan: plan.categories,
    column_type=CATEGORY,
    reads_words=lambda column: column.is_category,
    prepared=lambda table, plan: replace(table, coded=categories_of(table.words, table.values, plan)),
    coded=coded,
    rules=_rules,
)
