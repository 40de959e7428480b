"""Checks of a cohort's data before a study, offline."""
