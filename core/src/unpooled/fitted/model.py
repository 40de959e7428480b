"""A model that a study has fitted, and what it predicts.

`Model` predicts like a fitted estimator of scikit-learn, also at the end of a pipeline; it needs only NumPy.

    model = Model.from_file("study.model.json")
    model.predict(table[model.feature_names_in_])

Its features are columns of numbers. Where the study had categories, `model.encoder` makes their columns of
words, and `model.table(columns)` the whole of the features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from unpooled.fitted import image_network
from unpooled.fitted.curves import transformed
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.network import ACTIVATIONS, Network
from unpooled.fitted.transformer import Fitted, names_of

FORMAT, VERSION = "unpooled/model", 1
BENT = 2
"""The version of a model some of whose features are bent first, so that no reader of before weighs them raw.
"""
NUMBER, SIGN, LOGISTIC, SOFTMAX = "number", "sign", "logistic", "softmax"
"""Meaning of a score: the outcome; a class, the one with the largest score; the log odds of a class against
all others; or the logarithm of its probability, up to a constant that all classes share.
"""
LINKS = (NUMBER, SIGN, LOGISTIC, SOFTMAX)


def has_probabilities(link: str) -> bool:
    """Tell whether scores of this kind give the probability of each class."""
    return link in (LOGISTIC, SOFTMAX)


def probabilities(scores: np.ndarray, link: str) -> np.ndarray:
    """The probability of each class, float64 (n, classes), from scores, (n, scores): one of two classes."""
    if link == SOFTMAX:
        # Less the largest, so that no power overflows, and one of them is 1.
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    with np.errstate(over="ignore"):
        odds = 1 / (1 + np.exp(-scores))
    if scores.shape[1] == 1:
        return np.hstack([1 - odds, odds])
    # Odds may all be 0 in float64: such a row is of no class rather than not a number.
    return np.asarray(odds / np.maximum(odds.sum(axis=1, keepdims=True), 1e-300))


def ranked(scores: np.ndarray, link: str) -> np.ndarray:
    """Return the values that rank rows by how likely they are of the class of each score: float64 (n,
    scores).

    For softmax they are the log odds, since a constant that all scores of a row share says nothing.
    """
    if link != SOFTMAX:
        return scores
    p = probabilities(scores, link)
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log1p(-p), -_FARTHEST, _FARTHEST))


_FARTHEST = 700.0
"""Log odds, either way"""


class Named(np.ndarray):
    """A table of numbers that knows the names of its columns, as a data frame does."""

    columns: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[np.ndarray], names: Iterable[str]) -> Named:
        """Build it from its columns, float64 (n,) each."""
        found = np.column_stack(parts).view(cls)
        found.columns = tuple(names)
        return found

    def __array_finalize__(self, of: Any) -> None:
        """Keep the names where rows are taken; other columns have none."""
        names = getattr(of, "columns", ())
        self.columns = names if self.ndim == 2 and self.shape[1] == len(names) else ()


class Model(Fitted):
    """A fitted model. It has the methods that scikit-learn expects of a regressor, or of a classifier.

    Features are given as they were measured: the logarithms and power transforms of the study are made here,
    too. A missing one counts as the mean of the pool, after these. `predict_proba` is there where scores are
    log odds.
    """

    _fitted = "a model"
    _delivered = "model.json that a study of models"

    def _read(self, given: Mapping[str, Any]) -> None:
        if given["format"] == image_network.FORMAT:
            raise ValueError(
                "this is a network on images: unpooled_networks.load(model, weights), of the package "
                "unpooled-networks, makes a module of torch of it and its weights"
            )
        if given["format"] != FORMAT or given["version"] not in (VERSION, BENT):
            raise ValueError(f"got {given['format']} {given['version']}; want {FORMAT} {VERSION}")
        if given["link"] not in LINKS:
            raise ValueError(f"got the link {given['link']!r}; want {', '.join(LINKS)}")
        rows, outcome = given["features"], given["outcome"]
        self.link, self.outcome = str(given["link"]), str(outcome["name"])
        self.feature_names_in_ = np.array([row["name"] for row in rows], object)
        self.n_features_in_ = len(rows)
        self.scalings_ = {k: row["scaling"] for k, row in enumerate(rows) if "scaling" in row}
        """The scaling of features, by their places: its method and parameters."""
        for scaling in self.scalings_.values():
            transformed(np.ones(1), scaling)  # what is missing, or not known, is found now
        self.mean_ = np.array([row["mean"] for row in rows], np.float64)
        self.network = Layers(given["network"], rows, outcome) if "network" in given else None
        if self.network:
            self._scores = self.network.widths[-1]
        else:
            self._read_coefficients(rows, given["intercept"])
        self.encoder = Encoder(given["encoding"]) if given.get("encoding") else None
        if self.link != NUMBER:
            self.classes_ = np.array(outcome["classes"], object)
            if len(self.classes_) != (self._scores if self._scores > 1 else 2):
                raise ValueError(f"got {len(self.classes_)} classes for {self._scores} scores")

    def _read_coefficients(self, rows: Sequence[Mapping[str, Any]], intercept: Sequence[float]) -> None:
        self.coef_ = np.array([row["coefficients"] for row in rows], np.float64).T
        self.intercept_at_mean_ = np.array(intercept, np.float64)
        self._scores = len(self.intercept_at_mean_)
        if self.coef_.shape != (self._scores, len(rows)) or not _finite(
            self.coef_, self.mean_, self.intercept_at_mean_
        ):
            raise ValueError("a coefficient is missing or is no number")

    @property
    def intercept_(self) -> np.ndarray:
        """The score where every feature is 0, bent if it is, as scikit-learn has it: float64 (scores,)."""
        return np.asarray(self.intercept_at_mean_ - self.coef_ @ self.mean_)

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores, float64 (n,) of a number or of two classes, else (n, classes)."""
        # About the mean a missing value is 0, and large values lose no digits to the intercept.
        values = np.nan_to_num(self._bent(self._checked(X)) - self.mean_, nan=0.0)
        if self.network:
            scores = self.network.decided(values)
        else:
            scores = values @ self.coef_.T + self.intercept_at_mean_
        return np.asarray(scores[:, 0] if self._scores == 1 else scores)

    def _bent(self, values: np.ndarray) -> np.ndarray:
        """The same with a logarithm, or a power transform, in place of each feature that has one."""
        found = values.copy()
        for k, scaling in self.scalings_.items():
            try:
                found[:, k] = transformed(values[:, k], scaling)
            except ValueError as error:
                raise ValueError(f"{self.feature_names_in_[k]}: {error}") from error
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The outcome of each row of an array or a data frame: float64 (n,), or the classes, object (n,)."""
        scores = self.decision_function(X)
        if self.link == NUMBER:
            return scores
        place = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[place])

    def __getattr__(self, name: str) -> Any:
        """`predict_proba` of a model whose scores are log odds; AttributeError of others, as scikit-learn."""
        if name == "predict_proba" and has_probabilities(self.__dict__.get("link", "")):
            return self._probabilities
        raise AttributeError(f"this model has no {name}")

    def _probabilities(self, X: Any) -> np.ndarray:
        """The probability of each class, float64 (n, classes)."""
        scores = self.decision_function(X)
        return probabilities(scores[:, None] if scores.ndim == 1 else scores, self.link)

    def table(self, columns: Mapping[str, Any]) -> Named:
        """The features, float64 (n, features), from columns by name: numbers, and words for `encoder`.

        ValueError if a column is missing.
        """
        encoder = self.encoder
        words, made = (encoder.feature_names_in_, encoder.get_feature_names_out()) if encoder else ((), ())
        numbers = [name for name in self.feature_names_in_ if name not in {*made}]
        given = list(getattr(columns, "columns", columns))
        if missing := [name for name in (*numbers, *words) if name not in given]:
            raise ValueError(f"the columns {missing} are missing: got {given}")
        parts = {name: self._numbers(np.asarray(columns[name])) for name in numbers}
        if encoder:
            cells = np.column_stack([np.asarray(columns[name], object) for name in words])
            parts |= zip(made, encoder.dense(cells).T, strict=True)
        return Named.of([parts[name] for name in self.feature_names_in_], self.feature_names_in_)

    def score(self, X: Any, y: Any) -> float:
        """R² of a number, or the share of rows whose class is predicted, as scikit-learn has them."""
        found, wanted = self.predict(X), np.asarray(y)
        if self.link != NUMBER:
            return float(np.mean(found == wanted))
        return float(1 - np.square(wanted - found).sum() / np.square(wanted - wanted.mean()).sum())

    @property
    def _estimator_type(self) -> str:
        return "regressor" if self.link == NUMBER else "classifier"

    def _tags(self, utils: Any) -> dict[str, Any]:
        kind = self._estimator_type
        return {
            "estimator_type": kind,
            "target_tags": utils.TargetTags(required=False),
            f"{kind}_tags": utils.RegressorTags() if kind == "regressor" else utils.ClassifierTags(),
        }

    def _checked(self, X: Any) -> np.ndarray:
        """The features of a table. Where some are made of words, a table without names is refused.

        A ColumnTransformer may have put its columns into any order, and nothing would tell.
        """
        if self.encoder is not None and not names_of(X):
            raise ValueError(
                f"got a table whose columns have no names; want {list(self.feature_names_in_)}. Give what "
                "`table` makes of a data frame, or in a pipeline set_output(transform='pandas')"
            )
        return self._of_shape(self._numbers(self._cells(X, None, "real ones")))


class Layers:
    """The network of a model file."""

    def __init__(
        self, given: Mapping[str, Any], features: Sequence[Mapping[str, Any]], outcome: Mapping[str, Any]
    ) -> None:
        layers = [
            (np.array(layer["weight"], np.float64), np.array(layer["bias"], np.float64))
            for layer in given["layers"]
        ]
        self.widths = (len(features), *(len(bias) for _, bias in layers))
        self.network = Network(self.widths, str(given["activation"]))
        self.weights = np.concatenate([part.ravel() for layer in layers for part in layer])
        self.unit = np.array([row["unit"] for row in features], np.float64)
        # Of a number: what makes scores of the network's outputs.
        self.centre, self.scale = float(outcome.get("centre", 0.0)), float(outcome.get("scale", 1.0))
        shapes = [w.shape for w, _ in layers]
        if shapes != [w.shape for w, _ in self.network.layers(np.zeros(self.network.size))]:
            raise ValueError(f"the layers {shapes} do not fit {len(features)} features and one another")
        if self.network.activation not in ACTIVATIONS:
            raise ValueError(f"got the activation {self.network.activation!r}; want {', '.join(ACTIVATIONS)}")
        if not _finite(self.weights, self.unit):
            raise ValueError("a weight is missing or is no number")

    @property
    def factors(self) -> np.ndarray:
        """Factors of features less their means: float64 (features,); 0 of one that does not vary."""
        return np.divide(1.0, self.unit, out=np.zeros(len(self.unit)), where=self.unit > 0)

    def decided(self, centred: np.ndarray) -> np.ndarray:
        """The scores, float64 (n, scores), of features less their means."""
        return self.network.scores(self.weights, centred * self.factors) * self.scale + self.centre


def _finite(*arrays: np.ndarray) -> bool:
    return all(np.isfinite(array).all() for array in arrays)
