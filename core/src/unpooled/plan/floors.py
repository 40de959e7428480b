"""Minimum numbers of people in each cohort, which a plan has unless its author sets others; and bounds."""

from __future__ import annotations

MIN_SAMPLES = 50
MIN_PER_CLASS = 10
"""Minimum number of cases, and of controls."""
MOST_COHORTS, MOST_IN_CHUNK = 1000, 1_000_000
MOST_PEOPLE = 1_000_000_000
"""The most that a plan can demand of a cohort: more than a study could ever have."""
TRAITS = CASE_CONTROL, QUANTITATIVE = ("case/control", "quantitative")
"""Kinds of phenotype."""
