"""plink2's reports `.glm.linear` and `.glm.logistic`, with the columns of `unpooled.plan.glm_columns`.

Where plink2 codes variants in another way (X, Y, MT), `rows` are of its coding: see the methods.
REF is the commoner allele of the pool and ALT the rarer, A1, as in a pooled file that PLINK 1.9 has merged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats import titles
from unpooled.formats.association_tests import (
    as_plink2_orders,
    begin_of_sex,
    lines_of,
    of_test,
    tests,
    with_joint_test,
)
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Name, Real, Scaled, Text, Whole, write_table
from unpooled.kernels import least_squares as codes
from unpooled.kernels.statistics import scaled_p_value, with_limits
from unpooled.panel.alleles import UNSEEN
from unpooled.panel.panel import Panel
from unpooled.plan.floors import CASE_CONTROL
from unpooled.plan.glm_columns import MACH_R2, USUAL

ERRORS = {
    codes.FITTED: b".",
    codes.TOO_FEW: b"SAMPLE_CT<=PREDICTOR_CT",
    codes.CONSTANT: b"CONST_OMITTED_ALLELE",
    codes.CORRELATED: b"CORR_TOO_HIGH",
    codes.COLLINEAR: b"VIF_TOO_HIGH",
    codes.UNSTABLE: b"CORR_TOO_HIGH",
    codes.NO_RESIDUAL: b"RANK_DEFICIENT",
    codes.SEPARATED: b"SEPARATION,ALT1",
    codes.UNFINISHED: b"LOGISTIC_CONVERGE_FAIL",
    codes.PENALISED: b".",
    codes.PENALISED_UNFINISHED: b"FIRTH_CONVERGE_FAIL",
    codes.STILL: b"RANK_DEFICIENT",
    codes.SINGULAR: b"VIF_INFINITE",
    codes.FEW: b"FEW_CARRIERS",
}
_SEPARATED_BY_REF = len(ERRORS)
_DIGITS = 6


def chromosome_names(autosomes: int) -> list[bytes]:
    """The name of each chromosome code from 0 to 255."""
    names = [b"%d" % code for code in range(256)]
    names[autosomes + 1 : autosomes + 5] = b"X", b"Y", b"XY", b"MT"
    return names


def _errors(rows: Arrays, variant: NDArray[np.int64], layout: Layout, penalised: bool) -> NDArray[np.int64]:
    """Return the error code that is written for each variant without an estimate.

    Where a column does not vary, a logistic iteration of plink2 runs off, and Firth's too. It names the
    allele that only cases or only controls have, REF if both are such; if none is, though no case has fewer
    copies than any control, its iteration runs off.
    """
    code = rows["code"][variant].astype(np.int64)
    if layout.trait != "quantitative":
        fails = codes.PENALISED_UNFINISHED if penalised else codes.SEPARATED
        code[code == codes.STILL] = fails
    separated = code == codes.SEPARATED
    if separated.any():
        code[separated] = np.select(
            [~rows["common_a2"][variant][separated], ~rows["common_a1"][variant][separated]],
            [_SEPARATED_BY_REF, codes.SEPARATED],
            codes.UNFINISHED,
        )
    return code


def write_glm(
    file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout, *, penalised: bool, falls_back: bool
) -> None:
    """`.glm.logistic`, or `.glm.linear`.

    `penalised`: variants may be fitted by Firth's likelihood; `falls_back`: only those that need it.
    """
    logistic = layout.trait == CASE_CONTROL
    names, of_sex = tests(layout, rows), begin_of_sex(layout, rows)
    chromosomes = chromosome_names(layout.autosomes)
    errors = [*(ERRORS[code] for code in range(len(ERRORS))), b"SEPARATION,REF"]
    variants = Variants(_as_plink2_writes(panel), rows, [*names, *errors, *chromosomes, b"N", b"Y"])
    lines = lines_of(layout, panel, rows)
    wanted = _wanted(layout) - (set() if falls_back else {"firth"})
    odds = layout.odds and "beta" not in wanted
    effect = titles.ODDS_RATIO if odds else titles.BETA
    error_of_effect = titles.SE_OF_LOG_ODDS if odds else titles.SE
    statistic = _statistic(layout, logistic)
    of_lower, of_upper = titles.of_limits(layout.limits)
    at_error = variants.labels + len(names)
    at_chromosome = at_error + len(errors)
    at_yes_no = at_chromosome + len(chromosomes)

    def block(part: slice) -> list[Column]:
        variant, test = lines.of(part)
        chromosome = panel.chromosome[rows["variant"][variant]].astype(np.int64)
        test = as_plink2_orders(layout, test, (chromosome == layout.autosomes + 1) & (of_sex is not None))
        beta, se, neg_log10_p = (of_test(rows[name], variant, test) for name in ("beta", "se", "neg_log10_p"))
        code = rows["code"][variant]
        refused = np.isin(code, codes.REFUSED_BY_PLINK2)
        beta, se, neg_log10_p = (np.where(refused, np.nan, column) for column in (beta, se, neg_log10_p))
        if (
            of_sex is not None
        ):  # plink2 counts a woman as 2, a man as 1, in its product with the genotype, too
            beta = np.where(test >= of_sex, -beta, beta)
        with np.errstate(invalid="ignore", divide="ignore"):
            score, neg_log10_p = with_joint_test(rows, (variant, test), beta / se, neg_log10_p, by_f=True)
        shown, lower, upper = with_limits(beta, se, layout.limits, odds=odds)
        p, down = scaled_p_value(np.where(refused, np.nan, neg_log10_p))
        score = np.where(refused, np.nan, score)
        error = np.where(np.isnan(score), _errors(rows, variant, layout, penalised), codes.FITTED)
        fell_back = np.isin(code, (*codes.OF_PENALISED, codes.STILL)).astype(np.int64)
        a1, a2 = variants.a1(variant).values, variants.a2(variant).values
        # One copy of each on Y and MT; on X plink2 counts two of men, too.
        single = np.isin(chromosome, (layout.autosomes + 2, layout.autosomes + 4))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            columns: list[tuple[str, Column]] = [
                ("chrom", Text(titles.CHROMOSOME.plink2, 0, at_chromosome + chromosome)),
                ("pos", Whole(titles.POSITION.plink2, 0, variants.position(variant).values)),
                ("id", Name(titles.NAME.plink2, 0, variants.name(variant).values)),
                *_of_alleles(a1, a2, rows["a1_freq"][variant], rows["n"][variant] * np.where(single, 1, 2)),
                ("machr2", _mach_r2(layout, rows, variant, chromosome)),
                ("firth", Text("FIRTH?", 0, at_yes_no + fell_back)),
                ("test", Text(titles.TEST.plink2, 0, variants.labels + test)),
                ("nobs", Whole(titles.PEOPLE.plink2, 0, rows["n"][variant])),
                ("effect", Real(effect.plink2, 0, shown, digits=_DIGITS)),
                ("se", Real(error_of_effect.plink2, 0, se, digits=_DIGITS)),
                ("ci", Real(of_lower, 0, lower, digits=_DIGITS)),
                ("ci", Real(of_upper, 0, upper, digits=_DIGITS)),
                ("tz", Real(statistic.plink2, 0, score, digits=_DIGITS)),
                ("p", Scaled(titles.P.plink2, 0, p, digits=_DIGITS, down=down)),
                ("err", Text("ERRCODE", 0, at_error + error)),
            ]
        first, *others = [column for name, column in columns if name in wanted]
        return [replace(first, title=f"#{first.title}"), *others]

    write_table(file, len(lines), block, variants.pool, separator=b"\t")


def _mach_r2(layout: Layout, rows: Arrays, variant: NDArray[np.int64], chromosome: NDArray[np.int64]) -> Real:
    """NA on X and MT, where plink2 computes none; nan where everybody has one allele."""
    found = rows[MACH_R2][variant] if MACH_R2 in rows else np.full(len(variant), np.nan)
    none = np.isin(chromosome, (layout.autosomes + 1, layout.autosomes + 4))
    return Real("MACH_R2", 0, found, missing=none, digits=_DIGITS)


def _statistic(layout: Layout, logistic: bool) -> titles.Title:
    """Return the title of the statistic; in a report with a joint test it names both."""
    if layout.terms.joint:
        return titles.Z_OR_F if logistic else titles.T_OR_F
    return titles.Z if logistic else titles.T


def _of_alleles(
    a1: NDArray[np.int64], a2: NDArray[np.int64], frequency: NDArray[np.float64], alleles: NDArray[np.int64]
) -> list[tuple[str, Column]]:
    """Columns about the alleles: which they are, how frequent A1 is, and among how many (of none: nan)."""
    none = np.zeros(len(a1), bool)
    return [
        ("ref", Text(titles.A2.plink2, 0, a2)),
        ("alt1", Text("ALT1", 0, a1)),
        ("alt", Text("ALT", 0, a1)),
        ("a1", Text(titles.A1.plink2, 0, a1)),
        ("ax", Text(titles.OTHER_ALLELE.plink2, 0, a2)),
        ("a1count", Real("A1_CT", 0, np.where(alleles > 0, frequency * alleles, 0), digits=_DIGITS)),
        ("totallele", Whole(titles.ALLELES.plink2, 0, alleles)),
        ("a1freq", Real(titles.FREQUENCY.plink2, 0, frequency, missing=none, digits=_DIGITS)),
    ]


def _wanted(layout: Layout) -> set[str]:
    wanted = {"id", "a1", *(layout.glm_columns or USUAL)} - (set() if layout.limits else {"ci"})
    return wanted | ({"effect"} if {"beta", "orbeta"} & wanted else set())


def _as_plink2_writes(panel: Panel) -> Panel:
    """An allele that nobody has is a dot."""
    return replace(panel, alleles=tuple(b"." if allele == UNSEEN else allele for allele in panel.alleles))
