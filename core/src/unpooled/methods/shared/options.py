"""Options of several methods for variants: dosages in place of calls, cohorts apart."""

from __future__ import annotations

from unpooled.plan.common_options import COVAR_VARIANCE_STANDARDIZE
from unpooled.plan.floors import QUANTITATIVE
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.options import Number, Place, Switch
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import CLUMPED, META

DOSAGE_FILES = ("glm", "ssf", META)
"""Result files that a regression on dosages can have."""

_OF_CALLS = ("assoc", "adjusted", "frq", "lmiss", "hwe", CLUMPED)
"""PLINK 1.9's files: of called genotypes."""

MOST_MACH_R2 = 2.0
"""Largest MaCH r2 that plink2 keeps unless told otherwise: genotypes that vary more are mistaken ones."""


def _dosages_problem(is_on: bool, plan: Plan) -> str:
    if not is_on:
        return ""
    if others := [file for file in plan.files if file in _OF_CALLS]:
        return (
            f"{', '.join(others)}: files of PLINK 1.9 are of called genotypes; choose from "
            f"{', '.join(DOSAGE_FILES)}, or leave dosages out"
        )
    return ""


# PLINK 1.9's reports are of calls, so a study of dosages has none of them.
DOSAGES = Switch(
    name="dosages",
    came_later=True,
    label="Imputed dosages",
    hint="Copies of an allele as they are imputed, such as 0.87, instead of called genotypes. A cohort with "
    "called genotypes counts whole copies. Not for PLINK 1.9's reports, which are of calls.",
    place=Place.MODEL,
    fact="copies as they are imputed, such as 0.87, instead of called genotypes; a cohort with calls counts "
    "whole copies",
    methods="Imputed dosages were analysed; genotypes that were called only counted as whole copies.",
    rule=_dosages_problem,
)

MACH_R2_FILTER = Number(
    name="mach_r2_filter",
    came_later=True,
    label="Least imputation quality (MaCH R²)",
    flag="--mach-r2-filter",
    hint=f"In the pool; above {MOST_MACH_R2:g} variants are left out, too.",
    default=0.0,
    least=0,
    most=MOST_MACH_R2,
    place=Place.FILTERS,
    needs=DOSAGES.name,
    fact=f"{{}}: variants below are left out, and above {MOST_MACH_R2:g}",
    keeps=f"an imputation quality (MaCH R²) from {{}} to {MOST_MACH_R2:g}",
    rule=lambda least, plan: "goes with imputed dosages" if least and not DOSAGES.of(plan) else "",
)

OF_DOSAGES = (DOSAGES, MACH_R2_FILTER)


def _rint_problem(is_on: bool, plan: Plan) -> str:
    if is_on and plan.trait != QUANTITATIVE:
        return "of phenotypes that are numbers only"
    if is_on and plan.masking != "modular":
        return "goes with modular masks only: normal noise would hide whether there are people in an interval"
    return ""


RINT = Switch(
    name="rint",
    came_later=True,
    label="Normal scores of the phenotype",
    hint="Rank-based inverse normal transformation: its ranks in the pool become normal, as by plink2 "
    "--pheno-quantile-normalize. Nobody finds ranks of single people: the values of some 20 who lie close "
    "count as equal.",
    place=Place.MODEL,
    meant_if=lambda plan: plan.trait == QUANTITATIVE,
    fact="its ranks in the pool become normal. They are found to bins of 20 people or more, at least 10 of "
    "them outside any one cohort; each person's score stays at the cohort",
    methods="The phenotype was replaced by the normal scores of its ranks in the pool (rank-based inverse "
    "normal transformation); close values, those of some 20 people or more, counted as equal.",
    rule=_rint_problem,
)

FAR = 5
"""Deviations that no variant is away by chance, of a million or so."""


def _frequencies_problem(is_on: bool, plan: Plan) -> str:
    if is_on and plan.masking != "modular":
        return "goes with modular masks only: normal noise would be larger than the number"
    return ""


FREQUENCY_FLAGS = Switch(
    name="frequency_flags",
    came_later=True,
    label="Count frequencies far from the pool's",
    hint="Each cohort compares its allele frequencies with the pool's. How often they differ by more than "
    f"{FAR} standard deviations is summed over cohorts and variants: one number, near 0 where all have "
    "people of one population, on the same strand.",
    place=Place.FILTERS,
    fact="each cohort compares its allele frequencies on the autosomes with the pool's, and how often they "
    f"differ by more than {FAR} standard deviations is summed; no cohort's own number is shown, but one of "
    "three that subtracts its own knows that of the two others together",
    methods="Allele frequencies of each cohort were compared with the pool's, and differences beyond "
    f"{FAR} standard deviations were counted over all cohorts together.",
    rule=_frequencies_problem,
)

FEWEST_APART = 4
"""Cohorts, at the least. From the results follows the sum of n p^2 over the cohorts, for n people and
frequency p of an allele: with it one of three cohorts could work out the frequencies of both others."""


def _apart_problem(is_on: bool, plan: Plan) -> str:
    if not is_on:
        return ""
    if plan.masking != "modular":
        return "goes with modular masks only: normal noise would hide whether a variant varies in a cohort"
    if not terms_of(plan).is_plain:
        return "goes with the additive model without interactions"
    if COVAR_VARIANCE_STANDARDIZE.of(plan):
        return (
            "the pool's variance of a covariate is not known where cohorts are apart: leave out "
            f"{COVAR_VARIANCE_STANDARDIZE.flag}"
        )
    return ""


# Frisch and Waugh: about the cohorts' own means, the estimates are those with an indicator of each cohort.
COHORTS_APART = Switch(
    name="cohorts_apart",
    came_later=True,
    label="Cohorts apart",
    hint="As with an indicator of each cohort among the covariates: cohorts are not compared with one "
    "another. Each subtracts its own means, or in a logistic regression fits its own intercept, so that no "
    f"sum is one cohort's. From {FEWEST_APART} cohorts on.",
    place=Place.MODEL,
    fact="as with an indicator of each cohort among the covariates. No sum is one cohort's; but how far "
    "allele frequencies differ between cohorts follows from the results, and with few cohorts of known size "
    "that leaves few possibilities for the allele counts of each. With variants on X or Y the server and the "
    "cohorts learn sums by sex: by the exact rule for missing calls, of a person who alone is of another sex "
    "than the rest, that person's values about a cohort's means. Of a logistic regression the server and the "
    "cohorts are told the sums of each step: without covariates, or for an allele that few people carry, "
    "assume that the genotype counts of each cohort's cases and controls can be worked out",
    methods="Cohorts were kept apart, as by an indicator of each among the covariates.",
    rule=_apart_problem,
)


def is_apart(plan: Plan) -> bool:
    """Tell whether each cohort is centred on its own means."""
    return bool(COHORTS_APART.of(plan))
