"""GWAS-SSF, the GWAS Catalog's format of summary statistics (Hayhurst and others 2022), and its metadata.

Only variants with an estimate, a position and two seen alleles: the format has no place for others. X and XY
are chromosome 23 there, Y 24 and MT 25. P is given as -log10 P where the smallest is too small for a float64.
"""

from __future__ import annotations

import gzip
import re
import string
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats.association_tests import of_test
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Real, Text, Whole, blocks, write_table
from unpooled.kernels.statistics import p_value
from unpooled.panel.alleles import UNSEEN
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import COVARIATES, MAF
from unpooled.plan.plan import NOT_REPORTED, Plan

_DIGITS = 8

METADATA = "-meta.yaml"
"""End of the metadata file's name, after that of the file it is about."""

CHROMOSOME = b"chromosome"
FREQUENCIES = (b"variant_id", b"effect_allele", b"other_allele", b"effect_allele_frequency", b"n")
"""The columns that say of what allele a frequency is, and among how many people."""

_NOTHING = b"#NA"
_RS_NUMBER = re.compile(rb"rs[0-9]+")
_PLAIN = string.ascii_letters + string.digits
# An ID may have letters, digits and underscores; the padding of an ID, zeros, stays.
_ID_SIGNS = bytes(c if c == 0 or chr(c) in _PLAIN else ord("_") for c in range(256))


def reportable(panel: Panel, rows: Arrays, layout: Layout) -> np.ndarray:
    """Find the rows of the result that go into the file: indices (k,), in the order of the file."""
    unseen = [k for k, allele in enumerate(panel.alleles) if not _sequence(allele)]
    number, chosen = _numbers(layout.autosomes), [np.empty(0, np.int64)]
    for part in blocks(len(rows["variant"])):
        variant = rows["variant"][part]
        known = ~np.isnan(rows["beta"][part][:, 0])
        placed = (panel.chromosome[variant] > 0) & (panel.position[variant] > 0)
        seen = ~np.isin(panel.first[variant], unseen) & ~np.isin(panel.second[variant], unseen)
        chosen.append(part.start + np.flatnonzero(known & placed & seen))
    found = np.concatenate(chosen)
    variant = rows["variant"][found]
    return found[np.lexsort([panel.position[variant], number[panel.chromosome[variant]]])]


def _sequence(allele: bytes) -> bool:
    return allele != UNSEEN and set(allele) <= set(b"ACGT")


def _numbers(autosomes: int) -> np.ndarray:
    """The format's number of each chromosome code, (256,): XY counts as X, and MT follows Y."""
    numbers = np.arange(256, dtype=np.uint8)
    numbers[autosomes + 3], numbers[autosomes + 4] = autosomes + 1, autosomes + 3
    return numbers


def written_ids(names: NDArray[np.bytes_]) -> NDArray[np.bytes_]:
    """IDs in the format's signs; another sign becomes an underscore."""
    return np.frombuffer(names.tobytes().translate(_ID_SIGNS), names.dtype)


def _rs_numbers(names: NDArray[np.bytes_]) -> NDArray[np.bytes_]:
    """The IDs that are rs numbers, `_NOTHING` for the others."""
    known = np.array([_RS_NUMBER.fullmatch(name) is not None for name in names.tolist()], bool)
    return np.where(known, names, _NOTHING)


def write_ssf(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """The tab-separated file, compressed; the same bytes each time. Effects may be odds."""
    chosen, number = reportable(panel, rows, layout), _numbers(layout.autosomes)
    variants = Variants(panel, rows)
    in_logarithms = any(
        bool(np.any(of_test(rows["neg_log10_p"], chosen[part], 0) > 300)) for part in blocks(len(chosen))
    )
    odds = layout.odds

    def block(part: slice) -> list[Column]:
        which = chosen[part]
        beta, se, p = (of_test(rows[name], which, 0) for name in ("beta", "se", "neg_log10_p"))
        name = variants.name(which).values
        return [
            Whole("chromosome", 0, number[panel.chromosome[rows["variant"][which]]]),
            Whole("base_pair_location", 0, variants.position(which).values),
            Text("effect_allele", 0, variants.a1(which).values),
            Text("other_allele", 0, variants.a2(which).values),
            Real("odds_ratio" if odds else "beta", 0, np.exp(beta) if odds else beta, digits=_DIGITS),
            Real("standard_error", 0, se, digits=_DIGITS),
            Real("effect_allele_frequency", 0, rows["a1_freq"][which], digits=_DIGITS),
            Real("neg_log_10_p_value", 0, p, digits=_DIGITS)
            if in_logarithms
            else Real("p_value", 0, p_value(p), digits=_DIGITS),
            Name("variant_id", 0, written_ids(name)),
            Name("rsid", 0, _rs_numbers(name)),
            Whole("n", 0, rows["n"][which]),
        ]

    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        write_table(cast(BinaryIO, packed), len(chosen), block, variants.pool, separator=b"\t")


def metadata(plan: Plan, *, data_file: str, md5: str, people: Mapping[str, Any], date: str) -> str:
    """The YAML file that lies beside the file, of the same name with `METADATA` after it.

    `people` says how many people, cases and controls there are (None where there are none); `date` is as
    2024-12-31. What the study does not know, the coordinator must fill in: ancestry and technology.
    """
    lines = [
        f"date_metadata_last_modified: {date}",
        f"trait_description:\n{_list((plan.phenotype,))}",
        f"genome_assembly: {_quoted(plan.build)}",
        "coordinate_system: 1-based",
        f"genotyping_technology:\n{_list((NOT_REPORTED,))}",
        f"samples:\n  - sample_size: {people['people']}\n    sample_ancestry:\n      - {NOT_REPORTED}",
        f"    case_control_study: {str(plan.trait == 'case/control').lower()}",
        *(
            [f"    case_count: {people['cases']}", f"    control_count: {people['controls']}"]
            if plan.trait == "case/control"
            else []
        ),
        _data_file(data_file),
        "file_type: GWAS-SSF v1.0",
        f"data_file_md5sum: {md5}",
        f"analysis_software: {_quoted('unpooled ' + version('unpooled-core'))}",
        *([f"adjusted_covariates:\n{_list(plan.covariate_columns)}"] if COVARIATES.of(plan) else []),
        *([f"minor_allele_freq_lower_limit: {MAF.of(plan):g}"] if MAF.of(plan) else []),
        "is_harmonised: false",
        "is_sorted: true",
    ]
    return "\n".join(lines) + "\n"


def renamed(text: str, data_file: str) -> str:
    """Metadata of a file that has been given another name."""
    lines = [_data_file(data_file) if line.startswith(_FILE_NAME) else line for line in text.splitlines()]
    return "\n".join(lines) + "\n"


_FILE_NAME = "data_file_name: "


def _data_file(name: str) -> str:
    return _FILE_NAME + _quoted(name)


def _list(items: tuple[str, ...]) -> str:
    return "\n".join(f"  - {_quoted(item)}" for item in items)


def _quoted(text: str) -> str:
    """A YAML string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
