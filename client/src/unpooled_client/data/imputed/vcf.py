"""VCF and BCF, read by cyvcf2 in pieces: dosages as `plink2 --vcf … dosage=…` takes them.

    HDS   the sum of both haplotypes' dosages; where that is missing, DS, and then GT
    DS    where that is missing, GT
    GP    P(het) + 2 P(two copies), over the sum of the three; where that is missing, GT
    GT    copies of the alternate allele

Tried with v2.00a3.5. Phase is passed over, and a haploid call counts twice. Where plink2 stops, the person
has no dosage for that variant: half calls such as 0/., and numbers that are no dosage.

Of a line with several alternate alleles each has its own dosages (`unpooled_client.data.plink.split`), by DS,
GP or GT: no standard says in which order HDS would have them. plink2 reads calls alone of such a line.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unpooled.errors import DataProblem, listed
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.panel.chromosomes import chromosome_code
from unpooled.panel.filesets import DOSAGE_FIELDS
from unpooled_client.data.imputed.pieces import Piece, Progress, Row, at_once, line_of, pieces_of, readable
from unpooled_client.data.imputed.vcf_lines import count_rows
from unpooled_client.data.plink.imputation import in_units, r2_of

if TYPE_CHECKING:
    from cyvcf2 import VCF, Variant

_THEN = {"HDS": ("HDS", "DS", "GT"), "DS": ("DS", "GT"), "GP": ("GP", "GT"), "GT": ("GT",)}
_INFO, _FORMAT = 1, 2  # the lines of a header that begin with ##INFO and ##FORMAT, as htslib counts them
_QUALITIES = ("R2", "DR2")
"""Names of the imputation quality in INFO, as Minimac and Beagle write it."""
_DIGITS = 6
"""htslib keeps a number of a text in single precision, which has so many decimals of a dosage right."""
_XY = 3  # the code of XY, and with it of what all people have twice, above the autosomes
_ABOVE = 0.01
"""Dosages of several alleles may add up to so much more than two copies, for each is rounded."""
_GZIP = b"\x1f\x8b"
_LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""Empty block with which htslib ends a compressed file."""
_WHOLE_CALL = re.compile(rb"\t[.0-9]+[/|][.0-9]+\r?\Z")
THREADS = 2  # that unpack

_READS = "VCF or BCF", "Copy it again and look at it with `bcftools view`"
"""Formats that are read here, and what to do with a file that cannot be."""

HALF_CALLS = "calls of one allele such as 0/., of more than two, or of an allele that is not there"
NO_DOSAGES = "numbers that are no dosage, below 0 or too large"


