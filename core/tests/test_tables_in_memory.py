"""Tables as programs hold them: whatever wrote a cell and ordered the columns, it is the same table."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from checks_of_scikit_learn import assert_checks_pass
from normalizing import evenly, fit
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import Model
from unpooled.fitted.scaler import Scaler
from unpooled.plan.categories import is_missing, normal, text_of

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
    assert all(map(is_missing, [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), "", " \t", " NA "]))
    assert not any(map(is_missing, ["None", 0, False, "0"]))


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
    """Columns of an array cannot be told apart."""
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


LEARNS = "`fit` learns nothing: the federation has fitted it, and y is not looked at"
NOT_APPLICABLE = {
    "check_classifiers_classes": "its classes are the study's",
    "check_classifiers_one_label": "likewise",
    "check_classifier_data_not_an_array": "likewise; they are text, which the check subtracts",
    "check_classifiers_train": LEARNS,
    "check_classifiers_regression_target": LEARNS,
    "check_regressors_train": LEARNS,
    "check_regressors_no_decision_function": "a number is its own score, for whoever handles both kinds",
    "check_supervised_y_2d": LEARNS,
}


def model_of(features: int, classes: list[str]) -> Model:
    scores = len(classes) if len(classes) > 2 else 1
    rows = [
        {"name": f"x{k}", "coefficients": [0.1 * (k + j + 1) for j in range(scores)], "mean": 0.0}
        for k in range(features)
    ]
    link = "number" if not classes else "logistic" if scores == 1 else "softmax"
    outcome = {"name": "y", "classes": classes}
    given = {"link": link, "outcome": outcome, "features": rows, "intercept": [0.5] * scores}
    return Model(PARAMETERS | given | {"encoding": None})


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn() -> None:
    kinds = [(n, classes) for n in (1, 2, 3, 4, 5, 10, 20) for classes in ([], ["0", "1"], ["0", "1", "2"])]
    assert_checks_pass((model_of(*kind) for kind in kinds), NOT_APPLICABLE, 35)
