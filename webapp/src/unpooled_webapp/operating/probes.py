"""`/live`, `/ready` and `/metrics`, which orchestrators and monitors ask by whatever host name they know."""

from __future__ import annotations

import functools
import hmac
import time
from collections.abc import Callable

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from unpooled.errors import UnpooledError
from unpooled_server.cohort_api.held import HELD
from unpooled_server.compensator_client import compensator
from unpooled_server.errors import DATABASE_AWAY, StoreAway
from unpooled_server.services import keeping, sweeping
from unpooled_webapp import installation
from unpooled_webapp.middleware import come_again

OK = "ok"
LEAST_FREE = 1 << 30
"""Bytes of disk below which no new share may find a place."""
_PATIENCE = 2
"""Seconds for a broker to answer."""
_ASK_AGAIN = 30.0
"""Seconds for which the compensator's last answer counts: anybody may ask whether the platform is ready."""


class NotReady(UnpooledError):
    """Something that the platform needs in order to work is missing."""


def live(request: HttpRequest) -> HttpResponseBase:
    """Tell that the process answers."""
    return JsonResponse({"status": OK})


def ready(request: HttpRequest) -> HttpResponseBase:
    """Tell whether all that the platform needs is there; 503 and what is missing where it is not."""
    found = outcomes()
    is_ready = set(found.values()) == {OK}
    response = JsonResponse({"status": OK if is_ready else "not ready", "checks": found})
    response.status_code = 200 if is_ready else 503
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django's own mark: monitors ask often
    return response


def outcomes() -> dict[str, str]:
    """Return what each check finds missing, or that all is well."""
    return {name: _outcome(check) for name, check in CHECKS.items()}


def is_ok(name: str) -> bool:
    """Tell whether the check of this name finds nothing missing."""
    return _outcome(CHECKS[name]) == OK


def metrics(request: HttpRequest) -> HttpResponseBase:
    """Give the platform's figures to whoever has the secret; without a secret there are none."""
    wanted = f"Bearer {settings.UNPOOLED_METRICS_SECRET}"
    if not settings.UNPOOLED_METRICS_SECRET:
        return HttpResponse(status=404)
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), wanted.encode()):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    from unpooled_webapp.operating import figures  # its library is loaded where somebody asks

    checks = {name: said == OK for name, said in outcomes().items()}
    try:
        content = figures.text(checks, request.META.get(HELD))
    except (*DATABASE_AWAY, StoreAway) as error:
        return come_again(request, error)
    return HttpResponse(content, content_type=figures.CONTENT_TYPE)


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except UnpooledError as error:
        return str(error)
    except Exception as error:  # whatever a driver or the system raises; its words may hold an address
        return type(error).__name__
    return OK


def _database() -> None:
    try:
        installation.require_own_home()
    except installation.OtherHome:
        raise NotReady("the database belongs to another home folder") from None
    except StoreAway:
        connection.ensure_connection()


def _store() -> None:
    try:
        keeping.marker()
    except StoreAway as error:
        raise NotReady(str(error.strerror)) from None


@functools.cache  # of a success: nobody takes a migration back while the platform runs
def _migrations() -> None:
    executor = MigrationExecutor(connection)
    if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady(f"{len(plan)} migrations are pending: run `unpooled manage migrate`")


def _broker() -> None:
    if not settings.UNPOOLED_BROKER_URL:
        return
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=_PATIENCE)
    except Exception as error:  # whatever the broker's library raises
        raise NotReady(f"it does not answer ({type(error).__name__})") from None


def _sweep() -> None:
    age = sweeping.age()
    if age is None:
        raise NotReady("no worker has swept yet: start one")
    if age > 4 * sweeping.INTERVAL:
        raise NotReady(f"no worker has swept for {age:.0f} s")


def _disk() -> None:
    if keeping.disk()[1] < LEAST_FREE:
        raise NotReady(f"less than {LEAST_FREE >> 30} GiB are free")


def _compensator() -> None:
    if settings.UNPOOLED_COMPENSATOR_URL and (said := _of_compensator(int(time.monotonic() / _ASK_AGAIN))):
        raise NotReady(said)


@functools.lru_cache(1)
def _of_compensator(interval: int) -> str:
    """Say why there is no answer in this interval of time; empty if there is one."""
    try:
        compensator().key()
    except UnpooledError as error:
        return f"it does not answer ({type(error).__name__})"
    return ""


_ALL = (_database, _store, _migrations, _broker, _sweep, _disk, _compensator)
CHECKS = {check.__name__.strip("_"): check for check in _ALL}
_ANSWERS = {"/live": live, "/ready": ready, "/metrics": metrics}


class Probes:
    """Middleware that answers before anything else can refuse the host, or want the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = _ANSWERS.get(request.path) if request.method == "GET" else None
        return (answer or self.get_response)(request)
