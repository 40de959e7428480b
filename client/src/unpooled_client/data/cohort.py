"""A cohort's files as a method sees them: opened and checked, then aligned with the panel of a study."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unpooled.asking.cohort import Dosages, Packed, Samples
from unpooled.memory.spool import Spool, forget, slices
from unpooled.methods.phenotypes import have_all
from unpooled.panel.agreement import align, merged
from unpooled.panel.filesets import OF_PFILE
from unpooled.panel.panel import Panel
from unpooled.plan.floors import QUANTITATIVE
from unpooled_client.data.checks.calls import check_sexes, look_at_calls
from unpooled_client.data.checks.collinear import check_collinear, check_sex
from unpooled_client.data.checks.data_checks import check_floors, check_samples, summarise
from unpooled_client.data.checks.outliers import check_outliers
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.data.imputed.copies import silent, with_copy
from unpooled_client.data.imputed.pieces import Reading, told
from unpooled_client.data.options import DataOptions, check_options
from unpooled_client.data.plink.bed import BedFile, has_header, has_size
from unpooled_client.data.plink.bim import read_bim
from unpooled_client.data.plink.fam import Fam, check_duplicates, read_fam
from unpooled_client.data.plink.genotypes import Genotypes
from unpooled_client.data.plink.pgen import PgenFile, is_pgen, open_pgen
from unpooled_client.data.plink.variants import Variants
from unpooled_client.data.samples.covariates import Covariates, read_covariates
from unpooled_client.data.samples.phenotype import Phenotype, read_phenotypes
from unpooled_client.data.samples.selection import (
    check_conditions,
    read_selection,
    select_variants,
    well_imputed,
)


@dataclass(frozen=True, eq=False)
class PlinkCohort:
    """One cohort's PLINK files, aligned with a panel: an `unpooled.asking.cohort.Cohort`."""

    samples: Samples
    genotypes: Genotypes
    rows: np.ndarray
    """int32 (m,): row in the file of each of the panel's variants; -1 where the cohort has none."""
    swapped: np.ndarray
    """bool (m,): the file's A1 is the panel's second allele."""

    def packed(self, variants: slice | np.ndarray) -> Packed:
        """The genotypes of some variants, by panel index."""
        return Packed(self.genotypes.words(self.rows[variants].astype(np.int64)), self.swapped[variants])

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        return Dosages(self.genotypes.dosages(self.rows[variants].astype(np.int64)), self.swapped[variants])


@dataclass(frozen=True, eq=False)
class PlinkData:
    """One cohort's PLINK files, opened and checked, before there is a panel."""

    options: DataOptions
    samples: Samples
    variants: Variants
    genotypes: Genotypes
    phenotypes: tuple[str, ...]
    """Names of the phenotypes in the files; empty if the study needs none."""
    trait: str
    covariates: tuple[str, ...]

    @property
    def panel(self) -> Panel:
        """The cohort's own list of variants."""
        return self.variants.panel

    @functools.cached_property
    def listed(self) -> Panel:
        """The list that is sent: with the variants that cannot be used, so that all hear why they are out."""
        unusable = self.variants.unusable
        if unusable is None or not len(unusable):
            return self.panel
        return Panel.joined(part.put_away() for part in merged([self.panel, unusable]))

    def of_phenotype(self, place: int) -> PlinkData:
        """The same files, as if they had only the phenotype at this place."""
        samples = self.samples.of_phenotype(place)
        return replace(self, samples=samples, phenotypes=self.phenotypes[place : place + 1])

    def align(self, panel: Panel) -> PlinkCohort:
        """The cohort as a study with this panel asks it."""
        alignment = align(panel, self.panel, self.variants.a1_is_first)
        rows = Spool(np.int32)
        for part in slices(len(panel)):
            index = alignment.index[part]
            found = index >= 0
            row = np.full(len(index), -1, np.int32)
            row[found] = self.variants.row[index[found]]
            rows.append(row)
            forget(alignment.index, self.variants.row)
        return PlinkCohort(self.samples, self.genotypes, rows.column(), alignment.swapped)


