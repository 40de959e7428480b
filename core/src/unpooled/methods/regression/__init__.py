"""Linear and logistic regression of a phenotype on each variant: `linear.py`, `logistic.py`."""
