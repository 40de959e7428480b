"""The result files of a study: how they are called, and how large they may be. Both follow from its plan.

The server writes these files and no others; a cohort's client takes these and no others, whatever it is
offered.
"""

from __future__ import annotations

from unpooled.asking.sizes import VARIANTS, Sizes
from unpooled.formats import ssf
from unpooled.methods import algorithm, chunk_size
from unpooled.methods.algorithm import AboutFile, Method
from unpooled.panel.list_file import MOST_BYTES, MOST_VARIANTS
from unpooled.plan.common_options import FILE_STEM
from unpooled.plan.plan import Plan

_UNNAMED = "study"

# Bounds, as generous as those of methods.
_HEAD = 1 << 24  # bytes, whatever the study is about: a header, the plan, a page
_CHUNK = 1 << 15  # bytes about what is asked of a chunk: 200 rounds in the manifest
_REMARKS = 2 * MOST_BYTES  # of lines about variants: twice the longest list, however many cohorts have one


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
"""Descriptions of the files that more than one study has; the others' algorithms describe them."""


def about(file: str, of: Method) -> AboutFile:
    """Return the description of the file that a plan calls `file`."""
    return of.about_files.get(file) or _SHARED.get(file) or AboutFile(file)


def stem(plan: Plan) -> str:
    """Return the beginning of the names of a study's files."""
    return FILE_STEM.of(plan) or _UNNAMED


def results_name(plan: Plan) -> str:
    """The name of the folder, or the archive, of all files."""
    return f"{stem(plan)}-results"


def report_name(file: str, plan: Plan) -> str:
    """The name of the report that the plan calls `file`: `asthma.assoc.linear` of `assoc`.

    Of several phenotypes the name of each is in it, where plink2 has it: `lipids.ldl.assoc.linear`.
    """
    ending = algorithm(plan.test).file_name(file, plan)
    return f"{stem_of_reports(plan)}.{ending.removeprefix(f'{plan.phenotype}.' * plan.of_several)}"


def metadata_name(plan: Plan) -> str:
    """The name of what lies beside a GWAS-SSF file."""
    return report_name("ssf", plan) + ssf.METADATA


def remarks_name(plan: Plan) -> str:
    """The name of the list of variants with something to say about them."""
    return f"{stem(plan)}.variants.tsv"


def methods_name(plan: Plan) -> str:
    """The name of the methods section."""
    return f"{stem(plan)}.methods.txt"


def stem_of_reports(plan: Plan) -> str:
    """Return the beginning of the names of files about one phenotype."""
    return f"{stem(plan)}.{plan.phenotype}" if plan.of_several else stem(plan)


def page_name(plan: Plan) -> str:
    """The name of the report for people; there is one for each phenotype."""
    return f"{stem_of_reports(plan)}.report.html"


def manifest_name(plan: Plan) -> str:
    """The name of the manifest. Where a plan names no files, it is as it was before plans could."""
    return f"{FILE_STEM.of(plan)}.manifest.json" if FILE_STEM.of(plan) else "manifest.json"


def result_files(plan: Plan) -> tuple[str, ...]:
    """The names of all files that a study under this plan may deliver."""
    return (
        *(name for one in plan.each for name in _of_one(one)),
        *([remarks_name(plan)] if algorithm(plan.test).agreed else []),
        methods_name(plan),
        *map(page_name, plan.each),
        manifest_name(plan),
    )


def _of_one(plan: Plan) -> list[str]:
    """The names of the reports of one phenotype."""
    metadata = [metadata_name(plan)] if "ssf" in plan.files else []
    return [*(report_name(file, plan) for file in dict.fromkeys(plan.files)), *metadata]


def most_bytes(name: str, plan: Plan, sizes: Sizes) -> int:
    """Bound the size in bytes of an honest result file of this name.

    `sizes` are those of one cohort's data: a panel holds no variant that this cohort lacks.
    """
    method = algorithm(plan.test)
    if name == methods_name(plan):
        return _HEAD
    if name == manifest_name(plan):
        variants, of_each = sizes.get(VARIANTS, MOST_VARIANTS), chunk_size(plan)
        return _HEAD + (variants // of_each if of_each else 0) * len(plan.each) * _CHUNK
    if name in map(page_name, plan.each):
        return _HEAD + method.most_bytes_of_page(plan)
    if name == remarks_name(plan):  # about every variant of any cohort
        return _HEAD + _REMARKS
    return _HEAD + method.most_bytes(plan, sizes)
