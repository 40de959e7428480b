"""Connections to the database: fewer than threads, and not always there."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError, connection

AWAY = (OperationalError, InterfaceError)
"""What is raised while the database does not answer."""


def first_line(error: Exception) -> str:
    """What a database's driver says, which is often a page, for a line of a log."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


def give_back_connection() -> None:
    """Let others have this thread's connection until it asks the next question."""
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
