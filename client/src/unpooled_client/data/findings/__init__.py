"""Findings of checks: what, where, expected, remedy; as text, page and JSON."""
