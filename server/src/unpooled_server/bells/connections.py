"""There are fewer database connections than threads: a thread that waits for others returns its own."""

from __future__ import annotations

from django.db import connection


def give_back_connection() -> None:
    """Let others have this thread's connection until it asks the next question."""
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
