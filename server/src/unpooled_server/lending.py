"""Connections to the database are fewer than threads: who waits for somebody else gives its own back."""

from __future__ import annotations

from django.db import connection


def give_back_connection() -> None:
    """Let others have this thread's connection until it asks the next question."""
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