def open_cohort(options: DataOptions, reading: Reading = silent) -> tuple[PlinkData | None, Report]:
    """Read and check all files of a cohort. Opens no socket.

    Returns the data, or None if there is any error, and the report with all findings. A file of another
    format is copied first, which may take long.
    """
    report = Report()
    if not check_options(options, report):
        return None, report
    copied = with_copy(options, report, reading)
    if copied is None:
        return None, report
    options = copied
    with told(reading, options.samples):
        fam = read_fam(options.samples, report)
    with told(reading, options.variants):
        variants = read_bim(
            options.variants, report, options.chr_set, build=options.build, by_place=options.by_place
        )
    # Before variants are chosen: the size of the file goes by all that it has.
    genotypes = _genotypes(options, fam, variants, report)
    if options.dosages and genotypes is not None and not genotypes.has_dosages:
        _tell_of_calls(genotypes, report)
    if fam is None:
        return None, report
    if variants is not None:
        variants = select_variants(variants, options, report)
        if isinstance(genotypes, PgenFile):
            variants = well_imputed(variants, genotypes, options, report)
        check_conditions(variants, options, report)
    tables = (options.pheno, options.covar, options.keep, options.remove)
    check_duplicates(fam, any(path is not None for path in tables), report)
    before = len(report.of(Severity.ERROR))
    with told(reading, *dict.fromkeys(path for path in tables if path is not None)):
        kept = read_selection(fam, options, report)
        phenotypes = read_phenotypes(fam, options, report)
        covariates = read_covariates(fam, options, kept, report)
    sound = len(report.of(Severity.ERROR)) == before
    if phenotypes is None or covariates is None:
        return None, report
    samples = _samples(fam, phenotypes, covariates, kept, options)
    names = tuple(phenotype.name for phenotype in phenotypes)
    trait = phenotypes[0].trait if phenotypes else QUANTITATIVE
    check_samples(fam, samples, phenotypes, options, report)
    check_outliers(fam, samples, covariates, phenotypes, options, report)
    if options.covar is not None:
        check_collinear(samples, covariates, names, options.covar, report)
        if variants is not None and (variants.panel.chromosome == options.chr_set + 1).any():
            check_sex(samples, covariates, options.covar, report)
    if sound:  # else people are missing for another reason, which is in the report
        check_floors(samples, names, trait, options, report)
    summarise(samples, phenotypes, trait, covariates, variants, options, report)
    # A line of the .fam that is too short is reported already, and shifts the calls.
    if variants is not None and genotypes is not None and genotypes.samples == len(samples):
        with told(reading, genotypes.path):
            check_sexes(fam, samples, variants, genotypes, options.chr_set, report)
            about = look_at_calls(fam, samples, variants, genotypes, options.chr_set, report)
        report.summary["calls"] = about
    if variants is None or genotypes is None or not report.ok:
        return None, report
    return PlinkData(options, samples, variants, genotypes, names, trait, covariates.names), report


def _tell_of_calls(genotypes: Genotypes, report: Report) -> None:
    report.note(
        Code.CALLS_ONLY,
        "the study is of imputed dosages; this file has calls only, which count as whole copies",
        file=genotypes.path,
        remedy="If these were imputed, give the file that has the dosages: --pfile, --vcf or --bgen.",
    )


def _samples(
    fam: Fam, phenotypes: Sequence[Phenotype], covariates: Covariates, kept: np.ndarray, options: DataOptions
) -> Samples:
    """The people, of whom those without all phenotypes count nowhere if the plan wants it so."""
    values = [phenotype.values for phenotype in phenotypes] or [np.full(len(fam), np.nan)]
    if options.require_pheno:
        kept = kept & have_all(values)
    if not options.allow_no_sex:
        values = [np.where(fam.sex == 0, np.nan, column) for column in values]
    first, *further = values
    return Samples(first, fam.sex, fam.founder, kept, covariates.values, covariates.unlisted, tuple(further))


def _genotypes(
    options: DataOptions, fam: Fam | None, variants: Variants | None, report: Report
) -> Genotypes | None:
    """The .bed or .pgen; its size can be judged only where the other two could be read."""
    path, is_pfile = options.genotypes, options.fileset is OF_PFILE
    begins = is_pgen(path, report) if is_pfile else has_header(path, report)
    if not begins or fam is None or variants is None:
        return None
    if options.is_copy:  # which has a row for each variant
        return open_pgen(path, fam.rows, variants.rows + len(variants.split), report)
    if is_pfile:
        return open_pgen(path, fam.rows, variants.rows, report, variants.split)
    bed = BedFile(path, fam.rows, variants.rows)
    return bed if has_size(bed, report) else None
