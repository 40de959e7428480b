"""The platform's figures in Prometheus' format, read from the database when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from django.db.models import Avg, Count, F, Min, Sum
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from unpooled_server.cohort_api.held import Held
from unpooled_server.models import Cohort, Round, Study, Traffic
from unpooled_server.names import COMPENSATOR, LIVE, OVER, UNFINISHED
from unpooled_server.reads import stages
from unpooled_server.services import keeping, sweeping

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


RECENT = timedelta(minutes=5)
"""Time for which a round that has ended counts."""


def text(checks: Mapping[str, bool], held: Held | None) -> bytes:
    """Return all figures as they are now; `held`: what the web server keeps, if it keeps requests."""
    registry = CollectorRegistry()
    registry.register(_Platform(checks, held))
    return generate_latest(registry)


class _Platform(Collector):
    def __init__(self, checks: Mapping[str, bool], held: Held | None) -> None:
        self._checks, self._held = checks, held

    def collect(self) -> Iterator[Metric]:
        yield _studies()
        yield _cohorts()
        yield _clients()
        yield _checks(self._checks)
        if self._held is not None:
            yield _waiting(self._held)
        yield _round_seconds()
        yield _gauge("oldest_round_seconds", "Age of the oldest round without a sum", _oldest_round())
        if (age := sweeping.age()) is not None:
            yield _gauge("sweep_age_seconds", "Time since a worker last looked at all studies", age)
        yield _traffic()
        yield _disk()


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"unpooled_{name}", what, value=value)


def _studies() -> Metric:
    found = GaugeMetricFamily("unpooled_studies", "Studies by state and pause", labels=("state", "pause"))
    for row in Study.objects.values("state", "pause_kind").annotate(count=Count("pk")).order_by():
        found.add_metric([row["state"], row["pause_kind"]], row["count"])
    return found


def _cohorts() -> Metric:
    found = GaugeMetricFamily(
        "unpooled_cohorts", "Cohorts of studies that run, by whether they are heard", labels=("heard",)
    )
    silent = stages.silent(timezone.now())
    count = Cohort.objects.filter(study__state__in=LIVE, revoked=False).aggregate(
        yes=Count("pk", filter=~silent), no=Count("pk", filter=silent)
    )
    for word in ("yes", "no"):
        found.add_metric([word], count[word])
    return found


def _clients() -> Metric:
    found = GaugeMetricFamily(
        "unpooled_clients", "Clients of studies that are not over, by release", labels=("release",)
    )
    joined = Cohort.objects.exclude(study__state__in=OVER).exclude(public_key="")
    for row in joined.values("release").annotate(count=Count("pk")).order_by():
        found.add_metric([row["release"]], row["count"])
    return found


def _checks(checks: Mapping[str, bool]) -> Metric:
    found = GaugeMetricFamily(
        "unpooled_check", "What /ready looks at: 1 where nothing is missing", labels=("check",)
    )
    for name, is_ok in checks.items():
        found.add_metric([name], is_ok)
    return found


def _waiting(held: Held) -> Metric:
    found = GaugeMetricFamily(
        "unpooled_waiting_requests", "Requests that the process asked keeps, and can keep", labels=("kind",)
    )
    found.add_metric(["taken"], held.waiting)
    found.add_metric(["places"], held.places)
    return found


def _round_seconds() -> Metric:
    found = GaugeMetricFamily(
        "unpooled_round_seconds", "Means of the rounds of the last five minutes", labels=("part",)
    )
    ended = Round.objects.filter(study__state__in=LIVE, aggregated_at__gte=timezone.now() - RECENT)
    means = ended.aggregate(
        shares=Avg(F("complete_at") - F("opened_at")),
        compensator=Avg("release_seconds"),
        sum=Avg("sum_seconds"),
    )
    for part, mean in means.items():
        if mean is not None:
            found.add_metric([part], mean.total_seconds() if isinstance(mean, timedelta) else mean)
    return found


def _oldest_round() -> float:
    since = Round.objects.filter(state__in=UNFINISHED, study__state__in=LIVE).aggregate(at=Min("opened_at"))[
        "at"
    ]
    return (timezone.now() - since).total_seconds() if since else 0.0


def _traffic() -> Metric:
    found = GaugeMetricFamily(
        "unpooled_traffic_bytes", "Bytes of the studies that are kept", labels=("with", "direction")
    )
    compensators = Traffic.objects.filter(party=COMPENSATOR)
    for who, rows in (("compensator", compensators), ("cohorts", Traffic.objects.exclude(party=COMPENSATOR))):
        sums = rows.aggregate(received=Sum("received", default=0), sent=Sum("sent", default=0))
        for direction, count in sums.items():
            found.add_metric([who, direction], count)
    return found


def _disk() -> Metric:
    found = GaugeMetricFamily("unpooled_disk_bytes", "Disk of the home folder", labels=("kind",))
    for kind, count in zip(("total", "free"), keeping.disk(), strict=True):
        found.add_metric([kind], count)
    return found
