"""A cohort's samples as a whole: sexes, founders, the disclosure floor, the summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from unpooled.asking.cohort import FEMALE, MALE, UNKNOWN_SEX, Samples
from unpooled.methods import TESTS
from unpooled.methods.shared.groups import complete
from unpooled.panel.filesets import OF_PFILE
from unpooled.plan.floors import CASE_CONTROL, MIN_PER_CLASS, MIN_SAMPLES
from unpooled_client.data.estimate import described
from unpooled_client.data.findings.report import Code, Report, shown
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.plink.fam import kind_of as kind_of_samples
from unpooled_client.data.plink.layout import kind_of as kind_of_variants
from unpooled_client.data.plink.variants import Variants, by_chromosome
from unpooled_client.data.samples.covariates import Covariates
from unpooled_client.data.samples.numbers import mean
from unpooled_client.data.samples.phenotype import Phenotype

BINS = 12


def check_samples(
    fam: Fam, samples: Samples, phenotypes: Sequence[Phenotype], options: DataOptions, report: Report
) -> None:
    """Unknown sexes, missing founders, phenotypes that are missing or all the same."""
    _check_sex(fam, samples, phenotypes, options, report)
    if not (samples.founder & samples.kept).any() and samples.kept.any():
        report.warning(
            Code.NO_FOUNDERS,
            "no sample is a founder (both parents 0)",
            file=fam.path,
            column=3,
            remedy="Frequencies are of founders, as in PLINK: if no cohort has any, they are NA, unless the "
            "plan says --nonfounders.",
        )
    for phenotype, values in zip(phenotypes, samples.phenotypes, strict=False):  # there may be none
        _check_values(phenotype, values[samples.kept], of=_of(phenotype.name, phenotypes), report=report)


def _of(name: str, all_of_them: Sequence[object]) -> str:
    """Return the name of one of several phenotypes, after a blank; empty if there is only one."""
    return f" {name}" if len(all_of_them) > 1 else ""


def _check_values(phenotype: Phenotype, values: np.ndarray, *, of: str, report: Report) -> None:
    """`values` are those of the people who are kept."""
    known = values[~np.isnan(values)]
    if phenotype.trait != CASE_CONTROL and len(known) and known.min() == known.max():
        report.warning(
            Code.PHENOTYPE_CONSTANT,
            f"the phenotype {phenotype.name} is the same for everybody here",
            read=f"{known[0]:g}",
            remedy="Is it the right column (--pheno-name, --mpheno)?",
        )
    missing = len(values) - len(known)
    if missing:
        report.note(
            Code.PHENOTYPE_MISSING,
            f"a sample has no phenotype{of}: it counts in frequencies, not in the test",
            count=missing,
        )


def _check_sex(
    fam: Fam, samples: Samples, phenotypes: Sequence[Phenotype], options: DataOptions, report: Report
) -> None:
    unknown = np.flatnonzero((samples.sex == UNKNOWN_SEX) & samples.kept)
    if not len(unknown):
        return
    tell = report.note if options.allow_no_sex else report.warning
    lost = any((~np.isnan(phenotype.values[unknown])).any() for phenotype in phenotypes)
    tell(
        Code.SEX_UNKNOWN,
        "the sex of a sample is unknown"
        if options.allow_no_sex or not lost
        else "the sex of a sample is unknown, so its phenotype is taken as missing, as PLINK does",
        expected="1 for male, 2 for female",
        remedy="" if options.allow_no_sex else "Write the sex, or keep these phenotypes with --allow-no-sex.",
        **fam.at(unknown, 5) | {"read": shown(fam.tokens.word(int(unknown[0]), 4))},
    )


def check_floors(
    samples: Samples, phenotypes: Sequence[str], trait: str, options: DataOptions, report: Report
) -> None:
    """Decline a cohort that is so small that sums of it may tell of single people."""
    if not phenotypes:
        _check_people(int(np.count_nonzero(samples.kept)), "are left", options, report)
    for place, name in enumerate(phenotypes):
        _check_floors(samples.of_phenotype(place), _of(name, phenotypes), trait, options, report)


def _check_floors(samples: Samples, of: str, trait: str, options: DataOptions, report: Report) -> None:
    by_plan = options.from_plan and samples.covariates.size > 0  # only a plan says which covariates count
    values = samples.phenotype[complete(samples) if by_plan else samples.kept & ~np.isnan(samples.phenotype)]
    known = f"have {f'the phenotype{of}' if of else 'a phenotype'}{' and every covariate' * by_plan}"
    _check_people(len(values), known, options, report)
    if trait == CASE_CONTROL:
        _check_classes(values, of, options, report)


def _check_people(people: int, which: str, options: DataOptions, report: Report) -> None:
    fewest = MIN_SAMPLES if options.min_samples is None else options.min_samples
    if people < fewest:
        report.error(
            Code.TOO_FEW_SAMPLES,
            f"too few samples {which}",
            read=str(people),
            expected=f"at least {fewest}",
            remedy="A cohort this small must not take part. If too many phenotypes are missing, see above.",
        )


def _check_classes(values: np.ndarray, of: str, options: DataOptions, report: Report) -> None:
    least = MIN_PER_CLASS if options.min_per_class is None else options.min_per_class
    counts = {1: int((values == 1).sum()), 0: int((values == 0).sum())}
    for value, code, what in ((1, Code.TOO_FEW_CASES, "cases"), (0, Code.TOO_FEW_CONTROLS, "controls")):
        has, others = counts[value], counts[1 - value]
        if has >= least or (has == 0 and others and options.one_class):
            continue
        report.error(
            code,
            f"too few {what}{of and f' of{of}'}",
            read=str(has),
            expected=f"at least {least}"
            + (", or none with --one-class" if not options.one_class else " or none"),
            remedy="If this cohort is meant to have none of them, say so with --one-class."
            if not has
            else "Is it the right coding (--1) and the right column (--pheno-name)?",
        )


def summarise(
    samples: Samples,
    phenotypes: Sequence[Phenotype],
    trait: str,
    covariates: Covariates,
    variants: Variants | None,
    options: DataOptions,
    report: Report,
) -> None:
    """Put into the report what the files hold."""
    report.summary = {
        "samples": _count_samples(samples, kind_of_samples(options.samples)),
        **report.summary,
        "phenotypes": [
            _describe(values[samples.kept], phenotype)
            for phenotype, values in zip(phenotypes, samples.phenotypes, strict=False)
        ],
        "covariates": covariates.summary,
    }
    if variants is None:
        return
    report.summary |= {
        "variants": {
            f"in the {kind_of_variants(options.variants)}": variants.rows,
            "read": len(variants),
            "by chromosome": by_chromosome(variants, options.chr_set),
            **variants.about,
        },
        "estimate": _estimate(samples, trait, variants, options),
    }


def _estimate(samples: Samples, trait: str, variants: Variants, options: DataOptions) -> dict[str, str]:
    tests = [test for test in TESTS.values() if options.test in ("", test.name)]
    return described(
        int(samples.kept.sum()),
        len(variants),
        samples.covariates.shape[1],
        [test for test in tests if trait in test.traits],
        os.cpu_count() or 1,
        0 if variants.panel.by_place else variants.panel.name.dtype.itemsize,
        of_pgen=options.fileset is OF_PFILE,
        dosages=options.dosages,
    )


def _count_samples(samples: Samples, kind: str) -> dict[str, int]:
    kept = samples.kept
    return {
        f"in the {kind}": len(samples),
        "removed": int((~kept).sum()),
        "kept": int(kept.sum()),
        "males": int((samples.sex[kept] == MALE).sum()),
        "females": int((samples.sex[kept] == FEMALE).sum()),
        "sex unknown": int((samples.sex[kept] == UNKNOWN_SEX).sum()),
        "founders": int(samples.founder[kept].sum()),
    }


def _describe(values: np.ndarray, phenotype: Phenotype) -> dict[str, Any]:
    """`values` are those of the people who are kept."""
    known = values[~np.isnan(values)]
    about: dict[str, Any] = {"name": phenotype.name, "trait": phenotype.trait, "coding": phenotype.coding}
    if phenotype.trait == CASE_CONTROL:
        about |= {"cases": int((known == 1).sum()), "controls": int((known == 0).sum())}
    elif len(known):
        about |= {
            "samples": len(known),
            "smallest": float(known.min()),
            "mean": mean(known),
            "largest": float(known.max()),
            "distribution": _distribution(known),
        }
    return (
        about
        | {"missing": len(values) - len(known), "values seen": phenotype.counts}
        | ({"missing as": phenotype.missing_as} if phenotype.missing_as else {})
    )


def _distribution(known: np.ndarray) -> dict[str, int]:
    """Return a histogram of the values in BINS equal bins, keyed by each bin's lower end."""
    if np.abs(known).max() > 1e300:  # a range that is no number
        return {}
    counts, ends = np.histogram(known, BINS)
    return {f"{end:.3g}": int(count) for end, count in zip(ends[:-1], counts, strict=True)}
