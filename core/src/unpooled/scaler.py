"""The parameters of a normalization, and what they do to a table.

`Scaler` transforms like a fitted transformer of scikit-learn, also in its pipelines; it needs only NumPy.

    scaler = Scaler.from_file("study.parameters.json")
    scaler.transform(table)             # columns in the order of scaler.get_feature_names_out()
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.errors import DataProblem
from unpooled.schema import Column

FORMAT, VERSION = "unpooled/normalization", 1

Z_SCORE, MIN_MAX, ROBUST = "z-score", "min-max", "robust"

PARAMETERS = {
    Z_SCORE: ("mean", "deviation"),
    MIN_MAX: ("min", "max"),
    ROBUST: ("lower_quartile", "median", "upper_quartile"),
}
"""What each method has for each feature."""

CONSTANT = "constant: scale 1"
EMPTY = "no cohort has a value: stays missing"


def parameters(
    method: str, features: Sequence[Column], n: np.ndarray, found: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The content of a parameters file: units, number of values, and parameters of each feature.

    `found` has float64 (features,) for each name that `PARAMETERS` has; NaN, for a feature without values,
    becomes null.
    """
    rows = [
        {"name": feature.title, "unit": feature.unit, "n": count}
        | {name: None if np.isnan(value) else float(value) for name, value in zip(found, values, strict=True)}
        for feature, count, *values in zip(features, n.tolist(), *found.values(), strict=True)
    ]
    for row, size in zip(rows, _sizes(method, rows), strict=True):
        if note := EMPTY if not row["n"] else CONSTANT if _is_constant(size) else "":
            row["note"] = note
    return {"format": FORMAT, "version": VERSION, "method": method, "features": rows}


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """A parameter of all features; null becomes NaN."""
    return np.array([row[name] for row in rows], np.float64)


def _sizes(method: str, rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """What the features are divided by, before constant ones are looked at."""
    columns = [_column(rows, name) for name in PARAMETERS[method]]
    return columns[1] if method == Z_SCORE else columns[-1] - columns[0]


def _is_constant(size: np.ndarray) -> np.ndarray:
    """Whether nothing can be divided by this size: bool (features,)."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.isinf(1 / size)


class Scaler:
    """A fitted normalization. It has the methods that scikit-learn expects of a transformer.

    Missing values stay missing. A constant feature is shifted, and not scaled.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """`parameters` as `json.load` gives them; ValueError if they are no parameters of a normalization."""
        self.parameters = parameters  # as it came, for scikit-learn's clone
        try:
            self._read(parameters)
        except (KeyError, TypeError) as error:
            raise ValueError(f"these are no parameters of a normalization: {error!r}") from error

    def _read(self, given: Mapping[str, Any]) -> None:
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise ValueError(f"got {given['format']} {given['version']}; want {FORMAT} {VERSION}")
        if given["method"] not in PARAMETERS:
            raise ValueError(f"got the method {given['method']!r}; want {', '.join(PARAMETERS)}")
        self.method, rows = str(given["method"]), given["features"]
        self.feature_names_in_ = np.array([row["name"] for row in rows], object)
        self.n_features_in_ = len(rows)
        size = _sizes(self.method, rows)
        size = np.where(_is_constant(size), 1.0, size)
        if self.method == MIN_MAX:
            # As scikit-learn's MinMaxScaler has it, to the last bit: x * scale + shift.
            self._factor = 1 / size
            self._shift = 0 - _column(rows, "min") * self._factor
        else:
            self._size, self._centre = size, _column(rows, "mean" if self.method == Z_SCORE else "median")

    @classmethod
    def from_file(cls, path: Path | str) -> Scaler:
        """The normalization whose parameters lie in a file; DataProblem if they do not."""
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            remedy = "Give the parameters.json that a study of tables delivered."
            raise DataProblem(f"the parameters cannot be read: {error}", file=path, remedy=remedy) from error

    def transform(self, X: Any) -> np.ndarray:
        """The normalized table, float64 (n, features), from an array or a data frame."""
        values = self._checked(X)
        return values * self._factor + self._shift if self.method == MIN_MAX else self._centred(values)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The table that was normalized, float64 (n, features)."""
        values = self._checked(X)
        if self.method == MIN_MAX:
            return np.asarray((values - self._shift) / self._factor)
        return np.asarray(values * self._size + self._centre)

    def fit(self, X: Any = None, y: Any = None) -> Scaler:
        """Nothing: the federation has fitted it. Pipelines call this."""
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        return self.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return self.feature_names_in_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"parameters": self.parameters}

    def set_params(self, **given: Any) -> Scaler:
        if given:
            self.__init__(**given)  # type: ignore[misc]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn, the only one to ask, wants to know; so it is loaded already."""
        utils = sys.modules["sklearn.utils"]
        tags = utils.Tags(
            estimator_type="transformer",
            target_tags=utils.TargetTags(required=False),
            transformer_tags=utils.TransformerTags(),
            input_tags=utils.InputTags(allow_nan=True),
        )
        tags.requires_fit = False
        return tags

    def _centred(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((values - self._centre) / self._size)

    def _checked(self, table: Any) -> np.ndarray:
        names = getattr(table, "columns", None)
        if names is not None and list(names) != list(self.feature_names_in_):
            raise ValueError(
                f"got the columns {list(names)}; want {list(self.feature_names_in_)}, in this order"
            )
        values = np.asarray(table, np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise ValueError(f"got a table of shape {values.shape}; want {self.n_features_in_} columns")
        return values
