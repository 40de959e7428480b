"""The parameters of a normalization, and what they do to a table.

`Scaler` transforms like a fitted transformer of scikit-learn, also in its pipelines; it needs only NumPy.

    scaler = Scaler.from_file("study.parameters.json")
    scaler.transform(table)             # columns in the order of scaler.get_feature_names_out()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unpooled.fitted import yeo_johnson
from unpooled.fitted.transformer import Transformer, as_numbers
from unpooled.plan.encodings import ROBUST, YEO_JOHNSON, Z_SCORE
from unpooled.plan.schema import Column

FORMAT, VERSION = "unpooled/normalization", 1

MIN_MAX, QUANTILES = "min-max", "quantiles"
"""The second only finds numbers, and normalizes nothing."""

CONSTANT = "constant: scale 1"
NEARLY_CONSTANT = "constant but for rounding: scale 1"
EMPTY = "no cohort has a value: stays missing"
EDGE = "the likelihood may be larger beyond this lambda, where floating-point numbers end"
FLAT = "the transform is so flat at an end of the range that its inverse loses digits there"
BLURRED = "to the digits that Gaussian masks leave"
NOISY = "with noise, for differential privacy"
NOTES = {"edge": EDGE, "flat": FLAT, "blurred": BLURRED, "noisy": NOISY}
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
    # Of 2^52 values and more everything is rounding: then the root is 0.
    share = n * _EPSILON
    return np.asarray(deviation * np.sqrt(np.maximum(1 - share, 0)) <= share * np.abs(mean))


class Scaling:
    """A way to normalize: its parameters by name, and what they do to a table.

    The procedure that fits it is bound to it in `unpooled.methods.tables`: what is here needs only NumPy.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    sentence: ClassVar[str]
    """Sentence for a paper that says what it does."""
    parameters: ClassVar[tuple[str, ...]]
    """Names of the parameters that the file has of each feature, in its order."""
    quantiles: ClassVar[Mapping[str, float]] = {}
    """The quantile of the pool that each parameter is, where all of them are quantiles."""
    tells: ClassVar[str] = ""
    """Statement for the consent screen of which single values the quantiles are."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """`rows` are the features as the file has them; arrays here are float64 (features,)."""
        self.found = {name: _column(rows, name) for name in self.parameters}
        self.unit = self._units()
        """Powers of two: 1 where no difference of two values overflows."""
        self.centre, self.size, constant = self._scale(
            _column(rows, "n"), *(column / self.unit for column in self.found.values())
        )
        with np.errstate(divide="ignore", over="ignore"):
            self.constant = constant | np.isinf(1 / self.size)
        """bool: nothing is divided. They vary by rounding at most, or one over their size is no number."""
        self.divisor = np.where(self.constant, 1 / self.unit, self.size)

    def _units(self) -> np.ndarray:
        return np.where(np.max(np.abs([*self.found.values()]), axis=0) > _LARGEST, 4.0, 1.0)

    def _scale(self, n: np.ndarray, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what is subtracted, what is divided by, and where n values vary by rounding: in units."""
        raise NotImplementedError

    def transform(self, values: np.ndarray) -> np.ndarray:
        """Normalize a table, float64 (rows, features), in units."""
        return np.asarray((values - self.centre) / self.divisor)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Return the table, in units, of which these are the normalized values."""
        return np.asarray(values * self.divisor + self.centre)

    def attributes(self) -> dict[str, np.ndarray]:
        """Return the numbers by the names that they have in scikit-learn."""
        raise NotImplementedError


class ZScore(Scaling):
    """Mean 0, deviation 1: as StandardScaler."""

    name = Z_SCORE
    title = "Normalization to mean 0, deviation 1"
    sentence = (
        "The mean of all cohorts' values was subtracted from each column, and the result divided by "
        "their standard deviation."
    )
    parameters = ("mean", "deviation")

    def _scale(self, n: np.ndarray, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean, deviation = parameters
        return mean, deviation, is_nearly_constant(n, mean, deviation)

    def attributes(self) -> dict[str, np.ndarray]:
        return {"mean_": self.found["mean"], "scale_": self.divisor * self.unit}


class MinMax(Scaling):
    """The range 0 to 1: as MinMaxScaler."""

    name = MIN_MAX
    title = "Normalization to the range 0 to 1"
    sentence = (
        "Each column was scaled so that the smallest of all cohorts' values became 0 and the largest 1."
    )
    parameters = ("min", "max")
    quantiles: ClassVar[Mapping[str, float]] = {"min": 0.0, "max": 1.0}
    tells = (
        "the smallest and the largest value of each column are in the results, and each is a single person's"
    )

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(rows)
        self.factor = 1 / self.divisor
        self.shift = 0 - self.centre * self.factor

    def _scale(self, n: np.ndarray, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, high = parameters
        return low, high - low, _is_rounding(low, high)

    # As scikit-learn has it, to the last bit: x * scale + shift, and not (x - low) / size.
    def transform(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values * self.factor + self.shift)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((values - self.shift) / self.factor)

    def attributes(self) -> dict[str, np.ndarray]:
        ends = {"data_min_": self.found["min"], "data_max_": self.found["max"]}
        return {**ends, "scale_": self.factor / self.unit, "min_": self.shift}


class Robust(Scaling):
    """Median 0, interquartile range 1: as RobustScaler."""

    name = ROBUST
    title = "Normalization by median and quartiles"
    sentence = (
        "The median of all cohorts' values was subtracted from each column, and the result divided by "
        "their interquartile range."
    )
    parameters = ("lower_quartile", "median", "upper_quartile")
    quantiles: ClassVar[Mapping[str, float]] = {"lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75}
    tells = "median and quartiles of each column are in the results: single people's values, or between two"

    def _scale(self, n: np.ndarray, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, median, high = parameters
        return median, high - low, _is_rounding(low, high)

    def attributes(self) -> dict[str, np.ndarray]:
        return {"center_": self.found["median"], "scale_": self.divisor * self.unit}


class YeoJohnson(Scaling):
    """The transform that makes a feature most like a normal, then mean 0, deviation 1: as PowerTransformer.

    Mean and deviation are of the transformed values, null where they are beyond floating-point numbers.
    `centre` is the value whose transform is the mean, `spread` the deviation in units of the feature there,
    and `rest` the number of deviations by which the mean is off because the centre is rounded: the same
    information in numbers that are always finite.
    """

    name = YEO_JOHNSON
    title = "Normalization by Yeo and Johnson's power transform"
    sentence = (
        "Each column was transformed as by Yeo and Johnson (2000), with the maximum-likelihood lambda of all "
        "cohorts' values; their mean was subtracted, and the result divided by their standard deviation."
    )
    parameters = ("lambda", "mean", "deviation", "centre", "spread", "rest")

    def _units(self) -> np.ndarray:
        return np.ones(len(self.found["lambda"]))  # about a centre nothing overflows

    def _scale(self, n: np.ndarray, *parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        power, _, _, centre, spread, _ = parameters
        return centre, spread, (power == 1) & is_nearly_constant(n, centre, spread)

    @property
    def rest(self) -> np.ndarray:
        return np.where(self.constant, 0.0, self.found["rest"])

    def transform(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(self._by_column(yeo_johnson.about, values) / self.divisor - self.rest)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        return self._by_column(yeo_johnson.inverse, (values + self.rest) * self.divisor)

    def _by_column(self, change: Callable[..., np.ndarray], values: np.ndarray) -> np.ndarray:
        """`change` each column: what is needed on the way is as large as a column, and not as the table."""
        out = np.empty_like(values)
        for k, (centre, power) in enumerate(zip(self.centre, self.found["lambda"], strict=True)):
            out[:, k] = change(values[:, k], centre, power)
        return out

    def attributes(self) -> dict[str, np.ndarray]:
        return {"lambdas_": self.found["lambda"]}


SCALINGS: Mapping[str, type[Scaling]] = {kind.name: kind for kind in (ZScore, MinMax, Robust, YeoJohnson)}


def _is_rounding(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mark where a range is no more than rounding: bool (features,)."""
    return np.asarray(high - low <= _FEWEST_STEPS * _EPSILON * np.maximum(np.abs(low), np.abs(high)))


