"""The genome build that positions belong to, as far as the ends of the chromosomes tell.

A position beyond the end of its chromosome in a build is not of that build. Files that reach the ends, as
those from a chip or imputation do, tell GRCh37 and GRCh38 apart in this way: chromosome 9 is 2.8 Mb shorter
in the latter, chromosome 17 2.1 Mb longer. Lengths are those of the assemblies' primary chromosomes, in
bases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from unpooled.panel.chromosomes import HUMAN

# 1 to 22, X, Y.
ENDS = {
    "GRCh37": (249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022,
               141213431, 135534747, 135006516, 133851895, 115169878, 107349540, 102531392, 90354753,
               81195210, 78077248, 59128983, 63025520, 48129895, 51304566, 155270560, 59373566),
    "GRCh38": (248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636,
               138394717, 133797422, 135086622, 133275309, 114364328, 107043718, 101991189, 90338345,
               83257441, 80373285, 58617616, 64444167, 46709983, 50818468, 156040895, 57227415),
}  # fmt: skip

# The regions of X that Y shares: PAR1 up to the first base of the pair, PAR2 from the second on.
PSEUDO_AUTOSOMAL = {"GRCh37": (2_699_520, 154_931_044), "GRCh38": (2_781_479, 155_701_383)}

_NAMES = {"GRCh37": re.compile("37|hg19"), "GRCh38": re.compile("38")}


def known_build(name: str) -> str | None:
    """GRCh37 or GRCh38, by any of their names (hg19, b37, hg38 …); None for another."""
    return next((build for build, names in _NAMES.items() if names.search(name)), None)


def beyond(chromosome: np.ndarray, position: np.ndarray, build: str) -> np.ndarray:
    """Mark the positions beyond the end of their chromosome: bool (m,). Those on XY, MT and unplaced never
    are.
    """
    ends = np.full(256, np.iinfo(np.int32).max, np.int32)
    ends[1 : HUMAN + 3] = ENDS[build]
    return np.asarray(position > ends[chromosome])


def guessed(is_beyond: Mapping[str, object]) -> str | None:
    """The one build of which no position is beyond the end; None if that holds for both, or for neither.

    `is_beyond`: by build, true if any is.
    """
    fit = [build for build, any_is in is_beyond.items() if not any_is]
    return fit[0] if len(fit) == 1 else None


def pseudo_autosomal(chromosome: np.ndarray, position: np.ndarray, build: str) -> np.ndarray:
    """Mark the variants of X that lie where men have two copies, as on an autosome: bool (m,)."""
    first, last = PSEUDO_AUTOSOMAL[build]
    return np.asarray((chromosome == HUMAN + 1) & ((position <= first) | (position >= last)))
