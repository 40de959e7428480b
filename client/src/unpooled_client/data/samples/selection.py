"""--keep, --remove, and the plan's sex: which samples count. --chr, --extract and --exclude: which variants.

As in plink1.9 (tried with v1.90b6.26): in a list of samples the first two words of a line are FID and IID,
the rest is ignored; a list of variants is IDs separated by blanks or on lines of their own. What is listed
but not there is ignored, what is listed twice counts once; --remove follows --keep, --exclude --extract.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE
from unpooled.panel.chromosomes import chromosome_codes
from unpooled.plan.common_options import EVERYONE, FEMALES, MALES
from unpooled_client.data.findings.report import Code, Report, shown
from unpooled_client.data.findings.source import read_bytes
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.plink.pgen import PgenFile
from unpooled_client.data.plink.variants import Variants
from unpooled_client.data.samples.table import read_table


def read_selection(fam: Fam, options: DataOptions, report: Report) -> np.ndarray:
    """Mark the samples that count, bool (n,)."""
    kept = np.ones(len(fam), bool)
    if (
        options.keep is not None
        and (listed := _listed(options.keep, "the --keep file", fam, report)) is not None
    ):
        kept &= listed
    if options.remove is not None and not _is_empty(options.remove):
        listed = _listed(options.remove, "the --remove file", fam, report)
        kept &= True if listed is None else ~listed
    if not kept.any():
        report.error(
            Code.NOBODY_LEFT, "no sample is left after --keep and --remove", remedy="Look at both lists."
        )
        return kept
    return np.asarray(kept & _of_the_plans_sex(fam, kept, options, report))


def _of_the_plans_sex(fam: Fam, kept: np.ndarray, options: DataOptions, report: Report) -> np.ndarray:
    """Mark the people of the sex that the plan is about, bool (n,); as in PLINK, people of unknown sex are
    excluded.
    """
    if options.sexes == EVERYONE:
        return np.ones(len(fam), bool)
    code = {MALES: MALE, FEMALES: FEMALE}[options.sexes]
    chosen = np.asarray(fam.sex == code)
    if not (chosen & kept).any():
        report.error(
            Code.NO_SUCH_SEX,
            f"the plan is about {options.sexes} only, and there are none here",
            file=fam.path,
            column=5,
            read=", ".join(sorted({shown(word) for word in fam.words_of_sex[kept].tolist()})),
            expected=f"{code} for {options.sexes}",
            remedy="Correct the column of sexes if it has them in another way. If there really are none, "
            "this cohort cannot take part: tell the coordinator.",
        )
    return chosen


def select_variants(variants: Variants, options: DataOptions, report: Report) -> Variants:
    """The variants that are chosen; the report hears how many are not."""
    chosen = np.ones(len(variants), bool)
    if options.chromosomes:
        wanted = np.zeros(256, bool)
        wanted[list(chromosome_codes(options.chromosomes, options.chr_set))] = True
        chosen &= wanted[variants.panel.chromosome]
    if options.extract is not None:
        chosen &= _listed_variants(options.extract, "the --extract file", variants, report)
    if options.exclude is not None and not _is_empty(options.exclude):
        chosen &= ~_listed_variants(options.exclude, "the --exclude file", variants, report)
    if len(variants) and not chosen.any():
        report.error(
            Code.NO_VARIANT_LEFT,
            "no variant is left after --chr, --extract and --exclude",
            remedy="Look at the lists, and at the plan's chromosomes.",
        )
    if not chosen.all():
        out = int(np.count_nonzero(~chosen))
        report.note(Code.VARIANT_NOT_CHOSEN, "a variant is left out as was asked", count=out)
        variants = variants.take(chosen)
    return variants


def well_imputed(variants: Variants, genotypes: PgenFile, options: DataOptions, report: Report) -> Variants:
    """The variants that --minimac3-r2-filter leaves; the report hears how many it does not.

    Their quality is that of `unpooled_client.data.plink.imputation`; of a VCF without phased dosages it is
    what its imputation wrote into INFO. Where all people have the same there is none, and the variant stays,
    as in plink2. It stays at the cohort: a variant that is left out is one that it lacks.
    """
    least = options.minimac3_r2_filter
    if least is None:
        return variants
    written = None if options.quality is None else np.memmap(options.quality, "<f4", "r")
    poor, known = np.zeros(len(variants), bool), 0
    for rows, part in variants.parts():
        quality = genotypes.minimac3_r2(part.row) if written is None else written[part.row]
        poor[rows] = quality < least
        known += int(np.count_nonzero(~np.isnan(quality)))
    report.summary["imputation"] = {
        "variants with a quality": known,
        f"left out, below {least:g}": int(np.count_nonzero(poor)),
    }
    if poor.all():
        report.error(
            Code.NO_VARIANT_LEFT,
            f"no variant is left after --minimac3-r2-filter {least:g}",
            file=genotypes.path,
            remedy="Choose a smaller number, or look whether the file has phased dosages.",
        )
        return variants
    if poor.any():
        out = int(np.count_nonzero(poor))
        report.note(Code.VARIANT_NOT_CHOSEN, "a variant is left out as was asked", count=out)
    return variants.take(~poor)


def check_conditions(variants: Variants, options: DataOptions, report: Report) -> None:
    """Tell of a variant that the plan conditions on, and that this cohort does not have once."""
    for name in options.condition:
        times = np.count_nonzero(variants.panel.name == name.encode())
        if times != 1:
            report.error(
                Code.VARIANT_ABSENT,
                f"the plan conditions on the variant {name}, which is not among those that are read"
                if not times
                else f"the plan conditions on the variant {name}, and several have this ID",
                file=options.variants,
                expected=name,
                remedy="Look whether it has another ID in this file, or was left out by --extract, --exclude "
                "or the plan's chromosomes. If this cohort lacks it, tell the coordinator.",
                about=name,
            )


def _listed_variants(path: Path, what: str, variants: Variants, report: Report) -> np.ndarray:
    """The variants that a file lists, bool (m,); all where it cannot be read."""
    data = read_bytes(path, what, report)
    if data is None:
        return np.ones(len(variants), bool)
    wanted = np.unique(np.array(data.split(), np.bytes_))
    listed = np.zeros(len(variants), bool)
    for rows, part in variants.parts():
        name = np.asarray(part.panel.name)
        at = np.searchsorted(wanted, name).clip(max=len(wanted) - 1)
        listed[rows] = wanted[at] == name if len(wanted) else False
    return listed


def _is_empty(path: Path) -> bool:
    """An empty --remove or --exclude leaves out nothing; an empty --keep or --extract is a mistake."""
    return path.is_file() and path.stat().st_size == 0


def _listed(path: Path, what: str, fam: Fam, report: Report) -> np.ndarray | None:
    """The samples that a file lists, bool (n,), or None where it cannot be read."""
    table = read_table(path, what, fam, report, partial=True)
    if table is None:
        return None
    listed = np.zeros(len(fam), bool)
    listed[table.sample] = True
    return listed
