"""An operator keeps studies for so many days, and no more of one coordinator than a quota."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
from django.utils import timezone
from whole_studies import PLAN, created

from unpooled_server.models import Study
from unpooled_server.storage import store
from unpooled_webapp import audit, tasks


def test_a_study_is_deleted_some_days_after_its_end_and_its_page_says_when(
    me: httpx.Client, settings: Any
) -> None:
    study, other = (created(me, name=name, plan=PLAN) for name in ("Over", "Draft"))
    address = f"/api/v1/studies/{study}"
    me.post(f"{address}/invitations", json={"cohort": "Graz"})
    assert me.post(f"{address}/abort").status_code == 200
    (store.made_folder(study) / "list.bin").write_bytes(b"")
    folder, ended_at = store.study_folder(study), me.get(address).json()["ended_at"]
    settings.UNPOOLED_KEEP_DAYS = 0
    tasks.deliver_notices()
    assert me.get(address).json()["deleted_at"] is None and folder.exists()
    settings.UNPOOLED_KEEP_DAYS = 30
    tasks.deliver_notices()
    seen = me.get(address).json()
    assert seen["deleted_at"][:10] > ended_at[:10] and folder.exists()
    Study.objects.filter(pk=study).update(ended_at=timezone.now() - timedelta(days=30, seconds=1))
    tasks.deliver_notices()
    assert me.get(address).status_code == 404 and not folder.exists()
    assert me.get(f"/api/v1/studies/{other}").status_code == 200
    assert [line["what"] for line in audit.lines()][-1] == "deleted after UNPOOLED_KEEP_DAYS"


def test_a_coordinator_has_no_more_studies_and_files_than_the_platform_allows(
    me: httpx.Client, settings: Any
) -> None:
    settings.UNPOOLED_MOST_STUDIES = 2
    first, second = (created(me, name=name, plan=PLAN) for name in ("One", "Two"))
    for address, content in (
        ("studies", {"name": "Three", "plan": PLAN}),
        (f"studies/{first}/duplicate", {}),
    ):
        answer = me.post(f"/api/v1/{address}", json=content)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too-many-studies")
    assert me.delete(f"/api/v1/studies/{second}").status_code == 204
    created(me, name="Three", plan=PLAN)
    settings.UNPOOLED_MOST_STUDIES, settings.UNPOOLED_MOST_GIGABYTES = 0, 1e-6
    (store.made_folder(first) / "list.bin").write_bytes(bytes(1000))
    answer = me.post("/api/v1/studies", json={"name": "Four", "plan": PLAN})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too-much-kept")
