"""The options that came with the first release: every plan knows their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unpooled.panel import place_names
from unpooled.plan import glm_columns, options
from unpooled.plan.file_names import LONGEST_PART, LONGEST_STEM, is_part, is_stem
from unpooled.plan.floors import CASE_CONTROL
from unpooled.protocol.messages import MIN_COHORTS

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

FEWEST_AT_A_LEVEL = 10
"""A level of a covariate that fewer people of the pool have is refused: sums over them are records."""

FEWEST_COHORTS = MIN_COHORTS
"""A level that fewer cohorts have so many people at is refused unless the plan has `cohort_sums`: a sum over
one cohort is its own, and a sum over two tells either of them the numbers of the other."""

EXACT, MEAN = "exact", "mean"
"""Rules for missing calls: leave the person out of that variant, as PLINK, or take the pooled mean."""

MOST_PHENOTYPES = 20
"""Maximum number of phenotypes of one study: pairs of them are compared."""


def _phenotypes_problem(further: tuple[str, ...], plan: Plan) -> str:
    """Say what is wrong with the further phenotypes; empty if nothing is. Each is in the names of files."""
    names = (plan.phenotype, *further)
    if len(names) > MOST_PHENOTYPES:
        return f"at most {MOST_PHENOTYPES} phenotypes, not {len(names)}"
    if bad := next((name for name in names if not is_part(name)), ""):
        return (
            f"several phenotypes have names of at most {LONGEST_PART} letters, digits, plus, minus and "
            f"underscores, which are in the names of files; not {bad[:80]}"
        )
    if len({name.casefold() for name in names}) < len(names):
        return "a phenotype is named twice"
    if both := {*names} & {column for each in COVARIATES.of(plan) for column in (each.title, *each.columns)}:
        return f"{min(both)} is a covariate, too"
    return ""


PHENOTYPES = options.Words(
    name="phenotypes",
    came_later=True,
    label="Further phenotypes",
    hint="Of the same trait, such as ldl, hdl. Each is analysed as if the study had only that one.",
    place=options.Place.MODEL,
    fact="{}: each is analysed as if the study had only that one",
    rule=_phenotypes_problem,
)
REQUIRE_PHENO = options.Switch(
    name="require_pheno",
    came_later=True,
    label="Only people with all phenotypes",
    flag="--require-pheno",
    hint="Whoever lacks one of them counts nowhere, so that no two phenotypes are about different people.",
    place=options.Place.MODEL,
    needs=PHENOTYPES.name,
    fact="whoever lacks one of them counts nowhere",
    methods="Only people with all of these phenotypes were included.",
)
SEVERAL = (PHENOTYPES, REQUIRE_PHENO)
COVARIATES = options.Covariates(
    name="covariates", label="Covariates", place=options.Place.MODEL, methods="Covariates were {}."
)
COHORT_SUMS = options.Switch(
    name="cohort_sums",
    label="Sums over one cohort",
    hint="A covariate may tell cohorts apart, such as the site. The server then sees allele frequencies and "
    "means of single cohorts, and each is asked to accept that. Otherwise a level at which fewer "
    f"than {FEWEST_COHORTS} cohorts have {FEWEST_AT_A_LEVEL} people ends the study.",
    place=options.Place.MODEL,
    needs=COVARIATES.name,
    fact="may be seen: if a covariate tells cohorts apart, the server reads allele frequencies and means of "
    "each",
    off=f"refused: a level of a covariate at which fewer than {FEWEST_COHORTS} cohorts have "
    f"{FEWEST_AT_A_LEVEL} people ends the study",
    is_always_said=True,
    methods="They could tell cohorts apart, so that the server could see sums over one cohort, as every "
    "cohort had accepted.",
)


def _condition_problem(names: tuple[str, ...], plan: Plan) -> str:
    """Say what is wrong with variants as covariates beside those that a plan has; empty if nothing is."""
    if both := set(names) & {column for each in COVARIATES.of(plan) for column in each.columns}:
        return f"a covariate is called {min(both)}, too"
    if len(columns := plan.covariate_columns) > options.MOST_COVARIATES:
        return f"at most {options.MOST_COVARIATES} columns, those of covariates counted, not {len(columns)}"
    return ""


CONDITION = options.Words(
    name="condition",
    came_later=True,
    label="Condition on variants",
    flag="--condition",
    hint="Their IDs, such as rs7412: copies of their rarer alleles become covariates, and whoever lacks a "
    "call of one is left out. Variants of the autosomes only.",
    place=options.Place.MODEL,
    fact="{}: copies of their alleles are covariates, and whoever lacks a call of one is left out",
    methods="Copies of the rarer allele of {} were covariates, too.",
    rule=_condition_problem,
)
MOST_COMPONENTS = 40
MODULAR = "modular only: normal noise would take the digits that components need"
COMPONENTS_METHODS = (
    "{} principal components of all cohorts' genotypes were computed without pooling them, by block Krylov "
    "iteration on sums over the cohorts"
)


def component_titles(count: int) -> tuple[str, ...]:
    """The names of so many principal components."""
    return tuple(f"PC{k}" for k in range(1, count + 1))


def _components_problem(count: int, plan: Plan) -> str:
    """Say what is wrong with so many components beside a plan's other columns; empty if nothing is."""
    if not count:
        return ""
    if plan.masking != "modular":
        return MODULAR
    columns = plan.covariate_columns
    if len(set(columns)) < len(columns):
        return f"a covariate is called as one of PC1 to PC{count}, which the components are"
    if len(columns) > options.MOST_COVARIATES:
        return f"at most {options.MOST_COVARIATES} columns, those of covariates counted, not {len(columns)}"
    return ""


