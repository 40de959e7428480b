"""Columns of a regression that a genotype becomes: PLINK's models, and interaction with covariates.

A model is a small table: what each of its columns is for 0, 1 and 2 copies of A1. Whatever is computed of a
variant (sums, bounds, fits, the names of tests) follows from the tables here.
"""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.plan.common_options import CONDITION, COVARIATES
from unpooled.plan.options import Answer, Choice, Place, Switch, Words
from unpooled.plan.plan import Plan

ADDITIVE = "additive"
JOINT = "GENO_2DF"
"""PLINK's name of the joint test of both columns of a model."""
CHOSEN = "USER_{}DF"
"""PLINK's name of a joint test of chosen columns."""


@dataclass(frozen=True)
class Coded:
    """A column of the genotype."""

    test: str
    """PLINK's name of its test."""
    values: tuple[float, float, float]
    """Values for 0, 1 and 2 copies of A1. The first is 0, so a missing call adds nothing to a sum."""


_ADD = Coded("ADD", (0, 1, 2))
MODELS: dict[str, tuple[Coded, ...]] = {
    ADDITIVE: (_ADD,),
    "dominant": (Coded("DOM", (0, 1, 1)),),
    "recessive": (Coded("REC", (0, 0, 1)),),
    "hetonly": (Coded("HET", (0, 1, 0)),),
    "genotypic": (_ADD, Coded("DOMDEV", (0, 1, 0))),
}


