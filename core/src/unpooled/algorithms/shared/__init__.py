"""What several methods do alike: chunks, groups, counts of genotypes, filters, codings."""
