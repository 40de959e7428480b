"""The dictionaries of a study of encodings, and what they do to a table of words.

`Encoder` transforms like a fitted transformer of scikit-learn, also in its pipelines and beside `Scaler` in a
`ColumnTransformer`; it needs only NumPy, and SciPy for sparse tables.

    encoder = Encoder.from_file("study.encoding.json")
    encoder.transform(table[encoder.feature_names_in_])     # columns as encoder.get_feature_names_out()
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.fitted import hashing
from unpooled.fitted.transformer import Transformer
from unpooled.plan import encodings
from unpooled.plan.categories import MISSING, REST, Words, normal
from unpooled.plan.encodings import Encoding

FORMAT, VERSION = "unpooled/encoding", 1

_FEW, _MANY = 1 / 50, 1 / 20
"""Shares of rows in the rest, for a warning: below the first in the pool, but above the second in a table."""

UNKNOWN = ("rest", "refuse")
"""Ways to treat a word that the study's plan did not list."""


def outputs_of(title: str, encoding: str, values: Sequence[str]) -> list[str]:
    """The columns that a column becomes, if these are the values of its dictionary."""
    found = encodings.read(encoding)
    if found.kind == encodings.ONE_HOT:
        return [f"{title}={value}" for value in (*values, REST)]
    return [f"{title}#{k}" for k in range(found.columns)] if not found.has_dictionary else [title]


