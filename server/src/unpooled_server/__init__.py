"""The aggregator: studies, rounds and shares. It sees masked vectors and sums, never one cohort's numbers."""
