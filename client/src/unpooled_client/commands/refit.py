"""`unpooled-client refit`: one model from the sums of several studies, as if all rows had been in one."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from unpooled.described.file_list import report_name
from unpooled.errors import DataProblem, Refuse, listed
from unpooled.methods import algorithm
from unpooled.methods.learning import COEFFICIENTS_FILE
from unpooled.methods.learning.stored import refitted_columns
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan, PlanError
from unpooled.plan.result_files import MODEL_FILE, SUMS_FILE
from unpooled.plan.schema import IGNORED, Column
from unpooled_client.state.files import write_atomically
from unpooled_client.study.failures import UsageProblem

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_MANIFEST = "manifest.json"
_SAME = {
    "test": "the same method",
    "validation_folds": "as many folds",
    "missing_cells": "the same rule for missing cells",
    "missing_words": "the same rule for missing words",
    "ignore_case": "the same rule for capital letters",
}
"""Parts of the plan, besides the columns, that must agree in all studies, with their names for people."""
_OF_A_COLUMN = {
    "title": "name",
    "type": "type",
    "unit": "unit",
    "role": "role",
    "encoding": "encoding",
    "levels": "values",
}
"""Parts of a column that must agree; limits need not, since they only say what a cohort lets through."""


@dataclass(frozen=True)
class Earlier:
    """A study that is done."""

    manifest: Path
    study: str
    plan: Plan
    cohorts: frozenset[str]
    sums: Mapping[str, Any]


@click.command()
@click.argument("manifests", type=FILE, nargs=-1, required=True, metavar="MANIFEST MANIFEST...")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="PREFIX", help="The model's.")
def refit(manifests: tuple[Path, ...], out: Path) -> None:
    """Fit one model to the rows of several studies, out of their files.

    Of each study give its manifest; its file of sums lies beside it. Columns and folds are those of the
    first. No row may be in two of them. Nothing leaves this computer.
    """
    if len(manifests) < 2:
        raise UsageProblem("of several studies, one was given.", "Name the manifest of each.")
    first, *others = studies = [_read(path) for path in manifests]
    for place, other in enumerate(others, 1):
        _require_another(studies[:place], other)
        _require_alike(first, other)
    for name, path in _write(studies, out).items():
        click.echo(f"{name}: {path}")
    if again := _in_several(studies):
        click.echo(f"In several of these studies: {', '.join(again)}. Their rows must differ.", err=True)


def _read(path: Path) -> Earlier:
    """A study by its manifest; DataProblem if it is none, or if the sums are not those of the study."""
    try:
        found = json.loads(path.read_bytes())
        study, plan = str(found["study"]["id"]), Plan.from_json(found["plan"])
        cohorts = frozenset(member["name"] for member in found["roster"])
        digests = {file["name"]: file["sha256"] for file in found["files"]}
    except (ValueError, KeyError, TypeError, PlanError) as error:
        raise DataProblem(
            f"this is not the manifest of a study ({error})",
            file=path,
            remedy="Give the file manifest.json of its results.",
        ) from error
    return Earlier(path, study, plan, cohorts, _sums(path, digests.get(report_name(SUMS_FILE, plan))))


def _sums(manifest: Path, digest: str | None) -> Mapping[str, Any]:
    if digest is None:
        raise DataProblem(
            "this study gave no sums",
            file=manifest,
            remedy="Only a study whose plan writes the file of sums can be added to.",
        )
    path = manifest.with_name(f"{manifest.name.removesuffix(_MANIFEST)}{SUMS_FILE}.json")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataProblem(
            "no such file", file=path, remedy="Put the study's sums beside its manifest."
        ) from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise DataProblem(
            "these are not the sums that the manifest names: its SHA-256 is another",
            file=path,
            remedy="Fetch the results of the study once more.",
        )
    found: Mapping[str, Any] = json.loads(data)
    return found


def _require_another(before: Sequence[Earlier], other: Earlier) -> None:
    """DataProblem if a study is one of those before: its rows would count twice."""
    for earlier in before:
        if other.study == earlier.study or other.sums == earlier.sums:
            raise DataProblem(
                f"this is the study of {earlier.manifest}, and its rows would count twice",
                file=other.manifest,
                remedy="Name each study once.",
            )


def _require_alike(first: Earlier, other: Earlier) -> None:
    apart = [wanted for field, wanted in _SAME.items() if _at(first, field) != _at(other, field)]
    if apart := [*apart, *_apart(first.plan.schema, other.plan.schema)]:
        raise DataProblem(
            f"this study does not have {listed(apart)} as {first.manifest}",
            file=other.manifest,
            remedy="Only studies that ask for the same are added: repeat the first one's plan.",
        )


def _at(study: Earlier, field: str) -> object:
    return study.plan.to_json().get(field)


def _apart(columns: Sequence[Column], others: Sequence[Column]) -> Iterator[str]:
    """Yield the differences between the columns of two schemas, ignored ones apart, in words."""
    mine, theirs = ([c for c in schema if c.role != IGNORED] for schema in (columns, others))
    if [column.title for column in mine] != [column.title for column in theirs]:
        yield "the same columns in the same order"
        return
    for column, other in zip(mine, theirs, strict=True):
        for field, name in _OF_A_COLUMN.items():
            if getattr(column, field) != getattr(other, field):
                yield f"the same {name} of {column.title}"


def _write(studies: Sequence[Earlier], out: Path) -> dict[str, Path]:
    """Write model and coefficients; the path of each."""
    everybody = frozenset[str]().union(*(study.cohorts for study in studies))
    plan = Plan.from_json(studies[0].plan.to_json() | {"cohorts": len(everybody)})
    try:
        columns = refitted_columns([study.sums for study in studies], plan)
    except (ValueError, Refuse) as error:
        raise DataProblem(f"these studies do not add up: {error}", file=studies[0].manifest) from error
    fit, found = algorithm(plan.test), {}
    for file in (MODEL_FILE, COEFFICIENTS_FILE):
        fit.files[file](written := io.BytesIO(), Panel.of([]), columns, plan)
        found[file] = out.with_name(f"{out.name}.{fit.file_name(file, plan)}")
        write_atomically(found[file], written.getvalue())
    return found


def _in_several(studies: Sequence[Earlier]) -> list[str]:
    """The cohorts of more than one study."""
    everybody = [name for study in studies for name in study.cohorts]
    return sorted(name for name in set(everybody) if everybody.count(name) > 1)
