"""`Scaler` beside scikit-learn: its checks, its pipelines, its settings; and the file it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from checks_of_scikit_learn import assert_checks_pass
from normalizing import column, evenly, fit, loaded
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from unpooled.errors import DataProblem
from unpooled.fitted.scaler import Scaler

METHODS = ("z-score", "min-max", "robust", "yeo-johnson")

NOT_APPLICABLE = {
    "check_n_features_in_after_fitting": "it takes no others",
    "check_transformers_unfitted_stateless": "it has a state, and needs no `fit`",
    "check_fit2d_1feature": "fitting learns nothing, so one feature or one row is no fault",
    "check_fit2d_1sample": "likewise",
    "check_estimator_sparse_array": "takes what is called Scaler for its own, and sets with_mean",
    "check_estimator_sparse_matrix": "likewise",
}


def narrow(method: str, features: int) -> Scaler:
    return Scaler(fit(method, evenly(datasets.load_breast_cancer().data[:, :features], 3)))


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn() -> None:
    scalers = (narrow("yeo-johnson", features) for features in (2, 3, 4, 5, 10))
    assert_checks_pass(scalers, NOT_APPLICABLE, 25)


@pytest.mark.parametrize("method", METHODS)
def test_file_and_back(tmp_path: Path, method: str) -> None:
    table = loaded("breast_cancer", 0.1)
    found = fit(method, evenly(table, 3))
    file = tmp_path / "study.parameters.json"
    file.write_text(json.dumps(found))
    scaler = clone(Scaler.from_file(file))
    scaled = scaler.transform(table)
    assert np.array_equal(scaled, Scaler(found).transform(table), equal_nan=True)
    assert np.array_equal(np.isnan(scaled), np.isnan(table))
    # Of a value where the transform is nearly flat, fewer digits come back.
    tolerance = 1e-8 if method == "yeo-johnson" else 1e-12
    np.testing.assert_allclose(scaler.inverse_transform(scaled), table, rtol=tolerance, atol=1e-12)


def test_data_frames_in_and_out() -> None:
    scaler = narrow("robust", 3)
    names = list(scaler.get_feature_names_out())
    values = datasets.load_breast_cancer().data[:, :3]
    frame = pd.DataFrame(values, columns=names, index=np.arange(len(values)) + 7)
    assert isinstance(scaler.transform(frame), np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(scaler.transform(frame), pd.DataFrame)
    made = scaler.set_output(transform="pandas").transform(frame)
    assert list(made.columns) == names and made.index.equals(frame.index)
    assert np.array_equal(made.to_numpy(), narrow("robust", 3).transform(values))
    both = ColumnTransformer([("all", narrow("robust", 3), names)], verbose_feature_names_out=False)
    assert both.set_output(transform="pandas").fit_transform(frame).equals(made)
    assert isinstance(scaler.set_output(transform="default").transform(frame), np.ndarray)
    assert np.array_equal(scaler.transform(frame[names[::-1]]), made)
    with pytest.raises(ValueError, match="got names"):
        scaler.get_feature_names_out(names[::-1])
    with pytest.raises(ValueError, match="want default"):
        scaler.set_output(transform="spreadsheet")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"version": 2}, "want unpooled/normalization 1"),
        ({"method": "guess"}, "want z-score"),
        ({"method": "quantiles"}, "do not normalize"),
        ({"features": [{}]}, "not the parameters"),
    ],
)
def test_other_files_are_no_parameters(tmp_path: Path, changed: dict[str, object], complaint: str) -> None:
    found = fit("min-max", evenly(loaded("iris"), 3)) | changed
    file = tmp_path / "other.json"
    file.write_text(json.dumps(found))
    with pytest.raises(DataProblem, match=complaint):
        Scaler.from_file(file)
    file.write_text("{")
    with pytest.raises(DataProblem, match="cannot be read"):
        Scaler.from_file(file)


def test_a_table_of_another_form_is_not_transformed() -> None:
    scaler = narrow("min-max", 4)
    for bad, complaint in (
        (np.zeros((3, 5)), "expecting 4 features"),
        (np.zeros(4), "Expected 2D"),
        (np.zeros((3, 4), complex), "Complex"),
    ):
        with pytest.raises(ValueError, match=complaint):
            scaler.transform(bad)
    assert column(scaler.parameters, "min").shape == (4,)  # type: ignore[arg-type]
