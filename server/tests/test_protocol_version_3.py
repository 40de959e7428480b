"""What becomes of studies of protocol version 2 when the platform is upgraded."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
from django.apps import apps
from federation_fixtures import Federation, variants

from unpooled_server.models import Study

pytestmark = pytest.mark.services

Make = Callable[..., Federation]
MIGRATION = importlib.import_module("unpooled_server.migrations.0014_protocol_version_3")


def upgraded(trial: Federation, state: str) -> Study:
    """The study after the upgrade, if before it was in this state, of version 2."""
    study = trial.study
    study.plan_json["version"] = 2
    study.state = state
    study.save()
    MIGRATION.settle_version_2(apps, None)
    return trial.study


@pytest.mark.parametrize("state", ["draft", "open"])
def test_a_plan_that_nobody_has_joined_is_raised(federation: Make, state: str) -> None:
    study = upgraded(federation(), state)
    assert (study.state, study.plan_json["version"]) == (state, 3)


@pytest.mark.parametrize("state", ["open", "ready"])
def test_a_study_that_somebody_has_joined_fails(federation: Make, state: str) -> None:
    trial = federation()
    trial.join()
    study = upgraded(trial, state)
    assert (study.state, study.plan_json["version"]) == ("failed", 2)
    assert "duplicate the study" in study.reason


@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_study_that_has_begun_is_held(federation: Make, state: str) -> None:
    trial = federation()
    trial.join()
    study = upgraded(trial, state)
    assert (study.state, study.pause_kind, study.plan_json["version"]) == ("paused", "release", 2)


def test_a_list_of_a_draft_has_to_be_uploaded_again(federation: Make) -> None:
    study = upgraded(federation(panel_mode="list", panel_list=variants()), "draft")
    assert (study.plan_json["version"], study.plan_json["panel_digest"], study.list_ready) == (3, "", False)


def test_an_open_study_that_goes_by_a_list_fails(federation: Make) -> None:
    study = upgraded(federation(panel_mode="list", panel_list=variants()), "open")
    assert (study.state, study.plan_json["version"]) == ("failed", 2)


def test_a_study_that_is_over_stays_as_it_was(federation: Make) -> None:
    study = upgraded(federation(), "done")
    assert (study.state, study.plan_json["version"]) == ("done", 2)
