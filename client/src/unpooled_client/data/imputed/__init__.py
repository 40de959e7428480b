"""Readers of imputed data, VCF and BGEN, of which a copy in PLINK 2's format is made."""
