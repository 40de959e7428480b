"""`Encoder` beside scikit-learn: its checks, its pipelines, its settings; and the file it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from checks_of_scikit_learn import assert_checks_pass
from encoding_studies import fit, plan_of, table_of
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from unpooled.errors import DataProblem
from unpooled.fitted.encoder import Encoder
from unpooled.plan.schema import Column

WORDS = {
    "drug": ["aspirin"] * 30 + ["ibuprofen"] * 20 + ["rare"] * 3 + ["else"] + [None] * 6,
    "smoking": ["former"] * 25 + [" never "] * 35,
}
COLUMNS = (
    Column("drug", "category", "", "one-hot", ("ibuprofen", "aspirin", "rare")),
    Column("smoking", "category", "", "ordinal", ("never", "former", "current")),
)


def given(columns: int, encoding: str) -> dict[str, Any]:
    """Parameters of columns whose words are digits, as those of scikit-learn's checks often are."""
    of_one = {"encoding": encoding, "values": ["0", "1", "2"], "folded": []}
    return {
        "format": "unpooled/encoding",
        "version": 1,
        "missing_words": "missing",
        "ignore_case": False,
        "columns": [{"name": f"c{k}", **of_one} for k in range(columns)],
    }


def found() -> dict[str, Any]:
    plan = plan_of(COLUMNS, 3)
    return fit(plan, [table_of(dict(WORDS), np.zeros((60, 0)), plan)] * 3)


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn() -> None:
    kinds = [(columns, encoding) for columns in (1, 2, 3, 4, 5, 10) for encoding in ("one-hot", "ordinal")]
    assert_checks_pass((Encoder(given(*kind)) for kind in kinds), {}, 30)


def test_file_and_back(tmp_path: Path) -> None:
    file = tmp_path / "study.encoding.json"
    file.write_text(json.dumps(found()))
    encoder = clone(Encoder.from_file(file, sparse=True))
    frame = pd.DataFrame(WORDS)
    made = encoder.transform(frame)
    assert sparse.issparse(made) and encoder.get_feature_names_out().tolist() == [
        *("drug=ibuprofen", "drug=aspirin", "drug=(rest)"),
        "smoking",
    ]
    back = encoder.inverse_transform(made)
    assert back[0].tolist() == ["aspirin", "former"] and back[50].tolist() == ["(rest)", "never"]
    assert back[-1].tolist() == [None, "never"]
    assert np.array_equal(Encoder(found()).transform(frame), made.toarray())
    again = encoder.transform(back)
    assert (again != made).nnz == 0


def test_its_categories_are_those_of_a_one_hot_encoder() -> None:
    encoder = Encoder(found())
    first = OneHotEncoder(categories=encoder.categories_[:1], handle_unknown="ignore", sparse_output=False)
    words = np.array([["aspirin"], ["ibuprofen"], ["rare"]], object)
    assert np.array_equal(first.fit_transform(words), [[0, 1], [1, 0], [0, 0]])


def test_data_frames_in_and_out() -> None:
    encoder, frame = Encoder(found()), pd.DataFrame(WORDS, index=np.arange(60) + 7)
    made = encoder.set_output(transform="pandas").transform(frame)
    assert made.index.equals(frame.index) and made["drug=aspirin"].sum() == 30
    typed = frame.astype({"drug": "category", "smoking": "string"})
    assert encoder.transform(typed).equals(made)
    assert encoder.transform(frame[["smoking", "drug"]]).equals(made)
    with pytest.raises(ValueError, match="want default"):
        encoder.set_output(transform="spreadsheet")


def test_whole_numbers_are_words_however_pandas_holds_them() -> None:
    encoder = Encoder(given(1, "ordinal"))
    for cells in ([0, 2, 1], [0.0, 2.0, np.nan], ["0", " 2", None]):
        made = encoder.transform(pd.DataFrame({"c0": cells}))[:, 0]
        assert made[:2].tolist() == [0, 2]


def test_an_unknown_word_is_refused_where_that_is_wanted() -> None:
    encoder = Encoder(found(), unknown="refuse")
    assert encoder.transform(np.array([["rare", "never"]], object)).shape == (1, 4)  # listed, and folded
    with pytest.raises(ValueError, match=r"unknown categories \['Aspirin'\] in column drug"):
        encoder.transform(np.array([["Aspirin", "never"]], object))


def test_only_one_hot_and_ordinal_have_an_inverse() -> None:
    hashed = {**given(1, "one-hot"), "columns": [{"name": "h", "encoding": "hash:8"}]}
    with pytest.raises(ValueError, match="not h"):
        Encoder(hashed).inverse_transform(np.zeros((1, 8)))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"version": 2}, "want unpooled/encoding 1"),
        ({"columns": [{}]}, "not the parameters"),
        ({"columns": [{"name": "c", "encoding": "magic"}]}, "want the encoding one-hot"),
        ({"columns": [{"name": "c", "encoding": "frequency", "values": ["a"], "encoded": [],
                       "rest_encoded": 0}]}, "want 2"),
        ({"columns": [{"name": 3, "encoding": "hash:8"}]}, "is not text"),
    ],
)  # fmt: skip
def test_other_files_are_no_encodings(tmp_path: Path, changed: dict[str, object], complaint: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(given(1, "one-hot") | changed))
    with pytest.raises(DataProblem, match=complaint):
        Encoder.from_file(file)
