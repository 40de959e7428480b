"""Check of missing genotypes, from a few hundred variants spread evenly over the file.

That takes a moment where reading the whole file may take minutes, and shows a person whose sample failed, a
file that is nearly empty, and roughly how many calls are missing in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.asking.cohort import Samples
from unpooled.errors import DataProblem
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.plink.genotypes import Genotypes, stretches
from unpooled_client.data.plink.variants import Variants

FEWEST = 100
"""Variants looked at, below which nobody is judged by them."""
MANY, MOST = 0.05, 0.5
"""Shares of missing calls: many, and so many that it is told."""

_LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1, 1.0)

HOMOZYGOUS_A1, MISSING, HETEROZYGOUS = 0, 1, 2
# The codes of the four calls in each byte, the lowest bits first.
_CODES = (np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3).astype(np.uint8)


def look_at_calls(
    fam: Fam, samples: Samples, variants: Variants, genotypes: Genotypes, autosomes: int, report: Report
) -> dict[str, Any]:
    """Count missing calls of some autosomal variants, and tell of people who have hardly any call."""
    rows = variants.sorted_rows(lambda panel: (panel.chromosome >= 1) & (panel.chromosome <= autosomes))
    people, per_variant = np.zeros(genotypes.samples, np.int64), []
    try:
        for stretch in stretches(len(rows)):
            missing = codes_of(genotypes, rows[stretch]) == MISSING
            # Of all people in the file: whoever is left out is not counted, only passed over below.
            people += missing.sum(axis=0)
            per_variant.append(missing[:, samples.kept].sum(axis=1))
    except DataProblem as problem:
        report.error(
            Code.FILE_UNREADABLE, str(problem), file=genotypes.path, remedy=problem.remedy or "Copy it again."
        )
        return {}
    looked = sum(map(len, per_variant))
    if not looked or not samples.kept.any():
        return {}
    of_people, of_variants = people / looked, np.concatenate(per_variant) / np.count_nonzero(samples.kept)
    if looked >= FEWEST:
        _tell(fam, samples.kept & (of_people > MOST), looked, report)
    return {
        "variants looked at": looked,
        "missing": f"{of_variants.mean():.2%}",
        f"people who lack over {MANY:.0%}": int(np.count_nonzero(of_people[samples.kept] > MANY)),
        f"variants that lack over {MANY:.0%}": int(np.count_nonzero(of_variants > MANY)),
        "people by share missing": _by_share(of_people[samples.kept]),
    }


def codes_of(genotypes: Genotypes, rows: np.ndarray) -> np.ndarray:
    """The calls of some rows: uint8 (rows, samples), 3 for two copies of A2."""
    return np.asarray(
        _CODES[genotypes.words(rows).view(np.uint8)].reshape(len(rows), -1)[:, : genotypes.samples]
    )


def _tell(fam: Fam, lacking: np.ndarray, looked: int, report: Report) -> None:
    if lacking.any():
        report.warning(
            Code.CALLS_MISSING,
            f"a person lacks more than {MOST:.0%} of the calls of {looked} variants looked at",
            remedy="Leave out people whose genotyping failed, with --remove FILE or `plink1.9 --mind 0.1`.",
            **fam.at(np.flatnonzero(lacking)),
        )


def _by_share(of_people: np.ndarray) -> dict[str, int]:
    """Return a histogram of people by share of missing calls."""
    kind = np.searchsorted(_LIMITS, of_people)
    names = ["none", *(f"to {limit:.0%}" for limit in _LIMITS[1:])]
    return {name: int(np.count_nonzero(kind == k)) for k, name in enumerate(names)}
