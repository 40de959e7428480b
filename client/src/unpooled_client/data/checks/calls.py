"""Checks of calls: missing ones, and those on X beside the sexes, from variants spread evenly over the file.

A few hundred take a moment where reading the whole file may take minutes. They show a person whose sample
failed, a file that is nearly empty, roughly how many calls are missing, and samples that were mixed up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, Samples
from unpooled.errors import DataProblem
from unpooled.panel.builds import PSEUDO_AUTOSOMAL
from unpooled.panel.chromosomes import HUMAN
from unpooled.panel.panel import Panel
from unpooled_client.data.findings.report import EXAMPLES, Code, Report
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.plink.genotypes import Genotypes, stretches
from unpooled_client.data.plink.variants import Variants

FEWEST = 100
"""Variants looked at, below which nobody is judged by them."""
MANY, MOST = 0.05, 0.5
"""Shares of missing calls: many, and so many that it is told."""

FEWEST_OF_A_WOMAN = 30
"""Heterozygous calls to be expected of a woman, below which nobody is judged."""
LEAST_OF_A_WOMAN, MOST_OF_A_MAN = 0.2, 0.5
"""Limits of heterozygous calls, relative to those expected of a woman: a woman has more than the least, a man
less than the most.
"""

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


def check_sexes(
    fam: Fam, samples: Samples, variants: Variants, genotypes: Genotypes, autosomes: int, report: Report
) -> None:
    """Tell of men who have heterozygous calls on X as women have, and of women who have hardly any.

    A man has one X, so that no call there is heterozygous except in the regions that Y shares; a woman has
    about as many as the frequencies say. PLINK's --check-sex does the same with all variants.
    """
    if autosomes != HUMAN:
        return
    found, expected = _heterozygous(variants, genotypes)
    share = found / np.where(expected > 0, expected, 1)
    judged = samples.kept & (expected >= FEWEST_OF_A_WOMAN)
    sex = samples.sex
    wrong = judged & (
        ((sex == MALE) & (share >= MOST_OF_A_MAN)) | ((sex == FEMALE) & (share <= LEAST_OF_A_WOMAN))
    )
    rows = np.flatnonzero(wrong)
    if not len(rows):
        return
    who = [f"{fam.name(k)} ({'man' if sex[k] == MALE else 'woman'}, {share[k]:.0%})" for k in rows[:EXAMPLES]]
    report.warning(
        Code.SEX_DOUBTFUL,
        "the sex of a sample does not fit its genotypes on X",
        expected="of the heterozygous calls that a woman would have, a man has none and a woman about 100%",
        remedy="Was a sample mixed up? Look at all variants with `plink1.9 --check-sex`.",
        **fam.at(rows, fam.place[4], who),
    )


def _heterozygous(variants: Variants, genotypes: Genotypes) -> tuple[np.ndarray, np.ndarray]:
    """Count each sample's heterozygous calls on X, and those expected of a woman; float64 (n,) each."""
    starts, ends = zip(*PSEUDO_AUTOSOMAL.values(), strict=True)

    def on_x(panel: Panel) -> np.ndarray:
        at = panel.position
        return np.asarray((panel.chromosome == HUMAN + 1) & (at > max(starts)) & (at < min(ends)))

    rows = variants.sorted_rows(on_x)
    found, expected = np.zeros(genotypes.samples), np.zeros(genotypes.samples)
    try:
        for stretch in stretches(len(rows)):
            codes = codes_of(genotypes, rows[stretch])
            called, heterozygous = codes != MISSING, codes == HETEROZYGOUS
            copies = 2 * (codes == HOMOZYGOUS_A1).sum(axis=1) + heterozygous.sum(axis=1)
            frequency = copies / np.maximum(2 * called.sum(axis=1), 1)
            found += heterozygous.sum(axis=0)
            expected += (2 * frequency * (1 - frequency)) @ called
    except DataProblem:  # what is wrong with the file is told where all chromosomes are looked at
        return np.zeros(genotypes.samples), np.zeros(genotypes.samples)
    return found, expected
