"""What every plan says of the people of each cohort, unless its author says otherwise."""

from __future__ import annotations

MIN_SAMPLES = 50
MIN_PER_CLASS = 10
"""Of cases, and of controls."""
TRAITS = CASE_CONTROL, QUANTITATIVE = ("case/control", "quantitative")
"""What a phenotype can be."""
