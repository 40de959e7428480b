"""GWAS-SSF, the GWAS Catalog's format of summary statistics (Hayhurst and others 2022), and its metadata.

Only variants with an estimate, a position and two seen alleles: the format has no place for others. P is
given as -log10 P where the smallest is too small for a float64.
"""

from __future__ import annotations

import gzip
from typing import BinaryIO, cast

import numpy as np

from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, Text, Whole, write_table
from unpooled.panel import UNSEEN, Panel
from unpooled.plan import Plan
from unpooled.statistics import p_value
from unpooled.step import Arrays

_DIGITS = 8


def reportable(panel: Panel, rows: Arrays, plan: Plan) -> np.ndarray:
    """Which rows of the result go into the file: indices (k,)."""
    variant = rows["variant"]
    known = ~np.isnan(rows["beta"][:, 0])
    placed = (panel.chromosome[variant] > 0) & (panel.position[variant] > 0)
    unseen = [k for k, allele in enumerate(panel.alleles) if not _sequence(allele)]
    seen = ~np.isin(panel.first[variant], unseen) & ~np.isin(panel.second[variant], unseen)
    return np.flatnonzero(known & placed & seen)


def _sequence(allele: bytes) -> bool:
    return allele != UNSEEN and set(allele) <= set(b"ACGT")


def _chromosomes(autosomes: int) -> list[bytes]:
    """Names of codes 0 to 255: numbers, of which the format calls X 23, Y 24 and MT 25 in man."""
    names = [b"%d" % code for code in range(256)]
    names[autosomes + 3], names[autosomes + 4] = names[autosomes + 1], names[autosomes + 3]
    return names


def write_ssf(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    """The tab-separated file, compressed; the same bytes each time."""
    chosen = reportable(panel, rows, plan)
    kept = {name: column[chosen] for name, column in rows.items()}
    names = _chromosomes(plan.autosomes)
    variants = Variants(panel, kept, names)
    neg_log10_p = kept["neg_log10_p"][:, 0]
    in_logarithms = bool(len(neg_log10_p) and neg_log10_p.max() > 300)
    odds = plan.test == "logistic" and not plan.beta

    def block(part: slice) -> list[Column]:
        beta = kept["beta"][part, 0]
        p = neg_log10_p[part]
        code = panel.chromosome[kept["variant"][part]].astype(np.int64)
        return [
            Text("chromosome", 0, variants.labels + code),
            Whole("base_pair_location", 0, variants.position(part).values),
            Text("effect_allele", 0, variants.a1(part).values),
            Text("other_allele", 0, variants.a2(part).values),
            Real("odds_ratio" if odds else "beta", 0, np.exp(beta) if odds else beta, digits=_DIGITS),
            Real("standard_error", 0, kept["se"][part, 0], digits=_DIGITS),
            Real("effect_allele_frequency", 0, kept["a1_freq"][part], digits=_DIGITS),
            Real("neg_log_10_p_value", 0, p, digits=_DIGITS)
            if in_logarithms
            else Real("p_value", 0, p_value(p), digits=_DIGITS),
            Text("variant_id", 0, variants.name(part).values),
            Whole("n", 0, kept["n"][part]),
        ]

    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        write_table(cast(BinaryIO, packed), len(chosen), block, variants.pool, separator=b"\t")


def metadata(plan: Plan, *, data_file: str, md5: str, people: int, date: str) -> str:
    """The `-meta.yaml` beside the file. `date` as 2024-12-31."""
    lines = [
        f"date_metadata_last_modified: {date}",
        f"genome_assembly: {plan.build}",
        "coordinate_system: 1-based",
        f"data_file_name: {_quoted(data_file)}",
        f"data_file_md5sum: {md5}",
        "file_type: GWAS-SSF v1.0",
        "is_harmonised: false",
        "is_sorted: true",
        f"trait_description:\n  - {_quoted(plan.phenotype)}",
        "genotyping_technology:\n  - Genome-wide genotyping array",
        f"samples:\n  - sample_size: {people}\n    sample_ancestry:\n      - not reported",
        *([f"minor_allele_freq_lower_limit: {plan.maf:g}"] if plan.maf else []),
        f"adjusted_covariates:\n{_list(plan.covariate_columns)}" if plan.covariates else "",
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _list(items: tuple[str, ...]) -> str:
    return "\n".join(f"  - {_quoted(item)}" for item in items)


def _quoted(text: str) -> str:
    """A YAML string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
