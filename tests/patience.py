"""How long tests wait: one bound for whatever has to happen; how long it takes is no test's business."""

PATIENCE = 120.0
"""Seconds that a busy machine may take over anything; who waits longer waits in vain. A fifth of what a test
has (pyproject.toml), so that the one that waited tells what failed."""
