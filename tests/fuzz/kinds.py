"""The kinds of random federations of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unpooled.methods.tables.encoding.options import (
    FOLDS,
    HOLDERS,
    IGNORE_CASE,
    MISSING_WORDS,
    PEOPLE,
    SMOOTH,
    SPELLED,
)

from .encodings import compare as of_encodings
from .encodings import federation as encodings
from .encodings import files as encoding_files
from .federations import Fuzz
from .models import federation as models
from .models import judge as of_models
from .tables import compare as of_tables
from .tables import federation as tables
from .tables import files as table_files


def _flags(folder_paths: list[Path]) -> str:
    return " ".join(f"--table '{path.name}'" for path in folder_paths)


def _options(federation: encodings.Federation) -> str:
    """Return the options as `unpooled rehearse` takes them."""
    plan = federation.plan
    said = f"--people {PEOPLE.of(plan)} --holders {HOLDERS.of(plan)} --missing-words {MISSING_WORDS.of(plan)}"
    said += f" --smooth {SMOOTH.of(plan)} --folds {FOLDS.of(plan)} --spelled {SPELLED.of(plan)}"
    return said + (" --ignore-case" if IGNORE_CASE.of(plan) else "")


def _keep_numbers(federation: tables.Federation, folder: Path) -> dict[str, Any]:
    plan = federation.plan
    paths = [table_files.write(federation, k, folder) for k in range(len(federation.cohorts))]
    schema = "".join(f"{column.title},{column.type},{column.unit}\n" for column in plan.schema)
    (folder / "schema.csv").write_text("name,type,unit\n" + schema, encoding="utf-8")
    words = f"--normalize {plan.test} --masking {plan.masking} --variance {plan.variance}"
    rows = [[list(map(repr, row)) for row in cohort.tolist()] for cohort in federation.cohorts]
    return {"run": f"unpooled rehearse {words} --schema schema.csv {_flags(paths)}", "rows": rows}


def _keep_words(federation: encodings.Federation, folder: Path) -> dict[str, Any]:
    paths = [encoding_files.write(federation, k, folder) for k in range(len(federation.cohorts))]
    encoding_files.write_schema(federation.plan, folder)
    titles = [column.title for column in federation.plan.categories]
    words = [{title: cohort.cells[title] for title in titles} for cohort in federation.cohorts]
    run = f"unpooled rehearse --encode {_options(federation)} --schema schema.csv {_flags(paths)}"
    return {"run": run, "words": words}


def _keep_cells(federation: models.Federation, _: Path) -> dict[str, Any]:
    cells = [{title: of.tolist() for title, of in part.cells.items()} for part in federation.cohorts]
    return {"plan": federation.plan.to_json(), "cells": cells}


TABLES = Fuzz(
    "tables",
    tables.draw,
    of_tables.compare,
    lambda of: f"{of.plan.test}, {of.plan.masking} masks",
    _keep_numbers,
    shrinking=20.0,
)
ENCODINGS = Fuzz("encodings", encodings.draw, of_encodings.compare, _options, _keep_words)
MODELS = Fuzz(
    "models",
    models.draw,
    of_models.compare,
    lambda of: f"{of.plan.test}, {', '.join(of.kinds)}",
    _keep_cells,
)
OF_TABLES = {kind.name: kind for kind in (TABLES, ENCODINGS, MODELS)}
