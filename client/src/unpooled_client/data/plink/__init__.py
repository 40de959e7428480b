"""Readers of PLINK's files: .bed, .bim and .fam, .pgen, .pvar and .psam."""
