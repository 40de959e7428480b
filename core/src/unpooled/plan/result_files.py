"""Names that a plan has for the result files which several methods write, or other parties read back."""

from __future__ import annotations

FILES = ("assoc", "frq", "lmiss", "hwe")

PARAMETERS_FILE, QUANTILES_FILE, SUMMARY_FILES = "parameters", "quantiles", ("summary", "page")

ENCODING_FILE = "encoding"

MODEL_FILE, SUMS_FILE = "model", "sums"
"""Files that a study of tables writes. With parameters each cohort also writes its own table, normalized;
with an encoding, encoded.
"""

SCORE_FILE = "score"
"""Weights of variants. With it each cohort also writes the scores of its own people."""

EIGENVAL_FILE, LOADINGS_FILE, COUNTS_FILE = "eigenval", "eigenvec.allele", "acount"

ERRORS_FILE = f"{EIGENVAL_FILE}.error"

DENSITY_FILE = "density"
"""Principal components. With the loadings each cohort also writes its own people's, `.eigenvec`; with the
density, too, a picture of them."""

CLUMPED, SUSIE, META, SPA = "clumped", "susie", "meta", "spa"
"""Files of clumps, of credible sets, of heterogeneity and of the saddlepoint test, which are asked for like
any other."""
