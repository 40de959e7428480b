"""What variants are called in a study that matches them by place: such as 1:12345:A:G."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from unpooled.chromosomes import chromosome_name

LONG_ALLELE = 20


def by_their_places(
    chromosome: np.ndarray,
    position: np.ndarray,
    alleles: Sequence[bytes],
    pair: tuple[np.ndarray, np.ndarray],
    autosomes: int,
) -> np.ndarray:
    """The names of m variants, dtype S: chromosome, position and both alleles in alphabetical order.

    `alleles` are sorted, and `pair` are places among them. Of an allele longer than LONG_ALLELE the digest
    stands there, so that one of them does not make all names wide. A chromosome beyond all others is empty.
    """
    short = [_short(allele) for allele in alleles]
    names = [b"0", *(chromosome_name(code, autosomes).encode() for code in range(1, autosomes + 5))]
    names += [b""] * (256 - len(names))
    columns = (chromosome, position, np.minimum(*pair), np.maximum(*pair))
    return np.array(
        [
            b"%b:%d:%b:%b" % (names[code], at, short[low], short[high])
            for code, at, low, high in zip(*(column.tolist() for column in columns), strict=True)
        ],
        np.bytes_,
    )


def _short(allele: bytes) -> bytes:
    return allele if len(allele) <= LONG_ALLELE else hashlib.sha256(allele).hexdigest()[:LONG_ALLELE].encode()
