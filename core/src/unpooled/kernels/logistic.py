"""Log-likelihood, gradient and Hessian of logistic regressions, each at coefficients of its own.

For each variant a tile of samples goes through two passes over rows that stay in the first cache: first the
weights w = p (1 - p) and residuals r = y - p, element by element; then the sums, two columns at a time.

No liberty of `fastmath` is taken: which products are rounded before they are added, and the order of sums,
stand here and in `unpooled.kernels.lanes`. So the same data give the same bits in every run.

The same code runs in single precision, in half the time: good enough to come near an estimate. Numba makes
every number written out a float64, so those that are needed come in an array of the right type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled, inlined, intrinsic, ir, types
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.kernels.lanes import Product, muladd, tile_sums
from unpooled.kernels.logistic_weights import (
    PRECISIONS,
    SQUARED_LINEAR,
    TILE,
    USUAL,
    exponential,
    weigh,
)
from unpooled.kernels.penalty import penalise
from unpooled.kernels.two_bits import COPIES, first_sample, next_samples, without_call

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_CODES = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
_QUADS = COPIES[:, _CODES.ravel()].astype(np.int64)
"""(2, 256 x 4): copies of A1, and of A2, of the four samples of a byte."""

_NO_INVERSE = np.zeros((0, 0))
COPIES_ALONE, NOTHING_ELSE = np.arange(3.0)[None], np.zeros((0, 2), np.int64)
"""Coding and further columns of the genotype in an additive model without interactions, as in `Design`."""


@dataclass(frozen=True, eq=False)
class Design:
    """One cohort's people and covariates, in tiles."""

    covariates: Floats
    """(tiles, c, TILE); 0 for whoever is not inside."""
    rows: Floats
    """(tiles, 4, TILE): 1 if inside; 1 for a case; what a copy counts; whose mean fills a missing call."""
    coded: Floats
    """(k, 3): what 0, 1 and 2 copies count in each column that a genotype becomes."""
    extra: NDArray[np.int64]
    """(e, 2): a variant's columns beside the first of these: one of these, and the covariate that it is
    multiplied with, or -1."""

    def in_single_precision(self) -> Design:
        return replace(self, covariates=self.covariates.astype(np.float32), rows=self.rows.astype(np.float32))

    @classmethod
    def of(
        cls,
        covariates: Floats,
        inside: NDArray[np.bool_],
        case: Floats,
        unit: Floats,
        group: NDArray[np.int64],
        coded: Floats = COPIES_ALONE,
        extra: NDArray[np.int64] = NOTHING_ELSE,
    ) -> Design:
        """Build the tiles from (samples, c) and (samples,) each; the rest as above."""
        samples, count = covariates.shape
        tiles = max(1, -(-samples // TILE))
        padded = np.zeros((tiles * TILE, count + 4))
        padded[samples:, count + 2] = 1
        padded[:samples, :count] = np.where(inside[:, None], covariates, 0)
        padded[:samples, count:] = np.column_stack([inside, np.where(inside, case, 0), unit, group])
        turned = padded.reshape(tiles, TILE, count + 4).transpose(0, 2, 1)
        return cls(
            np.ascontiguousarray(turned[:, :count]), np.ascontiguousarray(turned[:, count:]), coded, extra
        )


@dataclass(frozen=True, eq=False)
class Regressions:
    """The regressions of m variants in one cohort, each at coefficients of its own.

    Parameters are intercept, genotype, covariates, then the design's extra columns. All is computed in the
    precision of the design; sums over tiles are float64.
    """

    words: Words
    """Calls; or dosages, uint16 (m, samples) as in `unpooled.asking.cohort.Dosages`: what they count is
    interpolated between whole copies."""
    second: NDArray[np.bool_]
    """bool (m,): copies of the file's A2 count, else of A1."""
    lacking: NDArray[np.bool_]
    """bool (m,): anyone may have no call. It leaves the person out if `exact`; else it is `fill`."""
    design: Design
    fill: Floats
    """(m, 2), in units of the genotype: of the two groups, or of the two columns that it becomes."""
    exact: bool

    def evaluate(self, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood (m,), gradient (m, p) and upper triangle of the negative Hessian (m, p (p + 1) / 2).

        In single precision gradient and Hessian have six digits or so, and there is no log-likelihood: it
        is 0.
        """
        return self._sums(beta)

    def penalty(self, beta: Floats, inverse: Floats) -> tuple[Floats, Floats]:
        """Derivative (m, p) of Firth's penalty, and upper triangle of the information that it adds.

        `inverse`, (m, p (p + 1) / 2), are the upper triangles of the inverse information at `beta` of all
        people of the study. In double precision.
        """
        return self._sums(beta, inverse)[1:]

    def squares(self, beta: Floats, weights: int) -> Floats:
        """Upper triangles of the sums of e^2 x x', (m, p (p + 1) / 2), with e the residuals at `beta`.

        `weights` is SQUARED, or SQUARED_LINEAR of a design whose cases are the phenotype. In double
        precision.
        """
        return self._sums(beta, weights=weights)[2]

    def _sums(
        self, beta: Floats, inverse: Floats = _NO_INVERSE, weights: int = USUAL
    ) -> tuple[Floats, Floats, Floats]:
        """Compute the sums of `evaluate`, or those of `penalty`, without log-likelihood."""
        design, words, kind = self.design, self.words, self.design.rows.dtype
        m, p = beta.shape
        precision = PRECISIONS[kind.name]
        likelihood, gradient = np.zeros(m), np.zeros((m, p))
        hessian = np.zeros((m, p * (p + 1) // 2))
        filling = np.ascontiguousarray(self.fill) if len(self.fill) else np.zeros((m, 2))
        by_allele = design.coded[:, _QUADS].transpose(1, 0, 2)  # then by column
        none, dosed = np.zeros((0, 0), np.uint16), words.dtype == np.uint16
        dosages, words = (words, np.zeros((0, 0), np.uint64)) if dosed else (none, words)
        _evaluate(
            np.ascontiguousarray(words), np.ascontiguousarray(dosages), self.second, self.lacking,
            np.ascontiguousarray(by_allele, kind), np.ascontiguousarray(design.coded, kind), design.extra,
            design.covariates, design.rows, beta.astype(kind, order="C"), inverse.astype(kind, order="C"),
            filling, self.exact, weights, precision.numbers, precision.exponent,
            likelihood, gradient, hessian,
        )  # fmt: skip
        return likelihood, gradient, hessian


@compiled
def _evaluate(
    words: Any, dosages: Any, second: Any, lacking: Any, tables: Any, coded: Any, extra: Any, covariates: Any,
    rows: Any, beta: Any, inverse: Any, fill: Any, exact: Any, weights: Any, numbers: Any, exponent: Any,
    likelihood: Any, gradient: Any, hessian: Any,
) -> None:  # fmt: skip
    kind = rows.dtype
    genotype, valid, eta, e = (
        np.empty(TILE, kind),
        np.empty(TILE, kind),
        np.empty(TILE, kind),
        np.empty(TILE, kind),
    )
    weight, residual = np.empty(TILE, kind), np.empty(TILE, kind)
    bits = np.empty(TILE, exponent.dtype)
    powers = bits.view(kind)
    mixed = (rows[:, 2] != 1.0).any()
    penalised = inverse.shape[0] > 0
    precise = rows.itemsize == 8 and not penalised and weights == USUAL
    count, own = covariates.shape[1], extra.shape[0]
    other = np.empty(TILE, kind)
    widened = np.empty((count + own, TILE), kind)
    dosed = dosages.shape[0] > 0
    for v in range(beta.shape[0]):
        table = tables[np.int64(second[v]), 0]
        for tile in range(covariates.shape[0]):
            inside, case, unit, group = rows[tile, 0], rows[tile, 1], rows[tile, 2], rows[tile, 3]
            columns = covariates[tile]
            if dosed:
                row = dosages[v, tile * TILE : (tile + 1) * TILE]
                valid[:] = inside
                _convert(row, second[v], coded[0], exact, fill[v], group, genotype, valid)
                inside = valid
                part = words[:0, 0]
            else:
                part = words[v, tile * (TILE // 32) : (tile + 1) * (TILE // 32)]
                _decode(part.view(np.uint8), table, genotype)
            # Where a copy counts 1 for all, as on autosomes, this pass over the tile is saved.
            if mixed:
                for i in range(TILE):
                    genotype[i] *= unit[i]
            if lacking[v] and not dosed:
                valid[:] = inside
                _take_missing(part, exact, fill[v], group, genotype, valid)
                inside = valid
            if own:
                if coded.shape[0] > 1 and dosed:
                    _convert(row, second[v], coded[1], exact, fill[v, 1:], group, other, valid)
                elif coded.shape[0] > 1:
                    _decode(part.view(np.uint8), tables[np.int64(second[v]), 1], other)
                    if lacking[v]:
                        _take_missing(part, exact, fill[v, 1:], group, other, valid)
                widened[:count] = columns
                for k in range(own):
                    _multiply(extra[k], genotype, other, columns, widened[count + k])
                columns = widened
            _predict(beta[v], genotype, columns, eta)
            if weights == SQUARED_LINEAR:
                residual[:] = (case - eta) * inside
            else:
                exponential(eta, bits, powers, e, numbers, exponent)
                weigh(eta, e, case, inside, weight, residual, numbers)
            if weights != USUAL:
                weight[:] = residual * residual
            if penalised:
                # `eta` and `e` are overwritten: under a penalty there is no likelihood that would need them.
                penalise(inverse[v], genotype, columns, case, weight, residual, eta, e)
            _sum(genotype, weight, residual, gradient[v], hessian[v])
            _sum_columns(columns, genotype, weight, residual, gradient[v], hessian[v])
            if precise:
                likelihood[v] += _likelihood(eta, e, case, inside)


@compiled
def _multiply(factors: Any, genotype: Any, other: Any, columns: Any, out: Any) -> None:
    """A column that the genotype becomes, times a covariate or alone."""
    coded = genotype if factors[0] == 0 else other
    if factors[1] < 0:
        out[:] = coded
        return
    covariate = columns[factors[1]]
    for i in range(TILE):
        out[i] = coded[i] * covariate[i]


@intrinsic
def _move_four(context: Any, table: Any, row: Any, copies: Any, at: Any) -> Any:
    """copies[at : at + 4] = table[4 * row : 4 * row + 4], as one vector: LLVM does not find it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def four(array: int, index: Any) -> Any:
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            vector = ir.VectorType(data.type.pointee, 4).as_pointer()
            return builder.bitcast(builder.gep(data, [index]), vector)

        source = four(0, builder.mul(arguments[1], ir.Constant(ir.IntType(64), 4)))
        builder.store(builder.load(source, align=4), four(2, arguments[3]), align=4)
        return context.get_dummy_value()

    return types.void(table, row, copies, at), generate


_move: Any = _move_four


@compiled
def _decode(quads: Any, table: Any, copies: Any) -> None:
    """Copies of four samples a byte, then zeros. `table` is one of `_QUADS`, flat."""
    for i in range(quads.shape[0]):
        _move(table, np.int64(quads[i]), copies, np.int64(4 * i))
    copies[4 * quads.shape[0] :] = 0.0


@compiled
def _convert(
    dosages: Any, second: Any, coded: Any, exact: Any, fill: Any, group: Any, copies: Any, valid: Any
) -> None:
    """Write what people of a tile count, then zeros; who has no dosage is left out, or filled in."""
    sign, most = (-1.0 / COPY, 2.0) if second else (1.0 / COPY, 0.0)
    for i in range(dosages.shape[0]):
        copies[i] = most + sign * np.float64(np.int32(dosages[i]))
    if coded[1] != 1 or coded[2] != 2:
        for i in range(dosages.shape[0]):
            first = min(np.float64(copies[i]), 1.0)
            copies[i] = coded[1] * first + (coded[2] - coded[1]) * (copies[i] - first)
    for i in range(dosages.shape[0]):
        # Apart from the loop above, which LLVM vectorises only without this branch.
        if dosages[i] == NO_DOSAGE:
            copies[i] = 0.0 if exact else fill[np.int64(group[i])]
            if exact:
                valid[i] = 0.0
    copies[dosages.shape[0] :] = 0.0


@compiled
def _take_missing(words: Any, exact: Any, fill: Any, group: Any, copies: Any, valid: Any) -> None:
    """Leave out, or fill in, whoever has no call."""
    for k in range(words.shape[0]):
        missing = without_call(words[k])
        while missing:
            i = 32 * k + first_sample(missing)
            if exact:
                valid[i] = 0.0
            else:
                copies[i] = fill[np.int64(group[i])]
            missing = next_samples(missing)


@compiled
def _predict(beta: Any, genotype: Any, columns: Any, eta: Any) -> None:
    """Linear predictors. Two columns at a time, so that they are stored and loaded half as often."""
    count = columns.shape[0]
    for i in range(TILE):
        eta[i] = muladd(beta[1], genotype[i], beta[0])
    for c in range(0, count - 1, 2):
        y, z = columns[c], columns[c + 1]
        of_y, of_z = beta[c + 2], beta[c + 3]
        for i in range(TILE):
            eta[i] = muladd(of_z, z[i], muladd(of_y, y[i], eta[i]))
    if count % 2:
        y, of_y = columns[count - 1], beta[count + 1]
        for i in range(TILE):
            eta[i] = muladd(of_y, y[i], eta[i])


def _of_likelihood(builder: Any, part: Any) -> list[Product]:
    return [(part, None)]


def _of_genotype(builder: Any, genotype: Any, weight: Any, residual: Any) -> list[Product]:
    weighted = builder.fmul(weight, genotype)
    return [(residual, None), (residual, genotype), (weight, None), (weighted, None), (weighted, genotype)]


def _of_column(builder: Any, column: Any, genotype: Any, weight: Any, residual: Any) -> list[Product]:
    weighted = builder.fmul(weight, column)
    return [(residual, column), (weighted, None), (weighted, genotype), (weighted, column)]


def _of_two(builder: Any, y: Any, z: Any, genotype: Any, weight: Any, residual: Any) -> list[Product]:
    of_y, of_z = builder.fmul(weight, y), builder.fmul(weight, z)
    return [
        *((residual, y), (residual, z), (of_y, None), (of_z, None), (of_y, genotype), (of_z, genotype)),
        *((of_y, y), (of_y, z), (of_z, z)),
    ]


def _of_two_with_one(builder: Any, y: Any, z: Any, weight: Any, s: Any) -> list[Product]:
    return [(builder.fmul(weight, y), s), (builder.fmul(weight, z), s)]


def _of_two_with_two(builder: Any, y: Any, z: Any, weight: Any, s: Any, t: Any) -> list[Product]:
    of_y, of_z = builder.fmul(weight, y), builder.fmul(weight, z)
    return [(of_y, s), (of_y, t), (of_z, s), (of_z, t)]


_likelihood_sum = tile_sums(TILE, 1, _of_likelihood)
_genotype_sums = tile_sums(TILE, 5, _of_genotype)
_column_sums = tile_sums(TILE, 4, _of_column)
_sums_of_two = tile_sums(TILE, 9, _of_two)
_two_with_one = tile_sums(TILE, 2, _of_two_with_one)
_two_with_two = tile_sums(TILE, 4, _of_two_with_two)


@compiled
def _likelihood(eta: Any, e: Any, case: Any, valid: Any) -> Any:
    """A tile's log-likelihood: y eta - max(eta, 0) - log(1 + e), the logarithm taken of a product.

    Uses `eta` and `e` up. Not for single precision: the product of 256 factors from 1 to 2 may be too large.
    """
    for i in range(TILE):
        positive = eta[i] if eta[i] >= 0.0 else 0.0
        eta[i] = (case[i] * eta[i] - positive) * valid[i]
        e[i] = 1.0 + e[i] * valid[i]
    for j in range(1, TILE // 16):
        for i in range(16):
            e[i] *= e[16 * j + i]
    for i in range(1, 16):
        e[0] *= e[i]
    (total,) = _likelihood_sum((eta,))
    return total - np.log(e[0])


@compiled
def _sum(genotype: Any, weight: Any, residual: Any, gradient: Any, hessian: Any) -> None:
    """Add a tile's sums about intercept and genotype."""
    p = gradient.shape[0]
    slope, of_genotype, total, with_genotype, square = _genotype_sums((genotype, weight, residual))
    gradient[0] += slope
    gradient[1] += of_genotype
    hessian[0] += total
    hessian[1] += with_genotype
    hessian[p] += square


@compiled
def _sum_columns(
    columns: Any, genotype: Any, weight: Any, residual: Any, gradient: Any, hessian: Any
) -> None:
    """Add a tile's sums about covariates, two at a time."""
    p, count = gradient.shape[0], columns.shape[0]
    for c in range(0, count - 1, 2):
        y, z = columns[c], columns[c + 1]
        ry, rz, wy, wz, ty, tz, yy, yz, zz = _sums_of_two((y, z, genotype, weight, residual))
        gradient[c + 2] += ry
        gradient[c + 3] += rz
        hessian[c + 2] += wy
        hessian[c + 3] += wz
        hessian[p + c + 1] += ty
        hessian[p + c + 2] += tz
        at_y, at_z = _place(c + 2, p), _place(c + 3, p)
        hessian[at_y] += yy
        hessian[at_y + 1] += yz
        hessian[at_z] += zz
        for d in range(c + 2, count - 1, 2):
            ys, yt, zs, zt = _two_with_two((y, z, weight, columns[d], columns[d + 1]))
            hessian[at_y + d - c] += ys
            hessian[at_y + d - c + 1] += yt
            hessian[at_z + d - c - 1] += zs
            hessian[at_z + d - c] += zt
        if count % 2:
            ys, zs = _two_with_one((y, z, weight, columns[count - 1]))
            hessian[at_y + count - 1 - c] += ys
            hessian[at_z + count - 2 - c] += zs
    if count % 2:
        r, w, t, square = _column_sums((columns[count - 1], genotype, weight, residual))
        gradient[p - 1] += r
        hessian[p - 1] += w
        hessian[2 * p - 2] += t
        hessian[hessian.shape[0] - 1] += square


@inlined
def _place(row: Any, p: Any) -> Any:
    """Return the place at which a row of the upper triangle begins, at its diagonal."""
    return row * p - row * (row - 1) // 2
