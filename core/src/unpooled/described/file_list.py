"""The result files of a study: how they are called, and how large they may be. Both follow from its plan.

The server writes these files and no others; a cohort's client takes these and no others, whatever it is
offered.
"""

from __future__ import annotations

from unpooled.asking.sizes import LONGEST_ALLELE, LONGEST_ID, VARIANTS, Sizes
from unpooled.formats import ssf
from unpooled.methods import algorithm, with_chunks
from unpooled.methods.algorithm import AboutFile, Method
from unpooled.panel.list_file import MOST_BYTES, MOST_VARIANTS
from unpooled.plan.common_options import FILE_STEM
from unpooled.plan.plan import SUMS_FILE, Plan
from unpooled.plan.schema import MOST_CLASSES, MOST_LEVELS

_UNNAMED = "study"

# Bounds, generous: they keep a disk from being filled, and must never refuse an honest file.
_HEAD = 1 << 24  # bytes, whatever the study is about: a header, the plan, a page
_LINE = 1 << 12  # bytes of a line beside its ID and alleles
_FEWEST_LINES = 3  # that a report may have of a variant: PLINK's `.hwe` has three
_ALLELES = 8  # that a line may name
_FEATURE = 1 << 16  # bytes about a column of a table
_LEVEL = 1 << 11  # bytes about one of its values
_A_ROUND = 3  # numbers of a round of training
_NUMBER = 1 << 5  # bytes of a number
_CHUNK = 1 << 15  # bytes about what is asked of a chunk: 200 rounds in the manifest
_USUAL_WORD = 1 << 10  # bytes of an ID or an allele, where nobody has measured the longest
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
        *([] if plan.of_tables else [remarks_name(plan)]),
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
    if name == methods_name(plan):
        return _HEAD
    if name == manifest_name(plan):
        chunks = 0 if plan.of_tables else sizes.get(VARIANTS, MOST_VARIANTS) // with_chunks(plan).chunk_size
        return _HEAD + chunks * len(plan.each) * _CHUNK
    if plan.of_tables:
        # A cohort of a study of variants need not load the methods for tables.
        from unpooled.fitted.image_network import ImageNetwork
        from unpooled.methods.learning.models import MODELS
        from unpooled.methods.learning.network_options import ARCHITECTURE, ROUNDS, weights_of
        from unpooled.methods.learning.options import VALIDATION_FOLDS

        found = (min(plan.cohorts * column.most, MOST_LEVELS) for column in plan.categories)
        levels = sum(found) + sum(len(column.levels) + 2 for column in plan.categories)  # 2: missing, rest
        columns = len(plan.features) + len(plan.categories) + levels + MOST_CLASSES
        numbers = VALIDATION_FOLDS.of(plan) * columns**2 if SUMS_FILE in plan.files else 0
        if plan.images is not None:
            numbers += ImageNetwork((*plan.images.size, MOST_CLASSES), ARCHITECTURE.of(plan)).size
            numbers += _A_ROUND * ROUNDS.of(plan)
        elif plan.test in MODELS and MODELS[plan.test].is_network:
            numbers += weights_of(plan, columns) + _A_ROUND * ROUNDS.of(plan)
        return _HEAD + columns * _FEATURE + levels * _LEVEL + numbers * _NUMBER
    if name in map(page_name, plan.each):
        return _HEAD
    if name == remarks_name(plan):  # about every variant of any cohort
        return _HEAD + _REMARKS
    variants = sizes.get(VARIANTS, MOST_VARIANTS)
    lines = _FEWEST_LINES + len(plan.covariate_columns)
    each_line = _LINE + sizes.get(LONGEST_ID, _USUAL_WORD) + _ALLELES * sizes.get(LONGEST_ALLELE, _USUAL_WORD)
    return _HEAD + lines * variants * each_line