@dataclass(frozen=True)
class VcfFile:
    """A VCF or BCF whose header was read."""

    path: Path
    people: tuple[str, ...]
    field: str
    """One of DOSAGE_FIELDS."""
    autosomes: int
    is_text: bool
    info: str | None
    """Name of the imputation quality in INFO; None without one."""

    @property
    def samples(self) -> int:
        return len(self.people)

    def rows(self, progress: Progress) -> int:
        """Count the alternate alleles by looking at the lines; a BCF is read for that."""
        from cyvcf2 import VCF

        with readable(self.path, *_READS):
            if self.is_text:
                is_packed = _begins_with(self.path, _GZIP)
                return count_rows(self.path, len(self.people), progress, is_packed=is_packed)
            rows = 0
            for count, record in enumerate(VCF(str(self.path), samples=[], threads=THREADS), 1):
                rows += max(1, len(record.ALT))
                if count % 10_000 == 0:
                    progress(count, 0)
            return rows

    def pieces(self, notes: Counter[str]) -> Iterator[Piece]:
        """All variants in their order; `notes` counts what was odd."""
        from cyvcf2 import VCF

        with readable(self.path, *_READS):
            rows = (self._row(record, notes) for record in VCF(str(self.path), threads=THREADS))
            yield from pieces_of(rows, at_once(len(self.people)))

    @property
    def lacks_quality(self) -> str:
        has = self.field == "HDS" or self.info is not None
        return "" if has else f"it has no HDS, and none of {', '.join(_QUALITIES)} in INFO"

    def _row(self, record: Variant, notes: Counter[str]) -> Row:
        line = line_of(self.path, record.CHROM, record.POS, record.ID or "", record.REF, record.ALT)
        dosages = self._dosages(record, notes)
        return line, dosages, self._quality(record, dosages)

    def _quality(self, record: Variant, dosages: np.ndarray) -> np.ndarray:
        """The quality of each alternate allele, float64 (alleles,)."""
        if self.field == "HDS" and "HDS" in record.FORMAT and len(dosages) == 1:
            return np.array([r2_of(*self._haplotypes(record, dosages[0]))])
        found = None if self.info is None else record.INFO.get(self.info)
        each = found if isinstance(found, tuple) else (found,) * len(dosages)
        known = [float(value) if isinstance(value, int | float) else np.nan for value in each]
        return np.array(known if len(known) == len(dosages) else [np.nan] * len(dosages))

    def _haplotypes(self, record: Variant, dosages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The dosages of both haplotypes, float64 (n,): by HDS, else by a call with phase, else halves."""
        values = record.format("HDS").astype(np.float64)
        values = np.round(values, _DIGITS) if self.is_text else values
        first = values[:, 0]
        is_one = np.isnan(values[:, 1]) if values.shape[1] > 1 else np.ones(len(first), bool)
        one, other = in_units(first, np.where(is_one, first, values[:, -1]))
        other = np.where(is_one, np.nan, other)
        half = np.where(dosages == NO_DOSAGE, np.nan, dosages / (2 * COPY))
        calls = np.stack([half, half], axis=1)
        if "GT" in record.FORMAT and (alleles := record.genotype.array()).shape[1] == 3:
            has_phase = (alleles[:, :2] >= 0).all(axis=1) & (alleles[:, 2] == 1)
            calls[has_phase] = alleles[has_phase, :2]
        lacks = np.isnan(first)
        one, other = np.where(lacks, calls[:, 0], one), np.where(lacks, calls[:, 1], other)
        return np.where(np.isnan(half), np.nan, one), np.where(np.isnan(half), np.nan, other)

    def _dosages(self, record: Variant, notes: Counter[str]) -> np.ndarray:
        """Dosages of each alternate allele, uint16 (alleles, n); of ALT "." as of one."""
        alleles = max(1, len(record.ALT))
        calls, is_haploid, is_half = _calls(record, len(self.people), alleles)
        found = np.full(calls.shape, np.nan)
        is_bad = np.zeros(len(self.people), bool)
        for field in _THEN[self.field]:
            open_ = np.isnan(found[0]) & ~is_bad
            if not open_.any():
                break
            copies, bad = calls, np.zeros_like(is_bad)
            if field != "GT":
                values = record.format(field) if field in record.FORMAT else None
                if values is None or (field == "HDS" and alleles > 1):
                    continue
                if field == "DS" and is_haploid is None and self._may_be_haploid(record):
                    raise DataProblem(
                        f"{record.CHROM}:{record.POS} has DS and no GT, which says who has but one allele",
                        file=self.path,
                        remedy="Choose another field by --vcf-dosage, or leave this chromosome out.",
                    )
                exact = values.astype(np.float64)
                exact = np.round(exact, _DIGITS) if self.is_text else exact
                copies, bad = _READ[field](exact, is_haploid, alleles)
            # Only where no field before had a value: the order of fields decides.
            found = np.where(open_, copies, found)
            is_bad |= open_ & bad
        found = np.where(is_bad | is_half, np.nan, found)
        notes[HALF_CALLS] += int(np.count_nonzero(is_half))
        notes[NO_DOSAGES] += int(np.count_nonzero(is_bad))
        units = np.floor(np.where(np.isnan(found), 0, found) * COPY + 0.5)
        return np.where(np.isnan(found), NO_DOSAGE, units).astype(np.uint16)

    def _may_be_haploid(self, record: Variant) -> bool:
        code = chromosome_code(record.CHROM, self.autosomes)
        return code is not None and code > self.autosomes and code != self.autosomes + _XY


def _calls(record: Variant, people: int, alleles: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Copies of each alternate allele by GT, float64 (alleles, n); who has one allele, None without GT; and
    whose call is odd.
    """
    none = np.full((alleles, people), np.nan)
    if "GT" not in record.FORMAT:
        return none, None, np.zeros(people, bool)
    called = record.genotype.array()[:, :-1]  # -1 is missing, -2 is no further allele; the last is the phase
    number = np.arange(1, 1 + alleles)[:, None]
    first = called[:, 0]
    if called.shape[1] == 1:
        is_odd = first > alleles
        return np.where((first < 0) | is_odd, none, 2.0 * (first == number)), np.ones(people, bool), is_odd
    second = called[:, 1]
    is_haploid = second == -2
    is_half = ~is_haploid & ((first < 0) != (second < 0)) | (called[:, 2:] != -2).any(axis=1)
    is_half |= (called[:, :2] > alleles).any(axis=1)
    copies = (first == number) + np.where(is_haploid, first == number, second == number).astype(float)
    return np.where((first < 0) | is_half, none, copies), is_haploid, is_half


def _of_ds(values: np.ndarray, is_haploid: np.ndarray | None, alleles: int) -> tuple[np.ndarray, np.ndarray]:
    copies = _columns(values, alleles) * (1 if is_haploid is None else np.where(is_haploid, 2, 1))
    bad = np.asarray(((copies < 0) | (copies > 2)).any(axis=0))
    if alleles > 1:
        known = ~np.isnan(values)
        bad |= known.any(axis=1) & (np.isnan(copies).any(axis=0) | known[:, alleles:].any(axis=1))
        bad |= copies.sum(axis=0) > 2 + _ABOVE
    return copies, bad


def _of_hds(values: np.ndarray, is_haploid: np.ndarray | None, alleles: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = _columns(values, 2)
    bad = (values < 0).any(axis=1) | (values > 1).any(axis=1) | (values.shape[1] > 2)
    return np.where(np.isnan(second), 2 * first, first + second)[None], bad


def _of_gp(values: np.ndarray, is_haploid: np.ndarray | None, alleles: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dosages from GP, and mark the bad ones; probabilities that are all zero give no dosage, whatever
    GT says.

    Genotypes stand in VCF's order: 0/0, 0/1, 1/1, 0/2, 1/2, 2/2; of who has one allele, the alleles do.
    """
    genotypes = [(j, k) for k in range(alleles + 1) for j in range(k + 1)]
    chances = _columns(values, len(genotypes))
    is_single = np.isnan(chances[alleles + 1]) & ~np.isnan(chances[alleles])
    total, copies = chances[0], np.zeros((alleles, len(values)))
    for place, genotype in enumerate(genotypes[1:], 1):
        total = total + np.where(is_single & (place > alleles), 0, chances[place])
        for allele in genotype:
            if allele:
                copies[allele - 1] += chances[place]
    copies = np.where(is_single, 2 * chances[1 : alleles + 1], copies) / np.where(total > 0, total, np.nan)
    bad = (values < 0).any(axis=1) | (total == 0)
    bad |= is_single & (~is_haploid if is_haploid is not None else True)
    if alleles > 1:
        known = ~np.isnan(values)
        bad |= known.any(axis=1) & (np.isnan(total) | known[:, len(genotypes) :].any(axis=1))
    return copies, bad


def _columns(values: np.ndarray, number: int) -> np.ndarray:
    """The first columns of (n, k) as rows, (number, n); NaN where there are fewer."""
    if values.shape[1] >= number:
        return values.T[:number]
    out = np.full((number, len(values)), np.nan)
    out[: values.shape[1]] = values.T
    return out


_READ = {"DS": _of_ds, "HDS": _of_hds, "GP": _of_gp}


def open_vcf(path: Path, wanted: str | None, autosomes: int) -> VcfFile:
    """The file with the field that its dosages are taken from: `wanted`, or the best that the header names.

    DataProblem if it cannot be read or has none; ImportError without cyvcf2.
    """
    from cyvcf2 import VCF

    with readable(path, *_READS):
        file = VCF(str(path))
        people, has = tuple(file.samples), [field for field in DOSAGE_FIELDS if _has(file, field)]
        _check_end(path, of_calls=has == ["GT"])
        info = next((name for name in _QUALITIES if _has(file, name, _INFO)), None)
        is_text = not _is_bcf(path)
    if not people:
        raise DataProblem(
            "the file has no samples, only variants",
            file=path,
            remedy="Give the file with the genotypes, as it came from genotyping or imputation.",
        )
    if wanted is None and not has:
        raise DataProblem(
            f"the file has neither dosages nor calls: no line ##FORMAT for {', '.join(DOSAGE_FIELDS)}",
            file=path,
            remedy="Write it with one of these, as imputation servers do.",
        )
    if wanted is not None and wanted not in has:
        raise DataProblem(
            f"the file has no {wanted}: no line ##FORMAT says so",
            file=path,
            remedy=f"Choose by --vcf-dosage what it has: {listed(has)}."
            if has
            else "It has no dosages at all.",
        )
    return VcfFile(path, people, wanted or has[0], autosomes, is_text, info)


def _has(file: VCF, field: str, kind: int = _FORMAT) -> bool:
    try:
        file.get_header_type(field, order=[kind])
    except KeyError:
        return False
    return True


def _is_bcf(path: Path) -> bool:
    """Tell whether the file begins as BCF, whose numbers have single precision; htslib decides in the same
    way.
    """
    with gzip.GzipFile(path) if _begins_with(path, _GZIP) else path.open("rb") as file:
        return file.read(3) == b"BCF"


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _check_end(path: Path, *, of_calls: bool) -> None:
    """DataProblem if the file does not end as a whole one: htslib reads one cut at a block's end.

    Text without its last line end is whole if it ends with a whole call, and is `of_calls` alone.
    """
    with path.open("rb") as file:
        head = file.read(18)
        file.seek(max(0, path.stat().st_size - len(_LAST_BLOCK)))
        tail = file.read()
    is_blocks = head[:2] == _GZIP and head[12:14] == b"BC"
    is_open_text = not is_blocks and head[:1] == b"#" and not tail.endswith(b"\n")
    if is_open_text and not (of_calls and _WHOLE_CALL.search(tail)):
        remedy = "Copy it again. If it is whole, only its last line end is missing: `echo >> FILE` adds it."
    elif is_blocks and not tail.endswith(_LAST_BLOCK):
        remedy = "Copy it again. Was the disk full?"
    else:
        return
    raise DataProblem("the file was cut off: its end is missing", file=path, remedy=remedy)
