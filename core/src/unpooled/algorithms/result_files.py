"""The result files of a study: how they are called, and how large they may be. Both follow from its plan.

The server writes these files and no others; a cohort's client takes these and no others, whatever it is
offered.
"""

from __future__ import annotations

from unpooled.algorithms import algorithm
from unpooled.algorithms.algorithm import AboutFile, Algorithm
from unpooled.formats import ssf
from unpooled.panel import MAX_BYTES, SHORTEST_LINE
from unpooled.plan import Plan
from unpooled.sizes import LIST_BYTES, LONGEST_ID, VARIANTS, Sizes

PREFIX = "study"
METHODS = f"{PREFIX}.methods.txt"
REMARKS = f"{PREFIX}.variants.tsv"
MANIFEST = "manifest.json"

# Bounds, generous: they keep a disk from being filled, and must never refuse an honest file.
_HEAD = 1 << 24  # bytes, whatever the study is about: a header, the plan, a page
_LINE = 1 << 12  # bytes of a line beside its ID and alleles
_FEWEST_LINES = 3  # that a report may have of a variant: PLINK's `.hwe` has three
_ALLELES = 8  # that a line may name
_FEATURE = 1 << 16  # bytes about a column of a table
_USUAL_ID = 1 << 10  # bytes, where nobody has measured the longest


_SHARED = {
    "assoc": AboutFile("PLINK 1.9 report", ".assoc, .assoc.linear or .assoc.logistic"),
    "frq": AboutFile("Allele frequencies", ".frq"),
    "lmiss": AboutFile("Missing calls", ".lmiss"),
    "hwe": AboutFile("Hardy-Weinberg test", ".hwe"),
    "adjusted": AboutFile("Adjusted P values", ".adjusted"),
    "glm": AboutFile("PLINK 2 report", ".glm"),
    "ssf": AboutFile("GWAS-SSF for the GWAS Catalog", ".ssf.tsv, with metadata"),
    "parameters": AboutFile("Parameters", "of each column, as JSON"),
    "quantiles": AboutFile("Quantiles", "of each column, and k-th elements, as JSON"),
    "summary": AboutFile("Summary", "of each column, as a table"),
    "page": AboutFile("Page of pictures", "the summary, to look at and to print"),
}
"""What people read of the files that there are in more than one study; of others their algorithm says it."""


def about(file: str, of: Algorithm) -> AboutFile:
    """What people read of the file that a plan calls `file`."""
    return of.about_files.get(file) or _SHARED.get(file) or AboutFile(file)


def report_name(file: str, plan: Plan) -> str:
    """The name of the report that the plan calls `file`: `study.assoc.linear` of `assoc`."""
    return f"{PREFIX}.{algorithm(plan.test).file_name(file, plan)}"


def metadata_name(plan: Plan) -> str:
    """The name of what lies beside a GWAS-SSF file."""
    return report_name("ssf", plan) + ssf.METADATA


def result_files(plan: Plan) -> tuple[str, ...]:
    """The names of all files that a study under this plan may deliver."""
    return (
        *(report_name(file, plan) for file in dict.fromkeys(plan.files)),
        *([metadata_name(plan)] if "ssf" in plan.files else []),
        *([] if plan.of_tables else [REMARKS]),
        METHODS,
        MANIFEST,
    )


def most_bytes(name: str, plan: Plan, sizes: Sizes) -> int:
    """No honest result file of this name is larger.

    `sizes` are those of one cohort's data: a panel holds no variant that this cohort lacks.
    """
    if name in (METHODS, MANIFEST):
        return _HEAD
    if plan.of_tables:
        return _HEAD + len(plan.features) * _FEATURE
    if name == REMARKS:  # about every variant of any cohort
        return _HEAD + plan.cohorts * MAX_BYTES
    list_bytes = sizes.get(LIST_BYTES, MAX_BYTES)
    variants = sizes.get(VARIANTS, list_bytes // SHORTEST_LINE)
    lines = _FEWEST_LINES + len(plan.covariate_columns)
    each_line = _LINE + sizes.get(LONGEST_ID, _USUAL_ID)
    return _HEAD + lines * (variants * each_line + _ALLELES * list_bytes)
