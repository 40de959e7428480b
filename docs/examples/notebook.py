"""A study in a notebook: cohorts whose files pandas-plink reads, and the strongest hits of their pool."""

import sys

import numpy as np
from pandas_plink import read_plink1_bin

from unpooled.notebook import Cohort
from unpooled.panel.agreement import reconcile
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run

cohorts = {}
for prefix in sys.argv[1:]:
    genotypes = read_plink1_bin(f"{prefix}.bed", verbose=False)
    codes = genotypes.trait.values.astype(float)  # PLINK's: 1 is a control, 2 a case, all else missing
    phenotype = np.select([codes == 1, codes == 2], [0.0, 1.0], np.nan)
    cohorts[prefix] = Cohort.from_xarray(genotypes, phenotype)

panel = reconcile({name: cohort.panel for name, cohort in cohorts.items()}).panel
plan = Plan("chi-square", "phenotype", len(cohorts), NO_KEY)
pooled = run(plan, panel, [cohort.align(panel) for cohort in cohorts.values()])["variants"]

for k in np.argsort(-pooled["neg_log10_p"])[:5]:
    name, p = panel.name[pooled["variant"][k]].decode(), 10 ** -pooled["neg_log10_p"][k]
    print(f"{name}\t{p:.4g}")
