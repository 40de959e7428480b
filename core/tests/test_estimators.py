"""`Scaler`, `Encoder` and `Model` beside scikit-learn: checks, pipelines, files and tables."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from encoding_studies import fit as encoding_fit
from encoding_studies import plan_of, table_of
from normalizing import column, evenly, fit, loaded
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PowerTransformer, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from unpooled.encoder import Encoder
from unpooled.errors import DataProblem
from unpooled.model import Model
from unpooled.scaler import Scaler
from unpooled.schema import Column
from unpooled.words import is_missing, normal, text_of

METHODS = ("z-score", "min-max", "robust", "yeo-johnson")

NOT_APPLICABLE = {
    "check_no_attributes_set_in_init": "the parameters are the fit: it is fitted as soon as it is made",
    "check_do_not_raise_errors_in_init_or_set_params": "so it says at once if they are no parameters",
    "check_n_features_in": "and knows its columns before `fit`",
    "check_n_features_in_after_fitting": "which takes no others",
    "check_transformers_unfitted_stateless": "it has a state, and needs no `fit`",
    "check_estimators_empty_data_messages": "a table without rows is transformed to one",
    "check_fit2d_1feature": "fitting learns nothing, so one feature or one row is no fault",
    "check_fit2d_1sample": "likewise",
    "check_estimator_sparse_array": "takes what is called Scaler for its own, and sets with_mean",
    "check_estimator_sparse_matrix": "likewise",
    "check_array_api_input": "runs only where SciPy is told to",
}
"""Checks of scikit-learn that do not apply to a transformer whose parameters come from a file, and why."""
NOT_OF_ENCODERS = {
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_n_features_in",
    "check_estimators_empty_data_messages",
    "check_array_api_input",
}


def narrow(method: str, features: int) -> Scaler:
    return Scaler(fit(method, evenly(datasets.load_breast_cancer().data[:, :features], 3)))


def of_scaler() -> Iterator[Scaler]:
    return (narrow("yeo-johnson", features) for features in (2, 3, 4, 5, 10))


def of_encoder() -> Iterator[Encoder]:
    return (Encoder(given(k, encoding)) for k in (1, 2, 3, 4, 5, 10) for encoding in ("one-hot", "ordinal"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimators", "least", "not_applicable"),
    [(of_scaler, 25, NOT_APPLICABLE.keys()), (of_encoder, 30, NOT_OF_ENCODERS)],
)
def test_checks_of_scikit_learn(
    estimators: Callable[[], Iterator[Any]], least: int, not_applicable: Collection[str]
) -> None:
    """Each check brings a table of its own: it must pass with an estimator of as many columns."""
    found = [done for made in estimators() for done in check_estimator(made, on_fail=None, on_skip=None)]
    passed = {done["check_name"] for done in found if done["status"] == "passed"}
    met = {done["check_name"] for done in found}
    assert met - passed <= not_applicable, met - passed - not_applicable
    assert len(passed) > least


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
    return encoding_fit(plan, [table_of(dict(WORDS), np.zeros((60, 0)), plan)] * 3)


def test_an_encoding_file_and_back(tmp_path: Path) -> None:
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


def test_data_frames_of_words_in_and_out() -> None:
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


ENCODING = {
    "format": "unpooled/encoding",
    "version": 1,
    "missing_words": "missing",
    "ignore_case": False,
    "columns": [{"name": "w", "encoding": "one-hot", "values": ["true", "false"], "known": 600, "rest": 0}],
}
FEATURES = {
    "a": (2.0, 0.5),
    "w=true": (3.0, 0.5),
    "w=false": (-1.0, 0.5),
    "w=(rest)": (7.0, 0.0),
    "b": (0.1, 5.0),
}
PARAMETERS: dict[str, Any] = {
    "format": "unpooled/model",
    "version": 1,
    "link": "number",
    "outcome": {"name": "y"},
    "intercept": [4.0],
    "features": [{"name": name, "coefficients": [c], "mean": mean} for name, (c, mean) in FEATURES.items()],
    "encoding": ENCODING,
}
FRAME = pd.DataFrame(
    {"a": [0.0, 1.0, np.nan, 2.0], "b": [5.0, 4.0, 3.0, 2.0], "w": ["true", "false", "true", "true"]}
)
WANTED = Model(PARAMETERS).predict(Model(PARAMETERS).table(FRAME))


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ([True, np.True_, "True", "TRUE", " true"], "true"),
        ([1, 1.0, "1", "1.0", "1.00", np.int8(1), np.float32(1)], "1"),
        ([-12.0, "-12", "-12.0"], "-12"),
        ([1.5, "1.5"], "1.5"),
        (
            ["2024-03-01", datetime.date(2024, 3, 1), pd.Timestamp("2024-03-01"), "2024-03-01 00:00:00.000"],
            "2024-03-01",
        ),
        (
            ["2024-03-01T12:30:00", pd.Timestamp("2024-03-01 12:30"), "2024-03-01 12:30:00"],
            "2024-03-01 12:30:00",
        ),
        (["1.0.0"], "1.0.0"),
        (["Straße", "Straße "], "Straße"),
    ],
)
def test_what_programs_write_differently_is_one_word(cells: list[object], word: str) -> None:
    assert {normal(text_of(cell)) for cell in cells} == {word}


def test_missing_cells_of_every_library() -> None:
    assert all(map(is_missing, [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), "", " \t"]))
    assert not any(map(is_missing, ["nan", 0, False, "0"]))


@pytest.mark.parametrize(
    "words",
    [
        [True, False, True, True],
        pd.array([True, False, True, True], "boolean"),
        pd.array(["TRUE", "FALSE", "TRUE", "TRUE"], "string"),
        pd.Categorical(["True", "False", "True", "True"]),
    ],
)
@pytest.mark.parametrize("kind", ["float64", "Float64", "float64[pyarrow]"])
def test_the_same_cells_give_the_same_prediction(words: Any, kind: str) -> None:
    frame = FRAME.assign(w=words).astype({"a": kind, "b": kind})
    model = Model(PARAMETERS)
    assert np.array_equal(model.predict(model.table(frame)), WANTED)


def test_columns_are_found_by_their_names() -> None:
    model = Model(PARAMETERS)
    table = pd.DataFrame(np.asarray(model.table(FRAME)), columns=model.feature_names_in_)
    assert np.array_equal(model.predict(table[table.columns[::-1]]), WANTED)
    with pytest.raises(ValueError, match=r"got the columns \['a'.*want \['a', 'w=true'"):
        model.predict(table.drop(columns="b"))
    with pytest.raises(ValueError, match=r"\['b', 'w'\] are missing: got \['a'\]"):
        model.table({"a": [0.0]})


@pytest.mark.parametrize("encoder_first", [True, False])
def test_a_pipeline_orders_columns_by_their_names_or_is_refused(encoder_first: bool) -> None:
    """Of an array nobody can tell which column is which."""
    encoder, model = Encoder(ENCODING), Model(PARAMETERS)
    both = [("w", encoder, ["w"]), ("n", "passthrough", ["a", "b"])]
    named = ColumnTransformer(both if encoder_first else both[::-1], verbose_feature_names_out=False)
    pipeline = make_pipeline(named.set_output(transform="pandas"), model)
    assert np.array_equal(pipeline.fit(FRAME).predict(FRAME), WANTED)
    unnamed = make_column_transformer((Encoder(ENCODING), ["w"]), remainder="passthrough")
    with pytest.raises(ValueError, match="have no names; want"):
        make_pipeline(unnamed, model).fit(FRAME)


def test_settings_of_scikit_learn_change_no_prediction() -> None:
    model = Model(PARAMETERS)
    with sklearn.config_context(transform_output="pandas"):
        assert np.array_equal(model.predict(model.table(FRAME)), WANTED)
    model.encoder.set_output(transform="pandas")
    assert np.array_equal(model.predict(model.table(FRAME)), WANTED)


def test_words_that_are_written_otherwise_are_told() -> None:
    frame = pd.DataFrame({"w": ["yes", "no", "yes", "true"]})
    with pytest.warns(UserWarning, match=r"3 of 4 rows of w .*\['yes', 'no'\].*\['true', 'false'\]"):
        Encoder(ENCODING).transform(frame)


def test_infinity_is_refused() -> None:
    model = Model(PARAMETERS)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(model.table(FRAME.assign(a=np.inf)))


def test_scores_are_those_of_scikit_learn() -> None:
    model, y = Model(PARAMETERS), np.array([1.0, -2.0, 9.0, 4.0])
    assert model.score(model.table(FRAME), y) == pytest.approx(sklearn.metrics.r2_score(y, WANTED))
    classes = {"link": "logistic", "outcome": {"name": "y", "classes": ["no", "yes"]}}
    judge = Model(PARAMETERS | classes)
    found = judge.predict(judge.table(FRAME))
    assert judge.score(judge.table(FRAME), ["yes", "yes", "no", "no"]) == np.mean(
        found == ["yes", "yes", "no", "no"]
    )


@pytest.mark.parametrize(
    ("method", "reference", "names"),
    [
        ("z-score", StandardScaler(), ("mean_", "scale_")),
        ("min-max", MinMaxScaler(), ("data_min_", "data_max_", "scale_", "min_")),
        ("robust", RobustScaler(), ("center_", "scale_")),
        ("yeo-johnson", PowerTransformer(), ("lambdas_",)),
    ],
)
def test_numbers_have_the_names_of_scikit_learn(method: str, reference: Any, names: tuple[str, ...]) -> None:
    table = np.random.default_rng(3).lognormal(size=(300, 3))
    scaler, fitted = Scaler(fit(method, evenly(table, 3))), reference.fit(table)
    for name in names:
        np.testing.assert_allclose(getattr(scaler, name), getattr(fitted, name), rtol=1e-6, err_msg=name)
