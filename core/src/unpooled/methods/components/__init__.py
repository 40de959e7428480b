"""Principal components of the pool, by block Krylov from sums of products with the genotypes."""
