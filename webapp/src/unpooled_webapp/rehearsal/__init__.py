"""A whole federation on this machine: every party a process of its own, talking over HTTP.

What `unpooled rehearse` and `unpooled demo` run, and what the benchmarks time.
"""

from unpooled_webapp.rehearsal.federation import Platform, Rehearsal, RehearsalError, Settings, rehearse

__all__ = ["Platform", "Rehearsal", "RehearsalError", "Settings", "rehearse"]
