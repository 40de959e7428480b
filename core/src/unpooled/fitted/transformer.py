"""Parts that a fitted estimator of scikit-learn must have besides its own methods, without needing scikit-
learn.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from unpooled.errors import DataProblem
from unpooled.plan.categories import is_missing

_FRAMES = ("pandas", "polars")


class Fitted:
    """Base of estimators that a federation has fitted, for pipelines, data frames and clones."""

    feature_names_in_: np.ndarray
    n_features_in_: int
    input_tags: ClassVar[dict[str, bool]] = {"allow_nan": True}
    """Properties that a table may have, in scikit-learn's words."""
    _fitted: ClassVar[str]
    """The result of fitting, in words, that its parameters belong to."""
    _delivered: ClassVar[str]
    """The file of parameters, and the study that delivers it."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """`parameters` as `json.load` gives them; ValueError if they are none of such an estimator."""
        self.parameters = parameters  # as it came, for scikit-learn's clone
        try:
            self._read(parameters)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"these are not the parameters of {self._fitted}: {error!r}") from error

    def _read(self, given: Mapping[str, Any]) -> None:
        """Take what was fitted from its parameters."""
        raise NotImplementedError

    @classmethod
    def from_file(cls, path: Path | str, **options: Any) -> Self:
        """Read the parameters in a file; DataProblem if it has none. `options` are those of the class."""
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8")), **options)
        except (OSError, ValueError, RecursionError) as error:
            said = f"the parameters of {cls._fitted} cannot be read: {error}"
            raise DataProblem(said, file=path, remedy=f"Give the {cls._delivered} delivered.") from error

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"parameters": self.parameters}

    def _checked(self, X: Any) -> Any:
        """The columns of a table; TypeError or ValueError if they are not those that were fitted."""
        raise NotImplementedError

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Nothing, but for a look at the columns: the federation has fitted it. Pipelines call this."""
        if X is not None:
            self._checked(X)
        return self

    def set_params(self, **given: Any) -> Self:
        if given:
            self.__init__(**(self.get_params() | given))  # type: ignore[misc]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn wants; only it asks, so it is loaded already."""
        utils = sys.modules["sklearn.utils"]
        tags = utils.Tags(input_tags=utils.InputTags(**self.input_tags), **self._tags(utils))
        tags.requires_fit = False
        return tags

    def _tags(self, utils: Any) -> dict[str, Any]:
        """Return the tags of this kind of estimator, in the words of scikit-learn's module `utils`."""
        raise NotImplementedError

    def _cells(self, table: Any, kind: type | None, wanted: str) -> np.ndarray:
        """A table in memory as an array, of `kind` where the table does not say; what is refused is no table
        with these columns, or not of what is `wanted`. Where columns have names, these say which is which."""
        names, fitted = names_of(table), list(self.feature_names_in_)
        if names and names != fitted:
            if sorted(map(str, names)) != sorted(fitted):
                raise ValueError(f"got the columns {names}; want {fitted}")
            table = table[fitted]
        # In scikit-learn's words, for its checks look for them.
        if hasattr(table, "toarray"):
            raise TypeError("sparse data is not supported: got a sparse table; want its toarray()")
        cells = table.__array__() if hasattr(table, "__array__") else np.asarray(table, kind)
        if np.iscomplexobj(cells):
            raise ValueError(f"Complex data not supported: got complex numbers; want {wanted}")
        return np.asarray(cells)

    def _numbers(self, cells: np.ndarray) -> np.ndarray:
        """Cells as float64, a missing one as NaN; ValueError for infinite ones, in scikit-learn's words."""
        values = as_numbers(cells)
        if np.isinf(values).any():
            raise ValueError("Input X contains infinity")
        return values

    def _of_shape(self, values: np.ndarray) -> np.ndarray:
        """The same, if it has rows and as many columns as were fitted. The words are scikit-learn's."""
        if values.ndim != 2:
            raise ValueError(f"Expected 2D array, got an array of shape {values.shape}. Reshape your data")
        if values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return values


def names_of(table: Any) -> list[str]:
    """The names of the columns of a table; none where pandas has numbered them because they have none."""
    names = list(getattr(table, "columns", ()))
    return [] if all(isinstance(name, int) for name in names) else names


_are_missing = np.vectorize(is_missing, otypes=[bool])


def as_numbers(cells: np.ndarray) -> np.ndarray:
    """Cells as float64, a missing one as NaN."""
    if cells.dtype.kind in "OU":  # of nullable columns, of None, or of text where a cell says NA
        cells = np.where(_are_missing(cells), np.nan, cells.astype(object))
    return np.asarray(cells, np.float64)


class Transformer(Fitted):
    """Base of transformers that a federation has fitted."""

    _output: str | None = None

    def transform(self, X: Any) -> Any:
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set what `transform` returns: `default` for an array, or a data frame of `pandas` or `polars`."""
        if transform not in (None, "default", *_FRAMES):
            raise ValueError(f"got {transform!r}; want default, {', '.join(_FRAMES)}")
        self._output = transform or self._output
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of what comes out; ValueError if those of the table, where given, are others."""
        if input_features is not None and list(input_features) != list(self.feature_names_in_):
            raise ValueError(f"got names {list(input_features)}; want {list(self.feature_names_in_)}")
        return self._names_out()

    def _names_out(self) -> np.ndarray:
        return self.feature_names_in_

    def _tags(self, utils: Any) -> dict[str, Any]:
        return {
            "estimator_type": "transformer",
            "target_tags": utils.TargetTags(required=False),
            "transformer_tags": utils.TransformerTags(),
        }

    @property
    def _frame(self) -> str:
        """The kind of data frame that the user, or else scikit-learn's settings, want; empty for none."""
        settings: Mapping[str, Any] = getattr(sys.modules.get("sklearn"), "get_config", dict)()
        wanted = self._output or settings.get("transform_output", "default")
        return wanted if wanted in _FRAMES else ""

    def _framed(self, values: np.ndarray, given: Any) -> Any:
        """Values as the data frame that is wanted, with the index of the table that was given."""
        kind, titles = self._frame, list(self.get_feature_names_out())
        frame = importlib.import_module(kind).DataFrame
        if kind == "polars":
            return frame(values, schema=titles, orient="row")
        return frame(values, columns=titles, index=getattr(given, "index", None), copy=False)
