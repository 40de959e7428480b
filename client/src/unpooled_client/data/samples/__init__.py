"""Values of samples: phenotypes, covariates, and who is kept."""
