"""The variants that cohorts agree on: their alleles, builds, names by place, and lists."""
