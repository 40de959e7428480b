"""This cohort against the pool, computed here after a study. Nothing of it is sent."""
