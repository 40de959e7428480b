"""Check of the sexes in the .fam against the genotypes on X, from some of its variants.

A man has one X, so that no call there is heterozygous except in the regions that Y shares; a woman has about
as many heterozygous calls as the frequencies say. PLINK's --check-sex does the same with all variants.
"""

from __future__ import annotations

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, Samples
from unpooled.errors import DataProblem
from unpooled.panel.builds import PSEUDO_AUTOSOMAL
from unpooled.panel.chromosomes import HUMAN
from unpooled.panel.panel import Panel
from unpooled_client.data.checks.calls import HETEROZYGOUS, HOMOZYGOUS_A1, MISSING, codes_of
from unpooled_client.data.findings.report import EXAMPLES, Code, Report
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.plink.genotypes import Genotypes, stretches
from unpooled_client.data.plink.variants import Variants

FEWEST = 30
"""Heterozygous calls to be expected of a woman, below which nobody is judged."""
LEAST, MOST = 0.2, 0.5
"""Limits of heterozygous calls, relative to those expected of a woman: a woman has more than LEAST, a man
less than MOST.
"""


def check_sexes(
    fam: Fam, samples: Samples, variants: Variants, genotypes: Genotypes, autosomes: int, report: Report
) -> None:
    """Tell of men who have heterozygous calls on X as women have, and of women who have hardly any."""
    if autosomes != HUMAN:
        return
    found, expected = _heterozygous(variants, genotypes)
    share = found / np.where(expected > 0, expected, 1)
    judged = samples.kept & (expected >= FEWEST)
    sex = samples.sex
    wrong = judged & (((sex == MALE) & (share >= MOST)) | ((sex == FEMALE) & (share <= LEAST)))
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
