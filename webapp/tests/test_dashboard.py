"""The dashboard for Grafana asks only for what the platform and the compensator export."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from unpooled_compensator import state
from unpooled_compensator.figures import Figures
from unpooled_compensator.service import Compensator
from unpooled_server.cohort_api.held import Held
from unpooled_server.services import sweeping
from unpooled_webapp.operating import figures

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "packaging/grafana-dashboard.json").read_text())


@pytest.mark.django_db
def test_the_dashboard_names_what_is_exported(settings: Any, tmp_path: Path) -> None:
    settings.UNPOOLED_HOME = tmp_path
    sweeping.sweep()
    store, key = state.open_state(tmp_path / "state")
    compensator = Figures(Compensator(store, key))
    compensator.count(200, 0.1)
    exported = {
        sample.name
        for text in (figures.text({"disk": True}, Held(True, True)), compensator.text())
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    } | {f"unpooled_{name}" for name in ("studies", "clients", "round_seconds")}  # of studies: here is none
    store.close()
    asked = {target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]}
    named = set(re.findall(r"unpooled_\w+", " ".join(asked)))
    assert named <= exported
    assert {name for name in exported if not name.endswith("_created")} <= named, "one that is not shown"
