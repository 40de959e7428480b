"""Minimum numbers of people in each cohort, which a plan has unless its author sets others."""

from __future__ import annotations

MIN_SAMPLES = 50
MIN_PER_CLASS = 10
"""Minimum number of cases, and of controls."""
TRAITS = CASE_CONTROL, QUANTITATIVE = ("case/control", "quantitative")
"""Kinds of phenotype."""
