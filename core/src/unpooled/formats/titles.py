"""Titles of the report columns that are read back, for the code that writes them and that reads them."""

from __future__ import annotations

from typing import NamedTuple


class Title(NamedTuple):
    """A quantity's title by PLINK 1.9, and by plink2; empty where no report of theirs has it."""

    plink: str
    plink2: str


def percent(level: float) -> int:
    """Return a level in per cent, cut off as PLINK does it."""
    return int(level * 100 + 1e-9)  # 0.29 times 100 is a trifle below 29


def of_limits(level: float) -> tuple[str, str]:
    """Titles of the lower and the upper limit at `level`."""
    return f"L{percent(level)}", f"U{percent(level)}"


CHROMOSOME = Title("CHR", "CHROM")
POSITION = Title("BP", "POS")
NAME = Title("SNP", "ID")
A1 = Title("A1", "A1")
A2 = Title("A2", "REF")
OTHER_ALLELE = Title("A2", "AX")
FREQUENCY = Title("MAF", "A1_FREQ")
ALLELES = Title("NCHROBS", "ALLELE_CT")
TEST = Title("TEST", "TEST")
PEOPLE = Title("NMISS", "OBS_CT")
ODDS_RATIO = Title("OR", "OR")
BETA = Title("BETA", "BETA")
SE = Title("SE", "SE")
SE_OF_LOG_ODDS = Title("SE", "LOG(OR)_SE")
CHI_SQUARE = Title("CHISQ", "")
T = Title("STAT", "T_STAT")
Z = Title("STAT", "Z_STAT")
T_OR_F = Title("STAT", "T_OR_F_STAT")
Z_OR_F = Title("STAT", "Z_OR_F_STAT")
P = Title("P", "P")

STUDIES = Title("N", "")
RANDOM_P = Title("P(R)", "")
RANDOM_ODDS_RATIO = Title("OR(R)", "")
RANDOM_BETA = Title("BETA(R)", "")
RANDOM_SE = Title("SE(R)", "")
Q_P = Title("Q", "")
I_SQUARED = Title("I", "")
"""Titles from `STUDIES` on are those of a meta-analysis."""