COMPONENTS = options.Whole(
    name="components",
    label="Principal components as covariates",
    hint="How many, of all cohorts together: found first, in the same study. Each person's scores stay at "
    "the cohort. 0 for none.",
    default=0,
    least=0,
    most=MOST_COMPONENTS,
    place=options.Place.MODEL,
    fact="{} are covariates: each cohort keeps its people's scores",
    methods=f"{COMPONENTS_METHODS}, and were covariates.",
    rule=_components_problem,
    came_later=True,
)
PREDICTION = "LOCO"
"""Name of the covariate that a person's prediction without a variant's chromosome becomes."""


def _loco_problem(loco: bool, plan: Plan) -> str:
    """Say why a plan cannot have predictions as covariates; empty if it can."""
    if not loco:
        return ""
    if plan.masking != "modular":
        return "modular only: normal noise would take the digits that predictions need"
    columns = plan.covariate_columns
    if columns.count(PREDICTION) > 1:
        return f"a covariate is called {PREDICTION}, as the predictions are"
    if len(columns) > options.MOST_COVARIATES:
        return f"at most {options.MOST_COVARIATES} columns, those of covariates counted, not {len(columns)}"
    return ""


LOCO = options.Switch(
    name="loco",
    label="Adjust for relatives and structure",
    hint="Whole-genome regression in two steps, as in regenie: each person's phenotype is predicted from all "
    "other chromosomes than a variant's, and the prediction is a covariate. For families; for cohorts of "
    "different ancestries beside principal components.",
    place=options.Place.MODEL,
    fact="each person's phenotype is predicted from the other chromosomes than a variant's, and the "
    "prediction is a covariate; it stays at the cohort",
    methods="Relatedness and structure were adjusted for by whole-genome regression: ridge regressions on "
    "blocks of variants were stacked by a second ridge regression, both with leave-one-out predictions, and "
    "the prediction without a variant's chromosome was a covariate.",
    rule=_loco_problem,
    came_later=True,
)
COVAR_VARIANCE_STANDARDIZE = options.Switch(
    name="covar_variance_standardize",
    came_later=True,
    label="Standardise numeric covariates",
    flag="--covar-variance-standardize",
    hint="To mean 0 and variance 1 in the pool. Only the report's lines about these covariates change.",
    place=options.Place.MODEL,
    needs=COVARIATES.name,
    fact="to mean 0 and variance 1 in the pool",
    methods="Numeric covariates were standardised to mean 0 and variance 1.",
)
MISSING = options.Choice(
    name="missing",
    label="Missing calls",
    default=MEAN,
    as_plink=EXACT,
    place=options.Place.MODEL,
    answers=(
        options.Answer(
            MEAN,
            "Take the pooled mean",
            "Shows sums over many people only; in a logistic regression a variant of few carriers has no "
            "estimate.",
            "taken as the pool's mean; no question is about the people who lack a call",
            "A missing call was replaced by the mean of the pool.",
        ),
        options.Answer(
            EXACT,
            "Leave the person out of that variant, as PLINK does",
            "Where a single person lacks a call, the server learns that person's covariates. In a logistic "
            "regression, or with clumps, the cohorts learn them too, and those of a single carrier.",
            "exact, as in PLINK: the server sees covariates and phenotype of single people who lack a call, "
            "or who stand apart by a covariate; in a logistic regression, or with clumps, so do the "
            "cohorts, and those of single carriers; never a name or a cohort",
            "People without a call were left out of the variant's test.",
        ),
    ),
)
EVERYONE, MALES, FEMALES = "all", "males", "females"
"""Whom a study is about."""

