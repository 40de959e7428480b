"""Recombination along a genome, from genetic maps as HapMap and the 1000 Genomes Project give them away.

A line has chromosome, position, rate in cM/Mb and place in cM; or the last three, and then the file's name
tells the chromosome, as in `genetic_map_chr7_combined_b37.txt`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unpooled.errors import DataProblem
from unpooled.formats.genes import chromosome_of, lines_of

Rates = dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]]
"""Recombination rates by chromosome: positions, rising, and the rate in cM/Mb from each to the next."""

HIGHEST = 10_000.0
"""cM/Mb; in people's genomes hot spots have some hundred."""

_LAST = (1 << 31) - 1
_IN_NAME = re.compile(r"chr_?([0-9]{1,2}|X|Y)(?![0-9A-Za-z])", re.IGNORECASE)
_WANT = "want chromosome, position, cM/Mb and cM, or the last three in a file whose name tells the chromosome"
_REMEDY = "Give genetic maps as HapMap or the 1000 Genomes Project give them away, compressed or not."


def read_genetic_maps(paths: Sequence[Path]) -> Rates:
    """The rates of one or more files. DataProblem names file, line and remedy."""
    found: dict[str, list[tuple[int, float]]] = {}
    for path in paths:
        for number, line in lines_of(path):
            words = line.split()
            if not words or (number == 1 and _is_header(words)):
                continue
            chromosome, position, rate = _row(path, number, words)
            rows = found.setdefault(chromosome, [])
            if rows and position <= rows[-1][0]:
                raise DataProblem(
                    f"position {position} comes after {rows[-1][0]}; want rising positions",
                    file=path, line=number, remedy=_REMEDY,
                )  # fmt: skip
            rows.append((position, rate))
    if not found:
        raise DataProblem("no line tells of a rate", file=paths[0], remedy=_REMEDY)
    return {
        name: (np.array([row[0] for row in rows], np.int32), np.array([row[1] for row in rows], np.float32))
        for name, rows in found.items()
    }


def _is_header(words: Sequence[str]) -> bool:
    return not any(word.isdecimal() for word in words)


def _row(path: Path, number: int, words: Sequence[str]) -> tuple[str, int, float]:
    in_name = _IN_NAME.search(path.name)
    chromosome = chromosome_of(words[0] if len(words) == 4 else in_name[1] if in_name else "")
    if len(words) not in (3, 4) or chromosome is None:
        raise DataProblem(f"got {' '.join(words)[:60]!r}; {_WANT}", file=path, line=number, remedy=_REMEDY)
    position, rate = words[-3], words[-2]
    if not (position.isascii() and position.isdecimal()) or len(position) > 10 or int(position) > _LAST:
        raise DataProblem(f"got {position[:20]!r} as a position", file=path, line=number, remedy=_REMEDY)
    try:
        value = float(rate)
    except ValueError:
        value = math.nan
    if not 0 <= value <= HIGHEST:
        raise DataProblem(
            f"got {rate[:20]!r} as a rate; want cM/Mb from 0 to {HIGHEST:,.0f}",
            file=path,
            line=number,
            remedy=_REMEDY,
        )
    return chromosome, int(position), value
