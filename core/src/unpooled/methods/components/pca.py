"""A study of principal components: loadings and eigenvalues for all, scores at each cohort."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.formats.density import cells_of, write_density
from unpooled.formats.eigenvectors import write_allele_weights, write_counts, write_eigenval, write_errors
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod, Wording
from unpooled.methods.components.density import COMPONENTS as DRAWN
from unpooled.methods.components.density import TABLE as DENSITY
from unpooled.methods.components.density import RankCells, density, is_asked_for
from unpooled.methods.components.options import COMPONENT_TOLERANCE, PCA_COUNT
from unpooled.methods.components.procedure import VALUES, Components, components, known
from unpooled.methods.components.questions import ASKS
from unpooled.methods.ld.options import INDEP_PAIRWISE, PRUNE_COMPONENTS
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared import summary
from unpooled.methods.shared.layout import laid_out
from unpooled.methods.shared.options import OF_DOSAGES
from unpooled.pages.page import Html, joined, section, tag
from unpooled.pictures.people_svg import SHADED, people_over_density
from unpooled.plan.common_options import BY_PLACE, FILTERS, MODULAR, SEXES
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.plan import component_titles as titles
from unpooled.plan.result_files import COUNTS_FILE, DENSITY_FILE, EIGENVAL_FILE, ERRORS_FILE, LOADINGS_FILE
from unpooled.plan.templates import QUALITY, Template


@procedure("pca")
def pca(study: Study) -> Asks[None]:
    """Find them, and report loadings and eigenvalues."""
    found = yield from components(study)
    if is_asked_for(study.plan) and len(found.values) >= DRAWN:
        yield Finish(density(study, found))
    yield summary.pool(found.people)
    yield variants_of(found)
    yield from known(found)


def variants_of(found: Components) -> Rows:
    """A row for each variant."""
    scaled, sign = found.scaled, np.where(found.scaled.first_is_a1, 1.0, -1.0)
    loadings = zip(titles(len(found.loadings)), found.loadings * sign, strict=True)
    return Rows(
        summary.VARIANTS,
        {
            "variant": scaled.variants,
            "first_is_a1": scaled.first_is_a1,
            "a1_count": np.where(scaled.first_is_a1, scaled.copies, scaled.alleles - scaled.copies),
            "allele_count": scaled.alleles,
            **dict(loadings),
        },
    )


def columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """Return the columns that a file is written from, from all tables."""
    if file == DENSITY_FILE:
        return tables.get(DENSITY, {})
    others = {key: tables[VALUES][key][:] for key in ("eigenvalue", "following", "error", "stands_out")}
    return ChainMap(others, tables[summary.VARIANTS])  # type: ignore[arg-type]  # nothing is written to it


def shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """Draw where the pool's people are dense, as a part of the report."""
    if not (cells := cells_of(tables.get(DENSITY, {}))):
        return joined([])
    first, second = titles(DRAWN)
    picture = people_over_density(cells, np.empty((0, DRAWN)), (first, second))
    return section("People of all cohorts", tag("p", SHADED), tag("figure", picture))


def _rules(plan: Plan) -> dict[str, str]:
    found = {}
    if plan.masking != "modular":
        found["masking"] = MODULAR
    if LOADINGS_FILE in plan.files and not {COUNTS_FILE, EIGENVAL_FILE} <= set(plan.files):
        found["files"] = (
            f"want {EIGENVAL_FILE} and {COUNTS_FILE} beside {LOADINGS_FILE}: by all three people are scored"
        )
    return found


PCA = VariantMethod(
    name=PCA_COUNT.name,
    title="Principal components",
    purpose=Purpose.STRUCTURE,
    method="Genotypes were standardised by the allele frequencies of all cohorts together, and missing calls "
    "replaced by the mean (--pca meanimpute of PLINK 2).",
    traits=("quantitative",),
    asks=(*ASKS, RankCells),
    procedure=pca,
    files={
        EIGENVAL_FILE: laid_out(write_eigenval),
        ERRORS_FILE: laid_out(write_errors),
        LOADINGS_FILE: laid_out(write_allele_weights),
        COUNTS_FILE: laid_out(write_counts),
        DENSITY_FILE: laid_out(write_density),
    },
    shown=shown,
    needs_phenotype=False,
    usual_files=(EIGENVAL_FILE, ERRORS_FILE, LOADINGS_FILE, COUNTS_FILE, DENSITY_FILE),
    about_files={
        EIGENVAL_FILE: AboutFile("Eigenvalues", ".eigenval, one a line"),
        ERRORS_FILE: AboutFile("Errors of components", ".eigenval.error, a line for each eigenvalue"),
        LOADINGS_FILE: AboutFile("Loadings", ".eigenvec.allele, for plink2's --score"),
        COUNTS_FILE: AboutFile("Allele counts", ".acount, for plink2's --read-freq"),
        DENSITY_FILE: AboutFile(
            "Density of people",
            "by the first two components, to a factor of two and without cells of fewer than "
            f"{FEWEST_AT_A_LEVEL} people: each cohort draws its own people over it",
        ),
    },
    options=(PCA_COUNT, PRUNE_COMPONENTS, COMPONENT_TOLERANCE, SEXES, BY_PLACE, *OF_DOSAGES, *FILTERS),
    templates=(
        Template(
            "pca",
            "Ancestry, 10 components",
            "Usual filters, and variants pruned by linkage. Each cohort keeps its people's scores, to be "
            "covariates of a later study.",
            {PRUNE_COMPONENTS: INDEP_PAIRWISE.usual, **QUALITY},
        ),
    ),
    # Dosages are read twice a round, of eight, and scored in twice the time.
    cost=Cost(120e-6, lambda columns: 30e-9, 8 * (2 * 0.5 + 1.6) * 1e-9),
    columns=columns_of,
    rules=_rules,
    wording=Wording("The principal components of the genotypes", "were computed", "in the components"),
)
