"""The parameters of a normalization, and what they do to a table.

`Scaler` transforms like a fitted transformer of scikit-learn, also in its pipelines; it needs only NumPy.

    scaler = Scaler.from_file("study.parameters.json")
    scaler.transform(table)             # columns in the order of scaler.get_feature_names_out()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.fitted import yeo_johnson
from unpooled.fitted.transformer import Transformer, as_numbers
from unpooled.plan.schema import Column

FORMAT, VERSION = "unpooled/normalization", 1

Z_SCORE, MIN_MAX, ROBUST, YEO_JOHNSON = "z-score", "min-max", "robust", "yeo-johnson"
QUANTILES = "quantiles"
"""The method that only finds numbers, and normalizes nothing."""

PARAMETERS = {
    Z_SCORE: ("mean", "deviation"),
    MIN_MAX: ("min", "max"),
    ROBUST: ("lower_quartile", "median", "upper_quartile"),
    YEO_JOHNSON: ("lambda", "mean", "deviation", "centre", "spread", "rest"),
}
"""Parameters that each method has for each feature.

`yeo-johnson` has mean and deviation of the transformed values, null where they are beyond floating-point
numbers. `centre` is the value whose transform is the mean, `spread` the deviation in units of the feature
there, and `rest` the number of deviations by which the mean is off because the centre is rounded: the same
information in numbers that are always finite.
"""

CONSTANT = "constant: scale 1"
NEARLY_CONSTANT = "constant but for rounding: scale 1"
EMPTY = "no cohort has a value: stays missing"
EDGE = "the likelihood may be larger beyond this lambda, where floating-point numbers end"
FLAT = "the transform is so flat at an end of the range that its inverse loses digits there"
BLURRED = "to the digits that Gaussian masks leave"
NOTES = {"edge": EDGE, "flat": FLAT, "blurred": BLURRED}
"""Notes that a method may have on a feature, by the name of the result column that marks it."""

_EPSILON = float(np.finfo(np.float64).eps)
_LARGEST = 2.0**1021
"""Largest magnitude of a feature's parameters at which its values can still be subtracted as they are."""
_FEWEST_STEPS = 10
"""A range of so many units in the last place, or fewer, is one of rounding."""