@dataclass(frozen=True)
class Terms:
    """The columns that a variant has in its regression, beside intercept, covariates and sex."""

    model: str
    interacting: tuple[int, ...]
    """Columns of covariates that the genotype is multiplied with. Sex, on X, is the one after all of them."""
    tests_all: bool = False
    """True if the joint test is of all columns, those of interactions included."""

    @property
    def coded(self) -> tuple[Coded, ...]:
        return MODELS[self.model]

    @property
    def own(self) -> tuple[tuple[int, int], ...]:
        """Each as a column of the model and one of the covariates, or -1 for none: interactions last."""
        alone = [(a, -1) for a in range(len(self.coded))]
        return (*alone, *((a, s) for s in self.interacting for a in range(len(self.coded))))

    @property
    def extra(self) -> tuple[tuple[int, int], ...]:
        """All but the first, which is what an additive regression has."""
        return self.own[1:]

    @property
    def is_plain(self) -> bool:
        """True if the only column is the allele's copies: which allele is A1 does not matter to the fit."""
        return self.model == ADDITIVE and not self.interacting

    @property
    def is_autosomal(self) -> bool:
        """True if variants on X, Y and MT are left out, as both PLINKs do unless the model is additive."""
        return self.model != ADDITIVE

    @property
    def has_copies(self) -> bool:
        """True if one column is the copies themselves, as a condition's on the variant is, too."""
        return _ADD in self.coded

    @property
    def has_two(self) -> bool:
        """True if the model has two columns."""
        return len(self.coded) > 1

    @property
    def jointly(self) -> int:
        """Count the columns of the joint test, the first of `own`; 0 without one."""
        return len(self.own) if self.tests_all else len(self.coded) * self.has_two

    @property
    def joint(self) -> str:
        """PLINK's name of the joint test; empty without one."""
        return CHOSEN.format(self.jointly) if self.tests_all else JOINT * self.has_two

    def places(self, covariates: int, with_sex: bool) -> list[int]:
        """Return the design index of each of `own`: the first, then covariates and sex, then the others."""
        return [0, *(1 + covariates + with_sex + k for k in range(len(self.extra)))]

    def reported(self, covariates: int, with_sex: bool, hide_covar: bool) -> list[int]:
        """The columns of a design in the order of PLINK 1.9's lines, SEX last but for what is multiplied with
        it."""
        places, alone = self.places(covariates, with_sex), len(self.coded)
        if hide_covar:
            return places[:alone]
        others = range(1, 1 + covariates)
        of_sex = len(places) - sum(s == covariates for _, s in self.own)
        products, sex = places[alone:of_sex], [1 + covariates] if with_sex else []
        return [*places[:alone], *others, *products, *sex, *places[of_sex:]]

    def tests(self, covariates: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """PLINK's names of the tests of the genotype, and of its interactions, given those of the columns."""
        names = [coded.test for coded in self.coded]
        return names, [f"{names[a]}x{covariates[s]}" for a, s in self.own if s >= 0]


GENOTYPE_MODEL = Choice(
    name="genotype_model",
    came_later=True,
    label="Genotype model",
    hint="What counts of a genotype. All but the first leave out variants on X, Y and MT, as PLINK does.",
    default=ADDITIVE,
    is_always_said=False,
    place=Place.MODEL,
    answers=(
        Answer(ADDITIVE, "Copies of A1", "0, 1 or 2.", "additive: copies of A1"),
        Answer(
            "dominant",
            "Dominant",
            "Whether there is a copy of A1.",
            "dominant: whether there is a copy of A1; autosomes only",
            "The model was dominant: 1 for any copy of A1, else 0; autosomal variants only.",
        ),
        Answer(
            "recessive",
            "Recessive",
            "Whether both copies are A1.",
            "recessive: whether both copies are A1; autosomes only",
            "The model was recessive: 1 for two copies of A1, else 0; autosomal variants only.",
        ),
        Answer(
            "hetonly",
            "Heterozygous",
            "Whether the two copies differ.",
            "heterozygous against both homozygous genotypes; autosomes only",
            "Heterozygous genotypes were compared with homozygous ones; autosomal variants only.",
        ),
        Answer(
            "genotypic",
            "Genotypic",
            "Copies of A1 and the deviation from dominance, with their joint test.",
            "genotypic: copies of A1 and whether the two copies differ, tested together; autosomes only",
            "The model was genotypic: copies of A1 and an indicator of heterozygotes, with a joint test of "
            "both; autosomal variants only.",
        ),
    ),
    rule=lambda model, plan: (
        "GWAS-SSF has effects per copy only: leave out the file ssf, or choose additive"
        if model != ADDITIVE and "ssf" in plan.files
        else ""
    ),
)


def _interaction_problem(names: tuple[str, ...], plan: Plan) -> str:
    """Say what is wrong with the covariates that the genotype is to interact with; empty if nothing is."""
    known = [covariate.title for covariate in COVARIATES.of(plan)]
    if unknown := [name for name in names if name not in known]:
        return (
            f"no covariate of the study is called {', '.join(unknown)}; "
            f"{'there are ' + ', '.join(known) if known else 'it has none'}"
        )
    if names and "ssf" in plan.files:
        return "GWAS-SSF has no interactions: leave out the file ssf, or name no covariate"
    return ""


INTERACTION = Words(
    name="interaction",
    came_later=True,
    label="Interaction with",
    hint="Covariates whose product with the genotype is in the model, by name. Empty for none.",
    place=Place.MODEL,
    needs=COVARIATES.name,
    fact="of the genotype with {}",
    methods="Products of the genotype with {} were in the model; on X, if additive, also with sex.",
    rule=_interaction_problem,
)

JOINT_TEST = Switch(
    name="joint_test",
    came_later=True,
    label="Joint test of genotype and interactions",
    hint="Whether the variant has any effect, at any value of the covariates that it interacts with.",
    place=Place.MODEL,
    needs=INTERACTION.name,
    fact="of genotype and interactions at once",
    methods="Genotype and interactions were tested jointly, by Wald's test.",
)

OPTIONS = (GENOTYPE_MODEL, INTERACTION, JOINT_TEST)


def names_problem(plan: Plan) -> dict[str, str]:
    """Refuse a covariate called as the phenotype or another line of the report, by the plan's field."""
    terms = terms_of(plan)
    of_genotype, of_interactions = terms.tests(plan.covariate_columns)
    lines = [*of_genotype, *of_interactions, terms.joint, terms_of(plan, with_sex=True).joint]
    if taken := sorted({*lines, *plan.phenotype_names} & {*plan.covariate_columns}):
        whose = "the phenotype" if taken[0] in plan.phenotype_names else "a line of the report"
        return {
            COVARIATES.name: f"{taken[0]} is what {whose} is called: leave it out, or give it another name"
        }
    return {}


def terms_of(plan: Plan, with_sex: bool = False) -> Terms:
    """The columns that each variant has under a plan; a categorical covariate interacts by all of its own.

    Among the columns of covariates, conditions come first. Where sex is one more, `with_sex`, PLINK has an
    interaction with it, too, if there is any.
    """
    ends, found = len(CONDITION.of(plan)), list[int]()
    for covariate in COVARIATES.of(plan):
        begins, ends = ends, ends + len(covariate.columns)
        if covariate.title in INTERACTION.of(plan):
            found += range(begins, ends)
    interacting = (*found, *([ends] if with_sex and found else []))
    return Terms(GENOTYPE_MODEL.of(plan), interacting, JOINT_TEST.of(plan) and bool(interacting))
