"""Settings of all logs: Django's own lines, gunicorn's and Celery's look alike."""

from __future__ import annotations

from typing import Any

import structlog

from unpooled_webapp import environment

_OF_AN_ANSWER = ("method", "path", "status", "bytes", "ms", "user")


def from_environment() -> dict[str, Any]:
    """Return the settings for `logging.config`: lines for people, or a JSON object on each line."""
    is_json = environment.choice("UNPOOLED_LOG", ("text", "json")) == "json"
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    known = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.ExtraAdder(allow=_OF_AN_ANSWER),  # others hold whole requests
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        stamp,
    ]
    # Neither shows the values of variables in a traceback: there are secrets among them.
    shown = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if is_json
        else [
            structlog.dev.ConsoleRenderer(
                colors=False,
                sort_keys=False,
                pad_event_to=0,
                pad_level=False,
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": known,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shown],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "httpx": {"level": "WARNING"},
            "opentelemetry": {"level": "ERROR"},  # it warns at each try of an address that does not answer
            "django.request": {"level": "ERROR"},
            # gunicorn gives it a handler of its own.
            "gunicorn.error": {"handlers": [], "propagate": True},
        },
    }