def is_nearly_constant(n: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Mark where n values vary by no more than rounding of their sums: bool, as scikit-learn has it.

    Its bound is that of the two-pass algorithm (Chan, Golub and LeVeque 1983), of squares that may be no
    numbers: variance <= n eps variance + (n eps mean)^2.
    """
    share = n * _EPSILON
    return np.asarray(deviation * np.sqrt(np.maximum(1 - share, 0)) <= share * np.abs(mean))


def parameters(
    method: str,
    features: Sequence[Column],
    n: np.ndarray,
    found: Mapping[str, np.ndarray],
    marks: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """The content of a parameters file: units, number of values, and parameters of each feature.

    `found` has float64 (features,) for each name that `PARAMETERS` has; what is no number, as for a feature
    without values, becomes null. `marks`, bool (features,): to which features a note applies.
    """
    values = {name: _plain(column) for name, column in found.items()}
    rows = _rows(features, n, values)
    scales = _Scales.of(method, rows)
    notes = {CONSTANT: scales.size == 0, NEARLY_CONSTANT: scales.constant & (scales.size != 0), **marks}
    for k, row in enumerate(rows):
        said = [note for note, applies in notes.items() if applies[k]] if row["n"] else [EMPTY]
        if said:
            row["note"] = "; ".join(said)
    return {"format": FORMAT, "version": VERSION, "method": method, "features": rows}


def order_statistics(
    features: Sequence[Column],
    n: np.ndarray,
    quantiles: Mapping[float, np.ndarray],
    elements: Mapping[int, np.ndarray],
) -> dict[str, Any]:
    """The content of the file of a study of quantiles: float64 (features,) for each of them.

    An element that a feature has too few values for is null.
    """
    found = {
        name: [
            dict(zip(map(str, asked), row, strict=True))
            for row in zip(*map(_plain, asked.values()), strict=True)
        ]
        for name, asked in (("quantiles", quantiles), ("elements", elements))
        if asked
    }
    return {"format": FORMAT, "version": VERSION, "method": QUANTILES, "features": _rows(features, n, found)}


def _rows(
    features: Sequence[Column], n: np.ndarray, found: Mapping[str, Sequence[object]]
) -> list[dict[str, Any]]:
    return [
        {"name": feature.title, "unit": feature.unit, "n": count} | dict(zip(found, values, strict=True))
        for feature, count, *values in zip(features, n.tolist(), *found.values(), strict=True)
    ]


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """A parameter of all features; null becomes NaN."""
    return np.array([row[name] for row in rows], np.float64)


@dataclass(frozen=True, eq=False)
class _Scales:
    """Divisors of the features, (features,) each."""

    size: np.ndarray
    """float64, in units"""
    constant: np.ndarray
    """bool: nothing is divided. The values vary by rounding at most, or one over their size is no number."""
    unit: np.ndarray
    """float64, powers of two: 1 where no difference of two values overflows."""

    @classmethod
    def of(cls, method: str, rows: Sequence[Mapping[str, Any]]) -> _Scales:
        n, columns = _column(rows, "n"), [_column(rows, name) for name in PARAMETERS[method]]
        unit = np.ones(len(rows))
        if method == YEO_JOHNSON:
            power, *_, centre, size, _ = columns
            constant = (power == 1) & is_nearly_constant(n, centre, size)
        else:
            unit[np.max(np.abs(columns), axis=0) > _LARGEST] = 4.0
            low, *_, high = (column / unit for column in columns)
            if method == Z_SCORE:
                size, constant = high, is_nearly_constant(n, low, high)
            else:
                size = high - low
                constant = size <= _FEWEST_STEPS * _EPSILON * np.maximum(np.abs(low), np.abs(high))
        with np.errstate(divide="ignore", over="ignore"):
            return cls(size, constant | np.isinf(1 / size), unit)


def _by_column(
    change: Callable[..., np.ndarray], values: np.ndarray, centre: np.ndarray, power: np.ndarray
) -> np.ndarray:
    """`change` of each column: what is needed on the way is as large as a column, and not as the table."""
    out = np.empty_like(values)
    for k in range(values.shape[1]):
        out[:, k] = change(values[:, k], centre[k], power[k])
    return out


class Scaler(Transformer):
    """A fitted normalization. It has the methods that scikit-learn expects of a transformer.

    Missing values stay missing. A feature that is constant but for rounding is shifted, and not scaled. Its
    numbers, float64 (features,), have the names of StandardScaler (`mean_`, `scale_`), MinMaxScaler
    (`data_min_`, `data_max_`, `scale_`, `min_`), RobustScaler (`center_`, `scale_`) or PowerTransformer
    (`lambdas_`).
    """

    _fitted = "a normalization"
    _delivered = "parameters.json that a study of tables"

    def _read(self, given: Mapping[str, Any]) -> None:
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise ValueError(f"got {given['format']} {given['version']}; want {FORMAT} {VERSION}")
        if given["method"] == QUANTILES:
            raise ValueError("these are quantiles, and do not normalize anything")
        if given["method"] not in PARAMETERS:
            raise ValueError(f"got the method {given['method']!r}; want {', '.join(PARAMETERS)}")
        self.method, rows = str(given["method"]), given["features"]
        if not all(isinstance(row["name"], str) for row in rows):
            raise ValueError("the name of a feature is not text")
        self.feature_names_in_ = np.array([row["name"] for row in rows], object)
        self.n_features_in_ = len(rows)
        scales = _Scales.of(self.method, rows)
        self._unit = scales.unit if (scales.unit != 1).any() else None
        size = np.where(scales.constant, 1 / scales.unit, scales.size)
        if self.method == MIN_MAX:
            # As scikit-learn's MinMaxScaler has it, to the last bit: x * scale + shift.
            self._factor = 1 / size
            self._shift = 0 - _column(rows, "min") / scales.unit * self._factor
            self.data_min_, self.data_max_ = _column(rows, "min"), _column(rows, "max")
            self.scale_, self.min_ = self._factor / scales.unit, self._shift
        else:
            name = {Z_SCORE: "mean", ROBUST: "median", YEO_JOHNSON: "centre"}[self.method]
            self._size, self._centre = size, _column(rows, name) / scales.unit
        if self.method == YEO_JOHNSON:
            self.lambdas_ = self._power = _column(rows, "lambda")
            self._rest = np.where(scales.constant, 0.0, _column(rows, "rest"))
        if self.method == Z_SCORE:
            self.mean_, self.scale_ = _column(rows, "mean"), size * scales.unit
        if self.method == ROBUST:
            self.center_, self.scale_ = _column(rows, "median"), size * scales.unit

    def transform(self, X: Any) -> Any:
        """The normalized table, float64 (n, features), from an array or a data frame."""
        values = self._checked(X)
        if self._unit is not None:
            values = values / self._unit
        if self.method == YEO_JOHNSON:
            about = _by_column(yeo_johnson.about, values, self._centre, self._power)
            scaled = about / self._size - self._rest
        elif self.method == MIN_MAX:
            scaled = values * self._factor + self._shift
        else:
            scaled = (values - self._centre) / self._size
        return self._framed(scaled, X) if self._frame else scaled

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The table that was normalized, float64 (n, features).

        NaN for what no value is transformed to: the transform of Yeo and Johnson is bounded on one side.
        """
        values = self._of_shape(as_numbers(self._cells(X, None, "real ones")))
        if self.method == YEO_JOHNSON:
            about = (values + self._rest) * self._size
            return _by_column(yeo_johnson.inverse, about, self._centre, self._power)
        if self.method == MIN_MAX:
            found = (values - self._shift) / self._factor
        else:
            found = values * self._size + self._centre
        return np.asarray(found if self._unit is None else found * self._unit)

    def _checked(self, X: Any) -> np.ndarray:
        return self._of_shape(self._numbers(self._cells(X, None, "real ones")))
