"""Men's and women's results of each variant in one table, and whether their effects differ.

python by_sex.py men.height.glm.linear women.height.glm.linear > by-sex.tsv
"""

import csv
import math
import sys
from pathlib import Path

from scipy.stats import norm


def of_variants(path: str) -> dict[str, dict[str, str]]:
    """The lines about the variants themselves, by ID."""
    with Path(path).open(encoding="utf-8") as file:
        return {line["ID"]: line for line in csv.DictReader(file, delimiter="\t") if line["TEST"] == "ADD"}


def estimate(line: dict[str, str], a1: str) -> tuple[float, float]:
    """Effect per copy of an allele, for cases and controls in log odds, and its error; NaN without one."""
    error = line["LOG(OR)_SE"] if "OR" in line else line["SE"]
    if error == "NA":
        return math.nan, math.nan
    effect = math.log(float(line["OR"])) if "OR" in line else float(line["BETA"])
    return effect if line["A1"] == a1 else -effect, float(error)


men, women = map(of_variants, sys.argv[1:3])
print("ID", "A1", "BETA_M", "SE_M", "P_M", "BETA_F", "SE_F", "P_F", "Z_DIFF", "P_DIFF", sep="\t")
for name, of_men in men.items():
    of_women = women.get(name)
    if of_women is None or {of_men["REF"], of_men["ALT"]} != {of_women["REF"], of_women["ALT"]}:
        continue  # which allele the other study has counted cannot be told
    a1 = of_men["A1"]
    (b_m, se_m), (b_f, se_f) = estimate(of_men, a1), estimate(of_women, a1)
    z = (b_m - b_f) / math.hypot(se_m, se_f)
    numbers = [f"{number:.6g}" for number in (b_m, se_m, b_f, se_f, z, 2 * norm.sf(abs(z)))]
    print(name, a1, *numbers[:2], of_men["P"], *numbers[2:4], of_women["P"], *numbers[4:], sep="\t")
