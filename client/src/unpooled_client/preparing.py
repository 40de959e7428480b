"""What a person does in a study before its run, offline: check the data files, and release what leaves."""

from __future__ import annotations

import dataclasses

from unpooled.errors import DataProblem
from unpooled_client.data.fingerprint import fingerprints
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Report
from unpooled_client.reading import DataChanged, from_json, guard, open_under, same_options, sizes_of, to_json
from unpooled_client.state import Agreement, Saved, StateError, StateFolder


def agreement_of(folder: StateFolder) -> tuple[Saved, Agreement]:
    """The state and what was agreed to in it; StateError if nothing was yet."""
    saved = folder.load()
    if saved.agreement is None:
        raise StateError(
            "the plan and the roster were not accepted yet, and no data file is opened before. "
            f"Start with: unpooled-client join --wait --state {folder.path}"
        )
    return saved, saved.agreement


def check_for_study(folder: StateFolder, options: DataOptions, threads: int) -> Report:
    """Check the files as the study wants them, and remember them if they pass.

    Raises StateError, or DataChanged if what leaves was released for other files.
    """
    saved, agreement = agreement_of(folder)
    if saved.is_released:
        same_options(from_json(saved.options), options)
        guard(saved.files, options.paths)
    data, report = open_under(agreement.plan, options, threads)
    if data is not None and not saved.is_released:
        try:
            files = fingerprints(options.paths)
        except DataProblem as error:
            raise DataChanged(str(error)) from error
        with folder.locked():
            saved = folder.load()
            kept, sizes = to_json(options), sizes_of(data, agreement.plan.autosomes)
            folder.save(dataclasses.replace(saved, options=kept, files=files, sizes=sizes))
    return report


def checked(folder: StateFolder) -> tuple[Saved, Agreement]:
    """The state and what was agreed to, once data files passed the check; StateError before."""
    saved, agreement = agreement_of(folder)
    if not saved.files:
        command = f"unpooled-client check --state {folder.path} …"
        raise StateError(f"no data files passed the check yet. Start with: {command}")
    return saved, agreement


def release(folder: StateFolder, shown: Saved) -> Saved:
    """Remember that a person released what leaves, as it was `shown`; the state after it.

    Raises StateError if the plan, the roster or the files are others by now.
    """
    with folder.locked():
        saved, agreement = checked(folder)
        if (saved.agreement, saved.files) != (shown.agreement, shown.files):
            raise StateError("the plan, the roster or the files have changed meanwhile. Look at it again")
        saved = dataclasses.replace(saved, released=agreement.plan.hash())
        folder.save(saved)
    return saved
