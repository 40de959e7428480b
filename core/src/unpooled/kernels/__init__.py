"""Compiled loops over packed genotypes. Each has a slow, clear twin in its test."""
