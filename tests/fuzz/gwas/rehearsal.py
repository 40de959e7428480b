"""A random federation by `unpooled rehearse`: server, compensator and clients instead of one process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unpooled.errors import UnpooledError
from unpooled_webapp.rehearsal import Settings
from unpooled_webapp.rehearsal import rehearse as over_http
from unpooled_webapp.rehearsal.federation import place_of
from unpooled_webapp.rehearsal.screen import Screen

from .files import Tables
from .ours import Results, plan_of, words_of
from .outcome import Disagreement, Outcome
from .study import Study


def can_rehearse(study: Study) -> bool:
    """Files are compared of one phenotype."""
    return not study.people.further


def rehearse(
    study: Study, cohorts: Sequence[Tables], results: Results, folder: Path, outcome: Outcome
) -> None:
    """The files of a rehearsal must be those of the run in one process, in every byte."""
    settings, said = Settings(plan_of(study).to_json(), words_of(study, cohorts), folder / "rehearsed"), ""
    with Screen(quiet=True) as screen:
        try:
            over_http(settings, screen)
        except UnpooledError as error:
            said = str(error)
    for name, report in results.files.items():
        path = place_of(settings.out, f"rehearsed.{name}")
        found = path.read_bytes() if path.exists() else b""
        if found != report:
            what = "a rehearsal's file is another"
            outcome.disagreements.append(Disagreement(name, what, "", said or f"{len(found)} bytes", ""))
    outcome.rehearsed += 1
