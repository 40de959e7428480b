"""Whole-genome regression: each person's phenotype predicted from all chromosomes but one.

Ridge regressions on blocks of variants are stacked by a second ridge regression (Mbatchou and others, Nature
Genetics 53 (2021): regenie). The prediction without a variant's chromosome is a covariate of its regression.
"""
