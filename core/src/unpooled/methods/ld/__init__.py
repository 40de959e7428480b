"""Linkage disequilibrium of the pool, from sums of products of two variants' genotypes."""
