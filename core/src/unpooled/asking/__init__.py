"""Questions and procedures: how a study asks cohorts for sums, and goes on from them."""
