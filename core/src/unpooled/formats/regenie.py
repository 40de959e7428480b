"""regenie's report of tests of sets of variants, step 2: a line for each set and test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from unpooled.asking.question import Arrays

Set = tuple[str, int, str, str]

HEADER = "CHROM GENPOS ID ALLELE0 ALLELE1 A1FREQ N TEST BETA SE CHISQ LOG10P EXTRA"


def write_regenie(
    file: BinaryIO, sets: Sequence[Set], tests: Sequence[str], rows: Arrays, extra: list[str]
) -> None:
    """Write the `tests` of sets; of each chromosome, position, name and mask, by `index`; `extra` is of each
    row.

    As in regenie, ALLELE1 is the mask, BETA and SE are the burden's only, and CHISQ of the others is the
    chi-square with one degree of freedom of their P.
    """
    file.write(f"{HEADER}\n".encode())
    for line in _lines(sets, tests, rows, extra):
        file.write(f"{line}\n".encode())


def _lines(sets: Sequence[Set], tests: Sequence[str], rows: Arrays, extra: list[str]) -> Iterator[str]:
    p = rows["neg_log10_p"][:]
    chi_square = chi_square_of(p)
    columns = (rows[name][:].tolist() for name in ("index", "n", "a1_freq", "beta", "se"))
    for k, (index, n, frequency, beta, se) in enumerate(zip(*columns, strict=True)):
        chromosome, position, name, mask = sets[index]
        about = f"{chromosome} {position} {name} ref {mask} {_number(frequency)} {n or 'NA'}"
        for j, test in enumerate(tests):
            effect = "NA NA" if j else f"{_number(beta)} {_number(se)}"
            yield f"{about} {test} {effect} {_number(chi_square[k, j])} {_number(p[k, j])} {extra[k]}"


def _number(value: float) -> str:
    return "NA" if value != value else f"{value:.6g}"


def chi_square_of(neg_log10_p: np.ndarray) -> np.ndarray:
    """The chi-square with one degree of freedom of these P: float64, NaN of NaN."""
    from scipy.special import ndtri_exp

    return np.asarray(ndtri_exp(-np.log(10) * neg_log10_p - np.log(2)) ** 2)
