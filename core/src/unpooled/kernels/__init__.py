"""Compiled loops over packed genotypes, and over tables. Each has a slow, clear twin in its test."""
