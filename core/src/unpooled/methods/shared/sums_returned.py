"""Why sums may be told to cohorts that run a study's procedure themselves.

A cohort subtracts its own numbers from a sum, and sees those of all others together. Each method says of each
kind of questions whose sums its cohorts are told why they may be; the sums of other kinds only make rows.
"""

from __future__ import annotations

COUNTS = "counts, by which floors are decided"
BITS = "bits are told, and nobody reads the sums"
RESULTS = "what is told is in the results"
AS_ASKED = "as the plan asks for: these sums tell single people's values, to the server as well"
VALUES = "of at least two other cohorts, with ten values or more each"
FLOORS = "without any one cohort as many people are left as floors ask for, in each fold"
GRADIENTS = (
    "of as many people as the plan asks for; of a unit that is active for one person alone a sum tells that "
    "person's row, as it tells the server"
)