SEXES = options.Choice(
    name="sexes",
    came_later=True,
    label="Sex",
    default=EVERYONE,
    place=options.Place.FILTERS,
    is_always_said=False,
    answers=(
        options.Answer(EVERYONE, "Everyone"),
        options.Answer(
            MALES,
            "Men only",
            "Women and people of unknown sex count nowhere.",
            "men only: women and people of unknown sex count nowhere",
            "Only men were included.",
            "--filter-males",
        ),
        options.Answer(
            FEMALES,
            "Women only",
            "Men and people of unknown sex count nowhere.",
            "women only: men and people of unknown sex count nowhere",
            "Only women were included.",
            "--filter-females",
        ),
    ),
)
BY_PLACE = options.Switch(
    name="by_place",
    came_later=True,
    label=place_names.BY_PLACE,
    hint="By chromosome, position and alleles instead of IDs, which imputed data often lack. Variants are "
    "called after these, such as 1:12345:A:G. A row with several alternate alleles is one variant for each "
    "of them.",
    place=options.Place.FILTERS,
    fact="by chromosome, position and alleles, whatever their IDs",
    methods="Variants were matched by chromosome, position and alleles.",
    rule=lambda by_place, plan: (
        "variants of a list are found by their IDs: let the cohorts propose their own"
        if by_place and plan.panel_mode == "list"
        else ""
    ),
)
MAF = options.Number(
    name="maf",
    label="Least frequency of the rarer allele",
    flag="--maf",
    hint="In the pool.",
    default=0.0,
    least=0,
    most=0.5,
    place=options.Place.FILTERS,
    fact="{}: variants below are left out",
    keeps="an allele frequency of at least {}",
)
GENO = options.Number(
    name="geno",
    label="Most missing calls of a variant",
    flag="--geno",
    hint="As a share of all people.",
    default=1.0,
    least=0,
    most=1,
    place=options.Place.FILTERS,
    fact="a share of {}: variants with more are left out",
    keeps="at most {} of the calls missing",
)
HWE = options.Number(
    name="hwe",
    label="Least Hardy-Weinberg P",
    flag="--hwe",
    hint="Such as 1e-6.",
    default=0.0,
    least=0,
    most=1,
    is_below=True,
    place=options.Place.FILTERS,
    fact="{}: variants below are left out",
    keeps="an exact Hardy-Weinberg P of at least {}",
)
MIND = options.Number(
    name="mind",
    label="Most missing calls of a person",
    flag="--mind",
    hint="As a share of all variants.",
    default=1.0,
    least=0,
    most=1,
    place=options.Place.FILTERS,
    fact="a share of {}: people with more are left out",
    methods="People with more than {} of their calls missing were left out.",
)
CI = options.Number(
    name="ci",
    label="Level of the confidence limits",
    flag="--ci",
    hint="In the report, such as 0.95; 0 for none.",
    default=0.0,
    least=0.01,
    most=1,
    is_below=True,
    none=0,
    fact="{}",
)
MAX_ITERATIONS = options.Whole(
    name="max_iterations",
    label="Most iterations of a fit",
    hint="A variant that needs more has no result.",
    default=25,
    least=1,
    most=100,
    is_always_said=True,
)
TOLERANCE = options.Number(
    name="tolerance",
    label="Tolerance of a fit",
    hint="A fit has also converged if the log-likelihood changes by no more than this, such as 1e-4; 0 for "
    "never.",
    default=0.0,
    least=0,
    most=1,
    fact="a fit also ends once the log-likelihood changes by at most {}",
)
HIDE_COVAR = options.Switch(
    name="hide_covar",
    label="No rows for covariates",
    flag="--hide-covar",
    hint="The report has one row for each variant.",
    fact="one row in the report for each variant",
)
GLM_COLS = options.Words(
    name="glm_cols",
    label="Columns of the PLINK 2 report",
    hint="As in plink2's cols=, such as chrom, pos, p. Empty for the usual ones.",
    among=glm_columns.COLUMN_SETS,
    reader=glm_columns.chosen,
    rule=lambda sets, plan: glm_columns.problem(sets, HIDE_COVAR.of(plan)),
)
BETA = options.Switch(
    name="beta",
    label="Log odds ratios",
    flag="--beta",
    hint="The report has regression coefficients instead of odds ratios.",
    fact="in the report instead of odds ratios",
)


def in_odds_ratios(plan: Plan) -> bool:
    """Tell whether effects are odds ratios: those of cases and controls are, unless logarithms are chosen."""
    return plan.trait == CASE_CONTROL and not BETA.of(plan)


