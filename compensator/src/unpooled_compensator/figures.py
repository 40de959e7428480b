"""The service's figures in Prometheus' format: how much it does, and whether it has room.

No study is named.
"""

from __future__ import annotations

import functools
import shutil

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from unpooled_compensator.service import Compensator

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Figures:
    def __init__(self, compensator: Compensator) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "unpooled_compensator_requests", "Requests by status", ["status"], registry=self._registry
        )
        self._seconds = Counter(
            "unpooled_compensator_request_seconds", "Time of all requests", registry=self._registry
        )
        studies = Gauge("unpooled_compensator_studies", "Studies that are not over", registry=self._registry)
        studies.set_function(lambda: float(compensator.studies()))
        disk = Gauge(
            "unpooled_compensator_disk_bytes", "Disk of the state", ["kind"], registry=self._registry
        )
        for kind in ("total", "free"):
            disk.labels(kind).set_function(functools.partial(_disk, compensator, kind))

    def count(self, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(str(status)).inc()
        self._seconds.inc(seconds)

    def text(self) -> bytes:
        """Return all figures as they are now."""
        return generate_latest(self._registry)


def _disk(compensator: Compensator, kind: str) -> float:
    return float(getattr(shutil.disk_usage(compensator.directory), kind))
