"""How long tests wait: one bound for whatever has to happen, since how long it takes is no test's business."""

PATIENCE = 120.0
"""Seconds that a busy machine may take over anything; who waits longer waits in vain. A fifth of what one test
has (pyproject.toml), so that what failed is told by the one that waited."""
