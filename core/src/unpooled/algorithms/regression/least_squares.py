"""Linear regressions of many variants at once, from the pool's sums to result rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.algorithms.regression.pool import Calls, Pool, table_of
from unpooled.algorithms.regression.symmetric import square
from unpooled.algorithms.shared.chunks import Y
from unpooled.algorithms.shared.coding import PLACES, X2_KNOWN, most_copies, on_x, unit
from unpooled.algorithms.shared.genotype_counts import Counted
from unpooled.algorithms.shared.groups import COMPLETE
from unpooled.algorithms.shared.standardise import Columns
from unpooled.kernels.least_squares import least_squares
from unpooled.plan import EXACT, Plan
from unpooled.procedure import Rows
from unpooled.statistics import t_neg_log10_p


@dataclass(frozen=True, eq=False)
class Block:
    """Sums of the standardised columns over everyone, by sex where there are variants on X or Y."""

    name: ClassVar[str] = "linear/block"

    sums: np.ndarray
    """float64 (s, columns)"""
    products: np.ndarray
    """float64 (s, pairs of columns)"""


@dataclass(frozen=True, eq=False)
class Fit:
    """The regressions of some variants of a chunk."""

    plan: Plan
    coding: str
    """How copies count: `unpooled.algorithms.shared.coding`."""
    pool: Pool
    columns: Columns
    """Covariates, and the phenotype last."""
    block: Block
    counted: Counted
    calls: Calls

    def rows(self, with_genotype: np.ndarray, over_missing: np.ndarray, first_is_a1: np.ndarray) -> Rows:
        """From the sums of genotype times column, (m, s, columns), to result rows.

        `over_missing` are the sums over people without a call of the variants that lack calls, by the rule
        `exact`; `first_is_a1`, bool (m,), says whether A1 is the panel's first allele, which was counted.
        """
        with_sex = on_x(self.coding) and self.pool.sex_varies
        people, g, gg = self._genotype_sums()
        # Copies count 0 to 1 where there is one; the kernel counts homozygotes as 2.
        most = most_copies(self.coding)
        gz = with_genotype * (most / 2)[:, None]
        z, zz, men_z = self._column_sums(over_missing)
        # From the panel's first allele to A1.
        turn = ~first_is_a1
        called_z = np.stack([men_z, z - men_z], axis=1) if on_x(self.coding) else z[:, None]
        gz[turn] = most[:, None] * called_z[turn] - gz[turn]
        gg[turn] = (most**2 * people - 2 * most * g + gg)[turn]
        g[turn] = (most * people - g)[turn]

        c = len(self.columns.centre) - 1
        m, p = len(g), 1 + c + with_sex
        n = people.sum(axis=1)
        a, b, sums = np.zeros((m, p, p)), np.zeros((m, p)), np.zeros((m, p))
        a[:, 0, 0] = gg.sum(axis=1)
        a[:, 0, 1 : c + 1] = a[:, 1 : c + 1, 0] = gz[:, :, :c].sum(axis=1)
        a[:, 1 : c + 1, 1 : c + 1] = zz[:, :c, :c]
        b[:, 0], b[:, 1 : c + 1] = gz[:, :, c].sum(axis=1), zz[:, :c, c]
        sums[:, 0], sums[:, 1 : c + 1] = g.sum(axis=1), z[:, :c]
        if with_sex:
            men = people[:, 0]
            a[:, 0, -1] = a[:, -1, 0] = g[:, 0]
            a[:, 1 : c + 1, -1] = a[:, -1, 1 : c + 1] = men_z[:, :c]
            a[:, -1, -1] = sums[:, -1] = men
            b[:, -1] = men_z[:, c]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / n[:, None]
            y_squares = zz[:, c, c] - z[:, c] ** 2 / n
            about = a - sums[:, :, None] * means[:, None, :]
            b = b - means * z[:, c, None]
        about[:, 0, 0] = _about_mean(gg.sum(axis=1), g.sum(axis=1), n)
        scale = np.ldexp(1.0, self.columns.exponent.astype(np.int32))
        centre = self.columns.centre / scale
        means[:, 1 : c + 1] += centre[:c]
        scales = np.concatenate([[1.0], scale[:c], [1.0] * with_sex, scale[c:]])
        whole = np.full(c + 1, float(self.pool.of(COMPLETE)))
        full = np.concatenate([[0.0], whole[:c], [0.0] * with_sex, whole[c:]])
        beta, se, code = least_squares(about, b, y_squares, np.rint(n).astype(np.int64), means, scales, full)
        with np.errstate(invalid="ignore", divide="ignore"):
            frequency = g.sum(axis=1) / (most * people).sum(axis=1)
        beta[:, 0] *= unit(self.coding)
        se[:, 0] *= unit(self.coding)
        shown = self._shown(n, beta, se)
        counts = self.counted.table.columns(first_is_a1)
        variant = {"variant": self.counted.variants}
        return Rows(table_of(self.coding), {**variant, **shown, "code": code, **counts, "a1_freq": frequency})

    def _shown(self, n: np.ndarray, beta: np.ndarray, se: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of the tests that are reported: ADD, covariates unless they are hidden, and SEX."""
        c = len(self.plan.covariate_columns)
        tests = 1 if self.plan.hide_covar else 1 + c + self.pool.sex_varies
        shown = {"beta": beta, "se": se}
        for name, values in shown.items():
            column = np.full((len(beta), tests), np.nan)
            width = min(tests, values.shape[1])
            column[:, :width] = values[:, :width]
            shown[name] = column
        freedom = np.rint(n).astype(np.int64) - beta.shape[1] - 1
        return {
            "n": np.rint(n).astype(np.int32),
            "freedom": freedom.astype(np.int32),
            **shown,
            "neg_log10_p": t_neg_log10_p(shown["beta"] / shown["se"], freedom[:, None]),
        }

    def _genotype_sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """People, copies and squares in the regression, float64 (m, s)."""
        calls = self.calls
        people, g, gg = (part.astype(np.float64) for part in (calls.called, calls.copies, calls.squares))
        if self.plan.missing != EXACT:
            mean, without = calls.means, calls.people - people
            g, gg, people = g + without * mean, gg + without * mean**2, people + without
        return people, g, gg

    def _column_sums(self, over_missing: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums, products and sums in men of the columns over each variant's people: (m, c + 1), ... ."""
        q, lacking = len(self.columns.centre), self.calls.incomplete
        sums, products = self.block.sums, self.block.products
        if PLACES[self.coding] == Y:
            sums, products = sums[:1], products[:1]
        if self.coding == X2_KNOWN:
            sums, products = sums[:2], products[:2]
        z = np.repeat(sums.sum(axis=0)[None], len(lacking), axis=0)
        zz = np.repeat(products.sum(axis=0)[None], len(lacking), axis=0)
        men = np.repeat(sums[:1], len(lacking), axis=0)
        if self.plan.missing == EXACT:
            z[lacking] -= over_missing[:, :q]
            zz[lacking] -= over_missing[:, q : q + zz.shape[1]]
            if on_x(self.coding):
                men[lacking] -= over_missing[:, q + zz.shape[1] :]
        return z, square(zz, q), men


def _about_mean(squares: np.ndarray, total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Squares about the mean, exact for whole numbers; 0 of nobody."""
    return np.asarray((n * squares - total * total) / np.maximum(n, 1))
