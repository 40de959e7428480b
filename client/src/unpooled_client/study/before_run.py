"""Steps of a person in a study before its run, offline: check the data files, and release what leaves."""

from __future__ import annotations

import dataclasses

from unpooled.errors import DataProblem, listed
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Report
from unpooled_client.data.imputed.copies import silent
from unpooled_client.data.imputed.pieces import Reading
from unpooled_client.data.options import DataOptions
from unpooled_client.data.thorough import AS_USUAL, Thorough, check_thoroughly
from unpooled_client.state.files import StateError
from unpooled_client.state.fingerprint import fingerprints
from unpooled_client.state.folder import Agreement, Saved, StateFolder
from unpooled_client.study import few_apart as apart
from unpooled_client.study.book import has_answered
from unpooled_client.study.reading import DataChanged, guard, open_under, same_options, sizes_of


def agreement_of(folder: StateFolder) -> tuple[Saved, Agreement]:
    """The state and what was agreed to in it; StateError if nothing was yet."""
    saved = folder.load()
    if saved.agreement is None:
        raise StateError(
            "the plan and the roster were not accepted yet, and no data file is opened before. "
            f"Start with: unpooled-client join --wait {folder.as_option}"
        )
    return saved, saved.agreement


def check_for_study(
    folder: StateFolder,
    options: DataOptions,
    threads: int,
    thorough: Thorough = AS_USUAL,
    reading: Reading = silent,
) -> Report:
    """Check the files as the study wants them, and the people in them, and remember them if they pass.

    If what leaves was released for other files, and nothing was answered yet, that is withdrawn. Raises
    StateError, or DataChanged if it is too late for other files.
    """
    saved, agreement = agreement_of(folder)
    is_fixed = saved.has_released and has_answered(folder, saved)
    if is_fixed:
        same_options(DataOptions.from_json(saved.options), options, agreement.plan)
        guard(saved.files, options.paths)
    data, report = open_under(agreement.plan, options, threads, reading)
    if isinstance(data, PlinkData):
        check_thoroughly(data, thorough, report)
    if data is None or is_fixed:
        return report
    try:
        files = fingerprints(options.paths)
    except DataProblem as error:
        raise DataChanged(str(error)) from error
    sizes = sizes_of(data, agreement.plan.autosomes)
    few = apart.of_files(folder, saved, options.under(agreement.plan), data)
    checked = dataclasses.replace(
        saved, options=options.to_json(), files=files, sizes=sizes, few_apart=few, problem=None
    )
    if (checked.options, checked.files) != (saved.options, saved.files):
        checked = dataclasses.replace(checked, released=b"")
    _replace(folder, saved, checked)
    return report


def _replace(folder: StateFolder, expected: Saved, saved: Saved) -> None:
    """Remember this in place of what was `expected`; StateError if another command was quicker."""
    with folder.locked():
        if folder.load() != expected:
            raise StateError(
                "the plan, the roster or the files have changed in the meantime. Look at it again"
            )
        folder.save(saved)


def checked(folder: StateFolder) -> tuple[Saved, Agreement]:
    """The state and what was agreed to, once data files passed the check; StateError before."""
    saved, agreement = agreement_of(folder)
    if not saved.files:
        command = f"unpooled-client check {folder.as_option} …"
        raise StateError(f"no data files passed the check yet. Start with: {command}")
    return saved, agreement


def release(folder: StateFolder, shown: Saved, *, few_apart: bool = False) -> Saved:
    """Remember that a person released what leaves, as it was `shown`; the state after it.

    `few_apart`: they know from which earlier studies few people differ, if any. Raises StateError if they do
    not, or if the plan, the roster or the files are others by now.
    """
    _, agreement = checked(folder)
    if shown.few_apart and not few_apart:
        studies = listed([f"“{each.earlier}”" for each in shown.few_apart])
        raise StateError(
            f"few people differ from those of {studies}, so what leaves is not released unseen. Read what "
            f"that tells: unpooled-client review {folder.as_option}\n"
            "To release it all the same, give --few-apart, too."
        )
    saved = dataclasses.replace(
        shown, released=agreement.plan.hash(), few_released=shown.few_apart, problem=None
    )
    _replace(folder, shown, saved)
    return saved