QUANTILES = options.Numbers(
    name="quantiles",
    label="Quantiles",
    hint="From 0 to 1, such as 0.05, 0.5, 0.95.",
    least=0,
    most=1,
    place=options.Place.MODEL,
    fact="{} of each column: single people's values, or between two",
)
ELEMENTS = options.Wholes(
    name="elements",
    label="Elements",
    hint="1 is the smallest value of all, -1 the largest. Each is a single person's value.",
    has_zero=False,
    place=options.Place.MODEL,
    fact="{} (1 is the smallest, -1 the largest): each is a single person's value",
)
SUMS, BITS = "sums", "bits"
"""Ways to read what the cohorts add up."""
OPENS = options.Choice(
    name="opens",
    came_later=True,
    label="The server reads",
    default=SUMS,  # what plans mean that are older than this option
    usual=BITS,
    place=options.Place.MODEL,
    is_always_said=True,
    answers=(
        options.Answer(
            BITS,
            "Only what the results tell",
            "Server and compensator compare the sums, and nobody reads them. Takes a little longer.",
            "only what the results tell: sums are compared by server and compensator, and nobody reads them",
            "Sums over the cohorts were compared by secure computation of two parties; nobody read them.",
        ),
        options.Answer(
            SUMS,
            "Sums",
            "The server reads each sum over the cohorts, and these are told it: by them, single people's "
            "values.",
            "each sum over the cohorts, and so do these; by them values of single people",
        ),
    ),
    rule=lambda opens, plan: (
        "bits only with uniform masks; choose sums" if opens == BITS and plan.masking != "modular" else ""
    ),
)

FILE_STEM = options.Text(
    name="file_stem",
    label="File name",
    hint="What the names of the result files begin with. Left empty, it is made from the study's name.",
    words=f"1 to {LONGEST_STEM} letters, digits, dots, dashes and underscores, beginning with a letter or "
    "digit; no name that Windows reserves, such as con",
    fits=is_stem,
    fact="{}: the names of the result files begin with it",
)

COMPENSATOR, COHORTS, ENCRYPTED = "compensator", "cohorts", "encrypted"
"""Whom a study trusts with its masks; `encrypted`: the cohorts, and sums are encrypted besides."""
MOST_ENCRYPTED = 16
"""Cohorts whose encrypted sums are exact: with more, a sum of words could outgrow a ciphertext."""


def _trust_problem(trust: str, plan: Plan) -> str:
    """Say why a plan cannot do without a compensator; empty if it can."""
    if trust == COMPENSATOR:
        return ""
    if plan.masking != "modular":
        return "only with uniform masks: normal noise of each pair would add up"
    if plan.searched:
        return "a compensator is needed to find words that the plan does not list: list them, or choose it"
    if trust == ENCRYPTED and plan.cohorts > MOST_ENCRYPTED:
        return f"encrypted sums are for up to {MOST_ENCRYPTED} cohorts, not {plan.cohorts}: choose {COHORTS}"
    return ""


TRUST = options.Choice(
    name="trust",
    came_later=True,
    label="Who shares the masks",
    default=COMPENSATOR,
    is_always_said=False,
    answers=(
        options.Answer(
            COMPENSATOR,
            "Each cohort with a compensator",
            "Of another operator than the server. Server and compensator together could read each cohort's "
            "numbers; the server with other cohorts could not.",
        ),
        options.Answer(
            COHORTS,
            "Each two cohorts",
            "No compensator. To read one cohort's numbers the server and all other cohorts would have to "
            "work together. Not where sums are compared, or words are searched for.",
            "each two cohorts; there is no compensator. To read one cohort's numbers the server and all "
            "other cohorts would have to work together",
        ),
        options.Answer(
            ENCRYPTED,
            "Each two cohorts, and encrypted (experimental)",
            "As before, and what is masked is encrypted besides, so that each sum is read with the help of "
            "every cohort. Nobody outside has reviewed this. Each party needs OpenFHE; up to "
            f"{MOST_ENCRYPTED} cohorts.",
            "each two cohorts, and shares are encrypted besides (experimental: nobody outside has reviewed "
            "it); there is no compensator. To read one cohort's numbers the server and all other cohorts "
            "would have to work together",
        ),
    ),
    rule=_trust_problem,
)

OF_EVERY_STUDY = (FILE_STEM, TRUST)
"""Options that are no test's. A plan's encoding has one only where it is not at its default, so that plans
from before it came keep their hash."""
FILTERS = (MIND, GENO, HWE, MAF)
"""Filters in the order in which they are applied."""
REGRESSION = (
    *SEVERAL,
    COVARIATES,
    CONDITION,
    COMPONENTS,
    LOCO,
    COVAR_VARIANCE_STANDARDIZE,
    COHORT_SUMS,
    MISSING,
    SEXES,
    BY_PLACE,
    *FILTERS,
    CI,
    GLM_COLS,
    HIDE_COVAR,
)
ITERATION = (MAX_ITERATIONS, TOLERANCE)

options.remember((*OF_EVERY_STUDY, *REGRESSION, *ITERATION, BETA, QUANTILES, ELEMENTS, OPENS))
