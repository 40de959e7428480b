"""Studies of an older protocol version when the platform is upgraded."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
from django.apps import apps
from django.utils import timezone
from federation_fixtures import Federation, variants

from unpooled_server.models import Study

pytestmark = pytest.mark.services

Make = Callable[..., Federation]
MIGRATIONS = {
    2: "0014_protocol_version_3",
    3: "0016_protocol_version_4",
    4: "0017_protocol_version_5",
    5: "0019_protocol_version_6",
}
each_version = pytest.mark.parametrize("version", MIGRATIONS)


def upgraded(trial: Federation, state: str, version: int = 2) -> Study:
    """The study after the upgrade, if before it was in this state, of this version."""
    study = trial.study
    study.plan_json["version"] = version
    study.state = state
    study.save()
    migration = importlib.import_module(f"unpooled_server.migrations.{MIGRATIONS[version]}")
    getattr(migration, f"settle_version_{version}")(apps, None)
    return trial.study


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("state", ["draft", "open"])
def test_a_plan_that_nobody_has_joined_is_raised(federation: Make, state: str, version: int) -> None:
    study = upgraded(federation(), state, version)
    assert (study.state, study.plan_json["version"]) == (state, version + 1)


def test_a_draft_that_names_a_key_of_the_old_kind_fails(federation: Make) -> None:
    study = upgraded(federation(), "draft", 5)
    assert (study.state, study.plan_json["version"]) == ("failed", 5)
    assert "duplicate the study" in study.reason


@each_version
@pytest.mark.parametrize("state", ["open", "ready"])
def test_a_study_that_somebody_has_joined_fails(trial: Federation, state: str, version: int) -> None:
    trial.join()
    study = upgraded(trial, state, version)
    assert (study.state, study.plan_json["version"]) == ("failed", version)
    assert f"version {version}, and the platform was upgraded to version {version + 1}" in study.reason
    assert "duplicate the study" in study.reason


@each_version
@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_study_that_has_begun_is_held(trial: Federation, state: str, version: int) -> None:
    trial.join()
    study = upgraded(trial, state, version)
    assert (study.state, study.pause_kind, study.plan_json["version"]) == ("paused", "release", version)


def test_from_version_3_a_list_of_a_draft_stays(federation: Make) -> None:
    study = upgraded(federation(panel_mode="list", panel_list=variants()), "draft", 3)
    assert (study.plan_json["version"], study.list_ready) == (4, True)
    assert study.plan_json["panel_digest"]


def test_of_studies_that_had_asked_for_a_sum_the_compensator_may_have_boxes(federation: Make) -> None:
    trial, other = federation(), federation()
    Study.objects.filter(pk=trial.study_id).update(enrolled_at=timezone.now())
    importlib.import_module(f"unpooled_server.migrations.{MIGRATIONS[4]}").mark_sent(apps, None)
    assert (trial.study.boxes_sent, other.study.boxes_sent) == (True, False)


def test_a_list_of_a_draft_has_to_be_uploaded_again(federation: Make) -> None:
    study = upgraded(federation(panel_mode="list", panel_list=variants()), "draft")
    assert (study.plan_json["version"], study.plan_json["panel_digest"], study.list_ready) == (3, "", False)


def test_an_open_study_that_goes_by_a_list_fails(federation: Make) -> None:
    study = upgraded(federation(panel_mode="list", panel_list=variants()), "open")
    assert (study.state, study.plan_json["version"]) == ("failed", 2)


def test_a_study_that_is_over_stays_as_it_was(federation: Make) -> None:
    study = upgraded(federation(), "done")
    assert (study.state, study.plan_json["version"]) == ("done", 2)
