"""The options that came with the first release: every plan knows their defaults."""

from __future__ import annotations

from unpooled import glm_columns
from unpooled.options import (
    Answer,
    Choice,
    Covariates,
    Number,
    Numbers,
    Place,
    Switch,
    Whole,
    Wholes,
    Words,
    remember,
)
from unpooled.protocol.messages import MIN_COHORTS

FEWEST_AT_A_LEVEL = 10
"""A level of a covariate that fewer people of the pool have is refused: sums over them are records."""

FEWEST_COHORTS = MIN_COHORTS
"""A level that fewer cohorts have so many people at is refused unless the plan has `cohort_sums`: a sum over
one cohort is its own, and a sum over two tells either of them the numbers of the other."""

EXACT, MEAN = "exact", "mean"
"""Rules for missing calls: leave the person out of that variant, as PLINK, or take the pooled mean."""

COVARIATES = Covariates(
    name="covariates",
    label="Covariates",
    place=Place.MODEL,
    methods="Covariates were {}.",
)
COHORT_SUMS = Switch(
    name="cohort_sums",
    label="Sums over one cohort",
    hint="A covariate may tell cohorts apart, such as the site. The server then sees allele frequencies and "
    "means of single cohorts, and each is asked to accept that. Otherwise a level at which fewer "
    f"than {FEWEST_COHORTS} cohorts have {FEWEST_AT_A_LEVEL} people ends the study.",
    place=Place.MODEL,
    needs=COVARIATES.name,
    fact="may be seen: if a covariate tells cohorts apart, the server reads allele frequencies and means of "
    "each",
    off=f"refused: a level of a covariate at which fewer than {FEWEST_COHORTS} cohorts have "
    f"{FEWEST_AT_A_LEVEL} people ends the study",
    is_always_said=True,
    methods="They could tell cohorts apart, so that the server could see sums over one cohort, as every "
    "cohort had accepted.",
)
MISSING = Choice(
    name="missing",
    label="Missing calls",
    default=MEAN,
    as_plink=EXACT,
    place=Place.MODEL,
    answers=(
        Answer(
            MEAN,
            "Take the pooled mean",
            "Shows the server sums only.",
            "taken as the pool's mean; no question is about the people who lack a call",
            "A missing call was replaced by the mean of the pool.",
        ),
        Answer(
            EXACT,
            "Leave the person out of that variant, as PLINK does",
            "Where a single person lacks a call, the server learns that person's covariates.",
            "exact, as PLINK: the server sees covariates and phenotype of single people who lack a call, "
            "without name or cohort",
            "People without a call were left out of the variant's test.",
        ),
    ),
)
MAF = Number(
    name="maf",
    label="Allele frequency",
    flag="--maf",
    hint="The lowest frequency of the rarer allele in the pool; 0 for no filter.",
    default=0.0,
    least=0,
    most=0.5,
    place=Place.FILTERS,
    fact="variants whose rarer allele has a frequency of at least {}",
    keeps="an allele frequency of at least {}",
)
GENO = Number(
    name="geno",
    label="Missing calls of a variant",
    flag="--geno",
    hint="The largest share of people without a call; 1 for no filter.",
    default=1.0,
    least=0,
    most=1,
    place=Place.FILTERS,
    fact="variants with at most a share of {} of their calls missing",
    keeps="at most {} of the calls missing",
)
HWE = Number(
    name="hwe",
    label="Hardy-Weinberg P",
    flag="--hwe",
    hint="The smallest P value, such as 1e-6; 0 for no filter.",
    default=0.0,
    least=0,
    most=1,
    is_below=True,
    place=Place.FILTERS,
    fact="variants with a P value of at least {}",
    keeps="an exact Hardy-Weinberg P of at least {}",
)
MIND = Number(
    name="mind",
    label="Missing calls of a person",
    flag="--mind",
    hint="The largest share of variants without a call; 1 for no filter.",
    default=1.0,
    least=0,
    most=1,
    place=Place.FILTERS,
    fact="people with at most a share of {} of their calls missing",
    methods="People with more than {} of their calls missing were left out.",
)
CI = Number(
    name="ci",
    label="Confidence limits",
    flag="--ci",
    hint="Their level in the report, such as 0.95; 0 for none.",
    default=0.0,
    least=0.01,
    most=1,
    is_below=True,
    none=0,
    fact="at a level of {}",
)
MAX_ITERATIONS = Whole(
    name="max_iterations",
    label="Iterations",
    hint="The largest number of steps that a fit may take.",
    default=25,
    least=1,
    most=100,
    fact="at most {}",
    is_always_said=True,
)
TOLERANCE = Number(
    name="tolerance",
    label="Tolerance",
    hint="A fit has also converged if the log-likelihood changes by no more than this, such as 1e-4; 0 for "
    "never.",
    default=0.0,
    least=0,
    most=1,
    fact="a fit also ends once the log-likelihood changes by at most {}",
)
GLM_COLS = Words(
    name="glm_cols",
    label="Columns of the PLINK 2 report",
    hint="As in plink2's cols=, such as chrom, pos, p. Empty for the usual ones.",
    among=glm_columns.COLUMN_SETS,
    reader=glm_columns.chosen,
    rule=lambda sets, plan: glm_columns.problem(sets, plan.hide_covar),
)
BETA = Switch(
    name="beta",
    label="Log odds ratios",
    flag="--beta",
    hint="The report has regression coefficients instead of odds ratios.",
    fact="in the report instead of odds ratios",
)
HIDE_COVAR = Switch(
    name="hide_covar",
    label="No rows for covariates",
    flag="--hide-covar",
    hint="The report has one row for each variant.",
    fact="one row in the report for each variant",
)
QUANTILES = Numbers(
    name="quantiles",
    label="Quantiles",
    hint="From 0 to 1, such as 0.05, 0.5, 0.95.",
    least=0,
    most=1,
    place=Place.MODEL,
    fact="{} of each column: single people's values, or between two",
)
ELEMENTS = Wholes(
    name="elements",
    label="Elements",
    hint="1 is the smallest value of all, -1 the largest. Each is a single person's value.",
    has_zero=False,
    place=Place.MODEL,
    fact="{} (1 is the smallest, -1 the largest): each is a single person's value",
)

FILTERS = (MIND, GENO, HWE, MAF)
"""In the order in which they are applied."""
REGRESSION = (COVARIATES, COHORT_SUMS, MISSING, *FILTERS, CI, GLM_COLS, HIDE_COVAR)
ITERATION = (MAX_ITERATIONS, TOLERANCE)

remember((*REGRESSION, *ITERATION, BETA, QUANTILES, ELEMENTS))
