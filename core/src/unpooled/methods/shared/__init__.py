"""Parts that several methods share: chunks, groups, counts of genotypes, filters, codings."""
