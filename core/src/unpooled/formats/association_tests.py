"""The tests of a regression: which there are, and which line of a report is about which."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats.layout import Layout
from unpooled.kernels.statistics import chi_squares_neg_log10_p, f_neg_log10_p
from unpooled.panel.panel import Panel

SEX, OF_X = "SEX", "(X)"
"""PLINK's name of the sex that it adds on X, and what follows where a covariate has that name."""

Which: TypeAlias = slice | NDArray[np.integer]
"""Selection of the result's variants that a block of lines is about."""


def tests(layout: Layout, rows: Arrays) -> list[bytes]:
    """Names of the tests: of the columns of `beta` and `se`, then of the joint test, if there is one, that
    where sex is a covariate last.
    """
    names = [name.encode() for name in _usual(layout)]
    names += _of_sex(layout)[: rows["beta"].shape[1] - len(names)]
    joint = dict.fromkeys((layout.terms.joint, layout.terms_with_sex.joint))
    return names + [name.encode() for name in joint if name]


def _usual(layout: Layout) -> list[str]:
    """The tests that every variant has by itself."""
    of_genotype, of_interactions = layout.terms.tests(layout.covariates)
    others = [] if layout.hides_covariates else [*layout.covariates, *of_interactions]
    return [*of_genotype, *others]


def begin_of_sex(layout: Layout, rows: Arrays) -> int | None:
    """The test of the sex that PLINK adds on X: those from it on are of sex. None where there is none.

    It is found by its place: a cohort's own covariate may be called SEX, too.
    """
    usual = len(_usual(layout))
    return usual if rows["beta"].shape[1] > usual else None


def _of_sex(layout: Layout) -> list[bytes]:
    """The tests that follow where sex is a covariate: its own, and that of its product with the genotype."""
    own, columns = SEX, layout.covariates
    while True:
        usual, all_ = (terms.tests((*columns, own))[1] for terms in (layout.terms, layout.terms_with_sex))
        lines = (own, *all_[len(usual) :])
        if not {*lines} & {*columns}:
            return [line.encode() for line in lines]
        own += OF_X


def as_plink2_orders(
    layout: Layout, tests: NDArray[np.int64], has_sex: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Map lines in plink2's order of tests to tests in PLINK 1.9's, where variants have a test of SEX.

    plink2 has SEX before the interactions, PLINK 1.9 after them; that with SEX is the last of both.
    """
    before, all_ = len(layout.terms.coded) + len(layout.covariates), len(_usual(layout))
    moved = np.where(tests == before, all_, tests - 1)
    is_among = (tests >= before) & (tests <= all_)
    return np.where(has_sex & is_among & (not layout.hides_covariates), moved, tests)


def of_test(column: NDArray[Any], part: Which, test: NDArray[np.int64] | int) -> NDArray[Any]:
    """Take one test for each of some rows of a column (m, tests): (k,); NaN for the joint test."""
    values = column[part]
    inside = np.minimum(test, values.shape[1] - 1)
    found = values[np.arange(len(values)), inside]
    return np.asarray(found if np.array_equal(inside, test) else np.where(inside == test, found, np.nan))


def with_joint_test(
    rows: Arrays,
    line: tuple[Which, NDArray[np.int64]],
    statistic: NDArray[np.float64],
    neg_log10_p: NDArray[np.float64],
    *,
    by_f: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Statistics and -log10 P of some lines, with those of the joint test: chi-square, or F as in plink2."""
    if "joint" not in rows:
        return statistic, neg_log10_p
    variant, test = line
    is_joint, joint, freedom = test >= rows["beta"].shape[1], *of_joint_test(rows, variant)
    if by_f:
        p, joint = f_neg_log10_p(joint, freedom, rows["n"][variant]), joint / freedom
    else:
        p = chi_squares_neg_log10_p(joint, freedom)
    return np.where(is_joint, joint, statistic), np.where(is_joint, p, neg_log10_p)


def of_joint_test(rows: Arrays, part: Which) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Chi-square of the joint test of some rows, and its degrees of freedom."""
    return rows["joint"][part], rows["joint_freedom"][part].astype(np.int64)


def lines_of(layout: Layout, panel: Panel, rows: Arrays) -> Lines:
    """Index the lines of a report: on X there may be SEX, too, and its interaction."""
    widest, usual = rows["beta"].shape[1], len(_usual(layout))
    on_x = panel.chromosome[rows["variant"][:]] == layout.autosomes + 1
    each = np.where(on_x, widest, usual).astype(np.int32)
    if "joint" not in rows:
        return Lines(each)
    of_joint = widest + (rows["joint_freedom"][:] != layout.terms.jointly)
    return Lines(each + np.int32(1), of_joint.astype(np.int64))


class Lines:
    """Index from every line of a report to its variant and test."""

    def __init__(self, each: NDArray[np.int32], last: NDArray[np.int64] | None = None) -> None:
        """`each` says how many lines each variant has. Kept are the runs of variants that have as many.

        `last` is the test of each variant's last line, where it is not that of its place.
        """
        self._last = last
        first = np.flatnonzero(np.diff(each, prepend=np.int32(0)))
        self._first, self._each = first, each[first].astype(np.int64)
        self._end = np.cumsum(np.diff(np.append(first, len(each))) * self._each)

    def __len__(self) -> int:
        return int(self._end[-1]) if len(self._end) else 0

    def of(self, part: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(variants, tests) of some lines."""
        line = np.arange(part.start, part.stop)
        run = np.searchsorted(self._end, line, side="right")
        begin = np.append(0, self._end)[run]
        after, test = np.divmod(line - begin, self._each[run])
        variant = self._first[run] + after
        if self._last is not None:
            test = np.where(test == self._each[run] - 1, self._last[variant], test)
        return variant, test
