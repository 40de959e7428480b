"""Rules by which PLINK may differ from us, with reasons: whatever no rule covers is a disagreement."""

from __future__ import annotations

STOPPED = "PLINK prints where it stopped"
GAVE_UP = "PLINK has no number"
SINGLE = "PLINK's precision"
DOUBLED = "PLINK's products on Y and MT"
MISSING_CALLS = "plink2 beside missing calls"
NEAR = "within the bars"
DEPENDENT = "columns that depend on one another"
UNDECIDED = "nearly separated"
LIMIT = "the plan's limit of iterations"
FEW = "few carriers"
TOLERANCE = "the plan's tolerance"
LEFT_OUT = "plink2 leaves lines out"
ON_X = "plink2 has X for a model"
MARKS_ONE = "plink2 without a marked person"
FEWER = "plink2 with fewer people"
CONDITION_LEFT_OUT = "plink2 without a condition"
CODE = "another code of plink2"
FIRTH_INSTEAD = "Firth's fit where plink2 prints where it stopped"
FIRTH_EARLY = "Firth's fit of plink2 ends early"
HWE_ON_Y = "PLINK's .hwe on Y"
GC_OF_TIES = "GC where P is 0"
REFUSED = "PLINK ends with an error"
OURS = "what no PLINK has"
DECLINED = "the study is declined"

RULES = {
    STOPPED: "by linear program the likelihood has no maximum, and ours is NA.",
    GAVE_UP: "NA of an iteration in single precision, or by plink2's rules; ours is what statsmodels finds.",
    SINGLE: "farther apart than the bars; ours is what statsmodels finds, in every digit that is printed.",
    DOUBLED: "PLINK 1.9 counts one copy as 2 in products there; ours is what statsmodels finds, with 1.",
    MISSING_CALLS: "the same, where calls are missing: plink2 gets standard errors of logistic fits wrong.",
    NEAR: "a linear fit of PLINK 1.9's is off by one in the last digit, a logistic one by 0.001.",
    DEPENDENT: "there is no unique estimate, and ours is NA; PLINK may print what rounding leaves. "
    "plink2 leaves out a covariate that is the same for everybody with a call.",
    UNDECIDED: "ours is NA; cases and controls overlap by no more than the linear program's rounding.",
    FEW: "ours is NA by the rule `mean`; without one of the cohorts few people may have an allele.",
    LIMIT: "ours is NA; the plan allows fewer iterations than the variant needs.",
    TOLERANCE: "the likelihood of ours is as near to its maximum as the plan's tolerance says.",
    LEFT_OUT: "none about constant covariates, nor where covariates separate; ours are NA then, or right.",
    ON_X: "where nobody of the pool is a man, it takes X for an autosome, and leaves it in beside a model "
    "that is not additive; PLINK 1.9 and ours leave it out.",
    MARKS_ONE: "a linear fit without a covariate that marks a person, and without that person: the same.",
    FEWER: "without a covariate that seems to separate, and all people but those of one value: with few "
    "cases plink2 misses overlaps. Ours is right with all people, or NA for a reason.",
    CONDITION_LEFT_OUT: "without a condition that separates, but with those who lack its call; ours NA.",
    CODE: "both are NA, for several reasons of which plink2 names another one.",
    FIRTH_INSTEAD: "by linear program there is no maximum, which plink2 does not notice; ours is Firth's.",
    FIRTH_EARLY: "it ends with a step of 1e-4, or after 25; ours is the maximum by the definition.",
    HWE_ON_Y: "there is no such test on Y: ours is zero, and PLINK 1.9 prints what its memory held.",
    GC_OF_TIES: "PLINK 1.9 sorts it by itself, and may give a variant another's; ours is its own.",
    REFUSED: "such as plink2 with collinear covariates, or where it crashes on X: there is less to compare.",
    OURS: "the pool's mean for a missing call, some of the products on X; ours is what statsmodels finds.",
    DECLINED: "too few people, no variant or a column without use is left: there is nothing to compare.",
}