def distinct(columns: Mapping[str, Sequence[str]], beside: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
    """Give each output of each column a name of its own in a table that has the columns `beside`, too.

    `a` with the word b=c and `a=b` with the word c would both have a=b=c: the second is `a=b=c (of a=b)`.
    """
    taken = {*beside, *(title for title, outputs in columns.items() if [*outputs] == [title])}
    found = {}
    for title, outputs in columns.items():
        names = []
        for name in outputs:
            while name != title and name in taken:  # the longer name may be taken as well
                name += f" (of {title})"
            names.append(name)
        taken.update(names)
        found[title] = tuple(names)
    return found


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of words as numbers: of each row one of a few lines, which are sparse."""

    line: np.ndarray
    """int64 (n,): which line a row has."""
    starts: np.ndarray
    """int64 (lines + 1,): where each line begins in the two below, as in a CSR matrix."""
    places: np.ndarray
    """int64: the places, from 0, that are not 0."""
    numbers: np.ndarray
    """float64: what stands there."""
    width: int

    @classmethod
    def of(cls, line: np.ndarray, lines: Sequence[Mapping[int, float]], width: int) -> Coded:
        """Build it from lines that are mappings of places to numbers."""
        starts = np.append(0, np.cumsum([len(each) for each in lines], dtype=np.int64))
        places = [place for each in lines for place in each]
        numbers = [number for each in lines for number in each.values()]
        return cls(line, starts, np.array(places, np.int64), np.array(numbers, np.float64), width)

    def entries(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the nonzero entries of some rows, row by row: their number in each row; places; numbers."""
        line = self.line[rows]
        counts = self.starts[line + 1] - self.starts[line]
        # Where a row's entries begin, less how many stand before it: with a range added, the place of each.
        first = np.repeat(self.starts[line] - (np.cumsum(counts) - counts), counts)
        found = first + np.arange(counts.sum())
        return counts, self.places[found], self.numbers[found]

    def dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Some rows, float64 (rows, width)."""
        counts, places, numbers = self.entries(rows)
        out = np.zeros((len(counts), self.width))
        out[np.repeat(np.arange(len(counts)), counts), places] = numbers
        return out


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as the file has it."""

    title: str
    encoding: Encoding
    values: tuple[str, ...]
    listed: frozenset[str]
    """All values that the plan listed."""
    outputs: tuple[str, ...]
    """Names that another column's may equal: `distinct` tells them apart."""
    numbers: np.ndarray
    """float64 (values + 2,): where it is one, the number for each value, the rest, and a missing word."""
    folds: np.ndarray
    """float64 (folds, values + 2): the same by the other folds; empty without folds."""
    is_nearly_kept: bool
    """Hardly a row of the pool was of the rest."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> _Column:
        title, values = given["name"], tuple(given.get("values", ()))
        listed = frozenset((*values, *given.get("folded", ())))
        if not isinstance(title, str) or not all(isinstance(value, str) for value in listed):
            raise ValueError("the name of a column, or a value, is not text")
        encoding = encodings.read(given["encoding"])
        outputs = tuple(outputs_of(title, given["encoding"], values))
        numbers = _numbers(encoding, values, given)
        folds = [_numbers(encoding, values, fold) for fold in given.get("folds", ())]
        kept = given.get("rest", 0) < _FEW * given.get("known", 0)
        return cls(title, encoding, values, listed, outputs, numbers, np.array(folds), kept)

    def coded(self, place: np.ndarray, words: Sequence[str], folds: np.ndarray | None) -> Coded:
        """The column whose rows are at these places: of its values, the rest, and last a missing word.

        Where there is no dictionary, of `words` in normal form instead, and last a missing one.
        """
        match self.encoding.kind:
            case encodings.HASH | encodings.NGRAMS as kind:
                make = hashing.hashed if kind == encodings.HASH else hashing.ngrams
                lines = [make(word, self.encoding.columns) for word in words]
                return Coded.of(place, [*lines, {}], self.encoding.columns)
            case encodings.ONE_HOT:
                width = len(self.outputs)
                each = np.arange(width)
                return Coded(place, np.append(np.arange(width + 1), width), each, np.ones(width), width)
        numbers = self.numbers
        if folds is not None and len(self.folds):
            place, numbers = folds * len(numbers) + place, self.folds.ravel()
        starts = np.arange(len(numbers) + 1)
        return Coded(place, starts, np.zeros(len(numbers), np.int64), numbers, 1)


def _numbers(encoding: Encoding, values: Sequence[str], given: Mapping[str, Any]) -> np.ndarray:
    """The number for each value, the rest, and a missing word: float64 (values + 2,); else none."""
    if encoding.kind == encodings.ORDINAL:
        return np.append(np.arange(len(values) + 1.0), np.nan)
    if encoding.kind not in (encodings.FREQUENCY, encodings.TARGET):
        return np.zeros(0)
    if given.get("mean", 0) is None:  # no row of the pool had a target
        return np.full(len(values) + 2, np.nan)
    encoded = [*given["encoded"], given["rest_encoded"]]
    if len(encoded) != len(values) + 1:
        raise ValueError(f"got {len(encoded)} numbers; want {len(values) + 1}")
    return np.array([*encoded, np.nan], np.float64)


class Encoder(Transformer):
    """A fitted encoding of columns of words. It has the methods that scikit-learn expects of a transformer.

    One-hot columns are made as of a OneHotEncoder, `name=value` for each value of the dictionary and
    `name=(rest)` for every other word. A missing word (None, NaN or blanks) has 0 in all columns of one-hot,
    hash and n-grams, and NaN in others, unless the plan made it a value or part of the rest.
    """

    input_tags = Transformer.input_tags | {"categorical": True, "string": True}
    _fitted = "an encoding"
    _delivered = "encoding.json that a study of encodings"

    def __init__(
        self, parameters: Mapping[str, Any], unknown: str = "rest", sparse: bool | None = None
    ) -> None:
        """`unknown`: a word that the plan did not list counts as the `rest`, or `refuse` the table. `sparse`:
        whether `transform` returns a SciPy matrix; None for a table that is one-hot throughout.
        """
        super().__init__(parameters)
        self.unknown, self.sparse = unknown, sparse
        if unknown not in UNKNOWN:
            raise ValueError(f"got unknown={unknown!r}; want {' or '.join(UNKNOWN)}")

    def _read(self, given: Mapping[str, Any]) -> None:
        if (given["format"], given["version"]) != (FORMAT, VERSION):
            raise ValueError(f"got {given['format']} {given['version']}; want {FORMAT} {VERSION}")
        self._columns = [_Column.read(column) for column in given["columns"]]
        self._ignore_case, self._missing = bool(given["ignore_case"]), given["missing_words"]
        self.feature_names_in_ = np.array([column.title for column in self._columns], object)
        self.n_features_in_ = len(self._columns)
        outputs = {column.title: column.outputs for column in self._columns}
        self._outputs = distinct(outputs, given.get("beside", ()))

    @property
    def categories_(self) -> list[np.ndarray]:
        """The values of each column's dictionary: for OneHotEncoder(categories=...) and its like."""
        return [np.array(column.values, object) for column in self._columns]

    def transform(self, X: Any) -> Any:
        """The encoded table from an array or a data frame of words: float64 (n, outputs), or sparse."""
        columns = self._read_words(X)
        if self._frame:
            return self._framed(_dense(columns), X)
        return _sparse(columns) if self._is_sparse else _dense(columns)

    def dense(self, X: Any) -> np.ndarray:
        """The encoded table, float64 (n, outputs), whatever `transform` is set to return."""
        return _dense(self._read_words(X))

    def _read_words(self, X: Any) -> list[Coded]:
        """The columns of a table in memory, with a warning where many words are not the dictionary's."""
        words = self._checked(X)
        for column, of in zip(self._columns, words, strict=True):
            self._warn_of_rest(column, of)
        return self.coded(words)

    def _warn_of_rest(self, column: _Column, words: Words) -> None:
        """Tell if many words are the rest here, of a column of which the pool kept nearly all."""
        if not column.is_nearly_kept or not len(words):
            return
        places, counts = self._places_of(column), words.counts()
        odd = [
            k
            for k, word in enumerate(words.values)
            if normal(word, ignore_case=self._ignore_case) not in places
        ]
        rows = int(counts[odd].sum())
        if rows > _MANY * len(words):
            often = sorted(odd, key=lambda k: -counts[k])[:3]
            warnings.warn(
                f"{rows} of {len(words)} rows of {column.title} count as the rest, such as "
                f"{[words.values[k] for k in often]}: the dictionary has {list(column.values[:3])}",
                stacklevel=4,
            )

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The words of an encoded table, object (n, columns): `(rest)` for the rest, None for a missing one.

        ValueError if a column is encoded otherwise than one-hot or ordinal: words share numbers there.
        """
        lost = [
            c.title for c in self._columns if c.encoding.kind not in (encodings.ONE_HOT, encodings.ORDINAL)
        ]
        if lost:
            raise ValueError(f"only one-hot and ordinal columns have an inverse, not {', '.join(lost)}")
        values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
        widths = [len(column.outputs) for column in self._columns]
        if values.ndim != 2 or values.shape[1] != sum(widths):
            raise ValueError(f"got an array of shape {values.shape}; want {sum(widths)} columns")
        parts = np.split(values, np.cumsum(widths)[:-1], axis=1)
        found = np.empty((len(values), len(self._columns)), object)
        for k, (column, part) in enumerate(zip(self._columns, parts, strict=True)):
            words = np.array([*column.values, REST, None], object)
            if column.encoding.kind == encodings.ONE_HOT:
                place = np.where(part.any(axis=1), part.argmax(axis=1), len(words) - 1)
            else:
                place = np.where(np.isnan(part[:, 0]), len(words) - 1, np.nan_to_num(part[:, 0])).astype(
                    np.int64
                )
            found[:, k] = words[place]
        return found

    def coded(self, words: Sequence[Words], folds: np.ndarray | None = None) -> list[Coded]:
        """Columns of words, those of this encoder in its order, as numbers.

        `folds`, int64 (n,): the fold of each row, from 0. Then a column that is encoded by a target has for
        each row what the other folds say of its word, where the study had folds.
        """
        return [self._coded(column, of, folds) for column, of in zip(self._columns, words, strict=True)]

    def _coded(self, column: _Column, words: Words, folds: np.ndarray | None) -> Coded:
        known = [normal(word, ignore_case=self._ignore_case) for word in words.values]
        if not column.encoding.has_dictionary:
            return column.coded(words.taken(np.arange(len(known)), len(known)), known, folds)
        place = self._places_of(column)
        rest = len(column.values)
        self._refuse_unknown(column, words, known)
        missing = {"rest": rest, "value": place.get(MISSING, rest)}.get(self._missing, rest + 1)
        found = [place.get(word, rest) if word else missing for word in known]
        return column.coded(words.taken(found, missing), known, folds)

    def _places_of(self, column: _Column) -> dict[str, int]:
        """Return the place of each value of a dictionary, by its normal form; a missing word keeps its own
        form.
        """
        fold = self._ignore_case
        return {
            value if value == MISSING else normal(value, ignore_case=fold): place
            for place, value in enumerate(column.values)
        }

    def _refuse_unknown(self, column: _Column, words: Words, known: Sequence[str]) -> None:
        if self.unknown == "rest":
            return
        listed = {normal(value, ignore_case=self._ignore_case) for value in column.listed}
        odd = [raw for raw, word in zip(words.values, known, strict=True) if word and word not in listed]
        if odd:
            raise ValueError(
                f"Found unknown categories {odd[:3]} in column {column.title}: the study's plan does not "
                "list them. With unknown='rest' they count as the rest"
            )

    def outputs_of(self, title: str) -> tuple[str, ...]:
        """The columns that a column becomes; KeyError if there is none of this name."""
        return self._outputs[title]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return super().get_params() | {"unknown": self.unknown, "sparse": self.sparse}

    def _names_out(self) -> np.ndarray:
        return np.array([output for outputs in self._outputs.values() for output in outputs], object)

    @property
    def _is_sparse(self) -> bool:
        if self.sparse is not None:
            return self.sparse
        return all(column.encoding.kind == encodings.ONE_HOT for column in self._columns)

    def _checked(self, X: Any) -> list[Words]:
        """The columns of a table in memory."""
        cells = self._of_shape(self._cells(X, object, "words"))
        return [Words.of(cells[:, k].tolist()) for k in range(cells.shape[1])]


def _dense(columns: Sequence[Coded]) -> np.ndarray:
    """All columns side by side, float64 (n, outputs)."""
    return np.hstack([column.dense() for column in columns])


def _sparse(columns: Sequence[Coded]) -> Any:
    """All columns side by side, as a CSR matrix of SciPy."""
    sparse = importlib.import_module("scipy.sparse")
    parts = []
    for column in columns:
        counts, places, numbers = column.entries(slice(None))
        starts = np.append(0, np.cumsum(counts))
        parts.append(sparse.csr_array((numbers, places, starts), shape=(len(counts), column.width)))
    return sparse.hstack(parts, format="csr")