def parameters(
    method: str,
    features: Sequence[Column],
    n: np.ndarray,
    found: Mapping[str, np.ndarray],
    marks: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """The content of a parameters file: units, number of values, and parameters of each feature.

    `found` has float64 (features,) for each of its scaling's parameters; what is no number, as for a feature
    without values, becomes null. `marks`, bool (features,): to which features a note applies.
    """
    values = {name: _plain(column) for name, column in found.items()}
    rows = _rows(features, n, values)
    scaling = SCALINGS[method](rows)
    notes = {CONSTANT: scaling.size == 0, NEARLY_CONSTANT: scaling.constant & (scaling.size != 0), **marks}
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
        if given["method"] not in SCALINGS:
            raise ValueError(f"got the method {given['method']!r}; want {', '.join(SCALINGS)}")
        self.method, rows = str(given["method"]), given["features"]
        if not all(isinstance(row["name"], str) for row in rows):
            raise ValueError("the name of a feature is not text")
        self.feature_names_in_ = np.array([row["name"] for row in rows], object)
        self.n_features_in_ = len(rows)
        self._scaling = SCALINGS[self.method](rows)
        self._is_scaled_down = bool((self._scaling.unit != 1).any())
        vars(self).update(self._scaling.attributes())

    def transform(self, X: Any) -> Any:
        """The normalized table, float64 (n, features), from an array or a data frame."""
        values = self._checked(X)
        if self._is_scaled_down:  # else a copy as large as the table is spared
            values = values / self._scaling.unit
        scaled = self._scaling.transform(values)
        return self._framed(scaled, X) if self._frame else scaled

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The table that was normalized, float64 (n, features).

        NaN for what no value is transformed to: the transform of Yeo and Johnson is bounded on one side.
        """
        values = self._of_shape(as_numbers(self._cells(X, None, "real ones")))
        found = self._scaling.inverse(values)
        return found * self._scaling.unit if self._is_scaled_down else found

    def _checked(self, X: Any) -> np.ndarray:
        return self._of_shape(self._numbers(self._cells(X, None, "real ones")))
