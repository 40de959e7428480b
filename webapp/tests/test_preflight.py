"""`unpooled preflight` on a platform that this release can take over, and on others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.conf import settings
from federation_fixtures import Federation

from unpooled_server.models import Branch, Cohort
from unpooled_server.services.branches import RELEASE
from unpooled_webapp import environment
from unpooled_webapp.commands.preflight import preflight
from unpooled_webapp.models import Installation

OTHER = "0.0.1"


@pytest.fixture
def trial(platform: Any, federation: Callable[..., Federation]) -> Federation:
    home = environment.kept_secret(Path(settings.UNPOOLED_HOME) / "installation", 16)
    Installation.objects.update_or_create(pk=1, defaults={"home": home})
    made = federation()
    made.running()
    return made


def test_nothing_stands_in_the_way(trial: Federation) -> None:
    said = CliRunner().invoke(preflight)
    assert said.exit_code == 0, said.output
    assert said.output.splitlines() == [
        f"This release is {RELEASE}.",
        "ok    broker",
        "ok    compensator",
        "ok    database",
        "ok    disk",
        "ok    store",
    ]


def test_what_stops_an_upgrade_is_named(trial: Federation, platform: Any) -> None:
    Branch.objects.filter(study=trial.study_id).update(release=OTHER)
    Cohort.objects.filter(study=trial.study_id, name="Graz").update(release=OTHER)
    said = CliRunner().invoke(preflight)
    assert said.exit_code == 1
    assert f"begun by release {OTHER}" in said.output
    assert f"note  clients of release {OTHER}: Graz in {trial.study.name}" in said.output
    platform.UNPOOLED_HOME = "/another/home"
    said = CliRunner().invoke(preflight)
    assert "stop  database: the database belongs to another home folder" in said.output
    assert f"begun by release {OTHER}" not in said.output
