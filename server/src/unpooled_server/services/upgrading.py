"""Studies that another release began, and alone can finish: an upgrade waits for them, or ends them.

They are looked for before the tables are brought up to date, so only by columns that the oldest tables have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from unpooled.protocol import VERSION
from unpooled_server.models import Branch, Cohort, Study
from unpooled_server.names import LIVE, OVER
from unpooled_server.services.branches import RELEASE
from unpooled_server.services.transitions import fail


@dataclass(frozen=True)
class Begun:
    """A study under way, and what began it."""

    id: str
    name: str
    cohorts: int
    state: str
    started_at: datetime | None
    by: str

    def __str__(self) -> str:
        since = f" since {self.started_at:%Y-%m-%d %H:%M} UTC" if self.started_at else ""
        return (
            f"{self.name} ({self.id}): {self.cohorts} cohorts, begun by {self.by}, "
            f"under way{since}, {self.state}"
        )


def begun_elsewhere() -> list[Begun]:
    """The studies under way that this release cannot finish, the oldest first."""
    tables = connection.introspection.table_names()
    if Study._meta.db_table not in tables:
        return []
    releases: dict[str, str] = {}
    if Branch._meta.db_table in tables:
        others = Branch.objects.filter(study__state__in=LIVE).exclude(release=RELEASE)
        releases.update(others.values_list("study", "release").distinct())
    found = []
    studies = Study.objects.filter(state__in=LIVE).order_by("started_at")
    for pk, name, state, started_at, plan in studies.values_list(
        "pk", "name", "state", "started_at", "plan_json"
    ):
        if pk in releases:
            by = f"release {releases[pk]}"
        elif plan["version"] != VERSION:  # also where the tables know no branches yet
            by = f"a release of protocol version {plan['version']}"
        else:
            continue
        found.append(Begun(pk, name, plan["cohorts"], state, started_at, by))
    return found


def clients_elsewhere() -> dict[str, list[str]]:
    """Name the cohorts of studies that are not over whose client was of another release, by its release."""
    found: dict[str, list[str]] = {}
    cohorts = Cohort.objects.exclude(study__state__in=OVER).exclude(release__in=["", RELEASE])
    for cohort, study, release in cohorts.order_by("study", "name").values_list(
        "name", "study__name", "release"
    ):
        found.setdefault(release, []).append(f"{cohort} in {study}")
    return found


def end(found: Iterable[Begun]) -> None:
    """Fail these studies, and say why to those who take part."""
    for study in found:
        fail(
            study.id,
            f"It was begun by {study.by}, which alone can finish it, and the platform's operator went on to "
            f"release {RELEASE}.",
        )
