"""Studies that an upgrade waits for, or ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from federation_fixtures import NAMES, Federation

from unpooled.protocol import VERSION
from unpooled_server.models import Branch, Study
from unpooled_server.names import LIVE, PauseKind, StudyState
from unpooled_server.services import upgrading
from unpooled_server.services.branches import RELEASE

pytestmark = pytest.mark.services

Make = Callable[..., Federation]
OTHER = "0.0.1"


def begun(federation: Make, release: str = OTHER) -> Federation:
    """A study that this release, or another, has begun."""
    trial = federation()
    trial.running()
    assert Branch.objects.filter(study=trial.study_id).update(release=release)
    return trial


@pytest.mark.parametrize("state", StudyState)
def test_it_waits_for_what_another_release_began_and_has_not_ended(federation: Make, state: str) -> None:
    trial = begun(federation)
    Study.objects.filter(pk=trial.study_id).update(state=state, pause_kind=PauseKind.RELEASE)
    found = upgrading.begun_elsewhere()
    assert [study.id for study in found] == [trial.study_id] * (state in LIVE)
    for study in found:
        assert (study.name, study.cohorts, study.state) == (trial.study.name, len(NAMES), state)
        assert study.started_at == trial.study.started_at
        assert OTHER in study.by


def test_it_waits_for_none_that_it_can_finish_or_that_asked_nothing(federation: Make) -> None:
    begun(federation, RELEASE)
    federation().ready()
    assert upgrading.begun_elsewhere() == []


def test_it_waits_for_another_version_of_the_protocol(federation: Make) -> None:
    trial = begun(federation, RELEASE)
    study = trial.study
    study.plan_json["version"] = VERSION - 1
    study.save()
    (found,) = upgrading.begun_elsewhere()
    assert f"protocol version {VERSION - 1}" in found.by


def test_those_that_it_ends_say_why(federation: Make) -> None:
    trial, own = begun(federation), begun(federation, RELEASE)
    upgrading.end(upgrading.begun_elsewhere())
    assert (trial.study.state, own.study.state) == (StudyState.FAILED, StudyState.RUNNING)
    assert OTHER in trial.study.reason and RELEASE in trial.study.reason
    assert upgrading.begun_elsewhere() == []


@pytest.mark.parametrize("looks", [{"plan": True}, {"check_unapplied": True}])
def test_looking_at_migrations_neither_refuses_nor_ends(federation: Make, looks: dict[str, bool]) -> None:
    trial = begun(federation)
    call_command("migrate", verbosity=0, fail_running=True, **looks)
    call_command("migrate", verbosity=0, **looks)
    assert trial.study.state == StudyState.RUNNING


def test_a_new_database_has_the_tables_of_one_that_was_brought_up_to_date(settings: Any) -> None:
    """A new one gets all tables at once: what a step changes has to stand there as well."""
    settings.MIGRATION_MODULES = {}  # the tests' own databases are made without migrations
    steps, at_once = (MigrationLoader(None, replace_migrations=replaced) for replaced in (False, True))
    [last] = at_once.graph.leaf_nodes("unpooled_server")
    stood_for = at_once.graph.nodes[last].replaces
    step_by_step = steps.project_state([stood_for[-1] if stood_for else last])
    assert stood_for == [
        key for key in steps.graph.forwards_plan(stood_for[-1]) if key[0] == "unpooled_server"
    ]
    assert not MigrationAutodetector(step_by_step, at_once.project_state([last])).changes(steps.graph)
