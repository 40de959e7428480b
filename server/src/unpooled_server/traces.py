"""Traces by OpenTelemetry: spans of requests and of a study's steps, where an address for them is set.

A span says what the program does, how long it takes, and the numbers of request, study, cohort and round:
nothing that anybody sent, or is called. Without an address nothing of the library is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import TYPE_CHECKING

from celery import current_task
from django.conf import settings
from structlog.contextvars import bound_contextvars, get_contextvars

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

PATIENCE = 3
"""Seconds for an address that does not answer; a process that ends waits for it, too."""
PARENT = "traceparent"
"""Header of a task with the span that rang for it, as W3C Trace Context spells it."""
_NUMBERS = ("request", "study", "cohort", "round")
_tracer: Tracer | None = None


def begin() -> None:
    """Trace from now on, if an address is set; SystemExit if the library is not there.

    The exporter reads the address, and headers that it may want, from OpenTelemetry's own variables.
    """
    global _tracer
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SystemExit("OTEL_EXPORTER_OTLP_ENDPOINT: install opentelemetry-sdk, or unset it") from None
    name = os.environ.get("OTEL_SERVICE_NAME") or "unpooled"
    service = {"service.name": name, "service.version": version("unpooled-server")}
    provider = TracerProvider(resource=Resource.create(service))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=PATIENCE)))
    # Not the one of the whole process: libraries would tell what they send, queries too.
    _tracer = provider.get_tracer("unpooled")


def start(name: str, kind: str, parent: Context | None = None) -> Span | None:
    """Start a span, below the current one unless told otherwise; None where there are no traces."""
    if _tracer is None:
        return None
    from opentelemetry.trace import SpanKind

    return _tracer.start_span(name, parent, SpanKind[kind])


def current(span: Span | None) -> AbstractContextManager[object]:
    """Have whatever starts within be below this span."""
    if span is None:
        return nullcontext()
    from opentelemetry.trace import use_span

    return use_span(span, record_exception=False, set_status_on_exception=False)


def end(span: Span | None, error: str = "") -> None:
    """End it, with the numbers that the log has now and the kind of an error, never its message."""
    if span is None:
        return
    known = get_contextvars()
    span.set_attributes({f"unpooled.{name}": str(known[name]) for name in _NUMBERS if name in known})
    if error:
        from opentelemetry.trace import StatusCode

        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR)
    span.end()


@contextmanager
def timed(name: str, kind: str = "INTERNAL", parent: Context | None = None) -> Iterator[None]:
    """Do what is within as one span."""
    span = start(name, kind, parent)
    try:
        with current(span):
            yield
    except Exception as error:
        end(span, type(error).__name__)
        raise
    end(span)


@contextmanager
def step(name: str, **numbers: object) -> Iterator[None]:
    """Do a step of a worker's: its lines of the log have these numbers, and so has its span."""
    with bound_contextvars(**numbers), timed(name, "CONSUMER", _rang()):
        yield


def headers() -> dict[str, str]:
    """Return what a task is told of the current span."""
    found: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(found)
    return found


def _rang() -> Context | None:
    """Return the span that rang for the task at work here, if there is one."""
    said = current_task.request.get(PARENT) if _tracer is not None and current_task else None
    if said is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({PARENT: said})
