"""Networks on tables: the weights of every round are those of training on the pool; floors and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import models
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from normalizing import NOBODY
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from unpooled import run
from unpooled.asking.draws import drawing
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.described.file_list import most_bytes, report_name
from unpooled.errors import ProtocolError
from unpooled.fitted.model import Model
from unpooled.fitted.network import RELU, Network, start
from unpooled.methods import METHODS, questions_of, whole
from unpooled.methods.learning.network_options import MOST_WEIGHTS
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.reading import Examples
from unpooled.plan.plan import Plan, PlanError

METHOD = "network"
Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def pool(load: Callable[..., Any], columns: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = load(return_X_y=True)
    if len(y) < 400:  # enough people of each class beside those of any one cohort
        x, y = np.repeat(x, 3, axis=0), np.repeat(y, 3)
        x = x + np.random.default_rng(1).normal(0, 0.2, x.shape) * x.std(axis=0)
    return x[:, :columns], y


def by_outcome(y: np.ndarray) -> list[np.ndarray]:
    """Three cohorts of unequal size, whose outcomes overlap as little as floors allow."""
    noise = np.random.default_rng(2).normal(0, 1.2 * y.std(), len(y))
    return np.split(np.argsort(y + noise, kind="stable"), [len(y) // 2, len(y) * 4 // 5])


def study(x: np.ndarray, y: np.ndarray, **options: Any) -> tuple[Plan, list[Examples]]:
    """A plan, and its cohorts; of whole numbers as outcome, classes."""
    of_classes = y.dtype.kind == "i"
    names = "|".join(f"c{k}" for k in range(y.max() + 1)) if of_classes else "number"
    plan = models.plan_of(METHOD, models.schema_of(x.shape[1], names), 3, **options)
    outcome: Any = np.array([f"c{k}" for k in y]) if of_classes else y
    parts = (models.cells_of(x[rows], outcome[rows]) for rows in by_outcome(y))
    tables: Any = [models.table_of(cells, plan) for cells in parts]
    return plan, tables


def descent(rate: float, momentum: float) -> Step:
    moving: Any = 0.0

    def step(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        nonlocal moving
        moving = momentum * moving + gradient
        return weights - rate * moving

    return step


def adam(rate: float) -> Step:
    """Adam as its paper has it."""
    m: Any = 0.0
    v: Any = 0.0
    t = 0

    def step(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        nonlocal m, v, t
        t, m, v = t + 1, 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        return weights - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)

    return step


class Central:
    """Training on the pooled table, with loops of its own: SiLU, and the classes' log loss or squares."""

    def __init__(self, tables: list[Examples], plan: Plan, hidden: int) -> None:
        pooled = (
            np.concatenate([getattr(t, name) for t in tables]) for name in ("values", "classes", "folds")
        )
        values, self.classes, folds = pooled
        features = [k for k, column in enumerate(plan.features) if not column.is_outcome]
        x = values[:, features]
        self.x = (x - x.mean(axis=0)) / x.std(axis=0)
        y = values[:, -1] - values[:, -1].mean() if len(features) < values.shape[1] else self.classes
        # A number is standardised by a power of two.
        self.y = y / 2.0 ** np.ceil(np.log2(y.std())) if y.dtype.kind == "f" else y
        self.fitted = folds != folds.max()
        self.scores = len(plan.outcome.levels) if plan.outcome and len(plan.outcome.levels) > 2 else 1
        self.hidden = hidden

    def slopes(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        if y.dtype.kind == "f":
            return 2 * (scores - y[:, None])
        if self.scores == 1:
            return 1 / (1 + np.exp(-scores)) - y[:, None]
        odds = np.exp(scores)
        return odds / odds.sum(axis=1, keepdims=True) - np.eye(self.scores)[y]

    def gradient(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        m, h = self.x.shape[1], self.hidden
        w, b, v, c = np.split(weights, np.cumsum([h * m, h, self.scores * h]))
        w, v = w.reshape(h, m), v.reshape(self.scores, h)
        x = self.x[rows]
        a = x @ w.T + b
        s = 1 / (1 + np.exp(-a))
        delta = self.slopes(a * s @ v.T + c, self.y[rows])
        back = delta @ v * (s + a * s * (1 - s))
        parts = back.T @ x, back.sum(axis=0), delta.T @ (a * s), delta.sum(axis=0)
        return np.concatenate([part.ravel() for part in parts]) / len(x)


def rows_drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    """The rows of the pool that take part, round by round, as the cohorts draw them."""
    drawn: list[np.ndarray] = []
    taken = SumGradient.taken

    def recorded(self: SumGradient, found: Examples) -> np.ndarray:
        drawn.append(taken(self, found))
        return drawn[-1]

    monkeypatch.setattr(SumGradient, "taken", recorded)
    return (np.concatenate(three) for three in zip(*[iter(drawn)] * 3, strict=True))


@pytest.mark.parametrize(
    ("load", "columns", "steps", "options"),
    [
        (
            load_breast_cancer,
            8,
            descent(0.1, 0.9),
            {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9},
        ),
        (load_breast_cancer, 8, adam(0.003), {"learning_rate": 0.003}),
        (load_breast_cancer, 8, adam(0.003), {"learning_rate": 0.003, "taking_part": 0.1}),
        (load_wine, 6, descent(0.1, 0), {"optimizer": "sgd", "learning_rate": 0.1}),
        (load_diabetes, 5, adam(0.003), {"learning_rate": 0.003}),
    ],
    ids=["momentum", "adam", "adam, some rows", "descent, three classes", "a number"],
)
def test_the_weights_are_those_of_training_on_the_pool(
    load: Callable[..., Any],
    columns: int,
    steps: Step,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = pool(load, columns)
    few = {"validation_folds": 2, "training_rounds": 300, "patience": 0, "people_in_a_round": 10}
    plan, tables = study(x, y, hidden="10", **few, **options)
    drawn = rows_drawn(monkeypatch)
    found = run.run(plan, NOBODY, tables)
    central = Central(tables, plan, 10)
    network = Network((columns, 10, central.scores), "silu")
    weights = start(network, 0)
    # The last round only tests what came of the one before.
    for _, taken in zip(range(300), drawn, strict=False):
        weights = steps(weights, central.gradient(weights, taken & central.fitted))
    assert np.abs(weights - start(network, 0)).max() > 0.2
    assert np.mean((weights - found["weights"]["weight"]) ** 2) <= 1e-20


def asked(x: np.ndarray, y: np.ndarray, **options: Any) -> tuple[Any, Place, SumGradient]:
    """A federation that has come to the gradient of the third round: itself, the place, and the question."""
    plan, tables = study(x, y, validation_folds=2, training_rounds=4, people_in_a_round=10, **options)
    call = whole(Study(plan, lambda: NOBODY))
    federation = run._Federation(call, tables, questions_of(plan))
    at: list[tuple[Place, SumGradient]] = []

    class Enough(Exception):
        pass

    def total(place: Place, question: Question) -> Arrays:
        if isinstance(question, SumGradient) and question.iteration == 3:
            at.append((place, question))
            raise Enough
        return federation.total(place, question)

    with pytest.raises(Enough):
        Tree(call, questions_of(plan), total, []).value()
    return federation, *at[0]


def fitted(question: SumGradient, cohort: Examples) -> np.ndarray:
    """The inputs of the rows that a cohort's gradient is summed over."""
    everyone = np.ones(len(cohort.values), bool)
    blocks = question.blocks(cohort, everyone)
    inputs = [question.inputs(cohort, rows, z) for fold, rows, z in blocks if fold != question.held_out]
    return np.concatenate(inputs)


def test_weights_that_single_out_a_person_are_asked_about_by_nobody() -> None:
    """A unit that is active for one person alone tells that person's row: but weights follow from sums."""
    x, y = pool(load_breast_cancer, 8)
    federation, place, honest = asked(x, y, hidden="4", activation=RELU)
    network = honest.network
    theirs = [fitted(honest, cohort) for cohort in federation.cohorts]
    z, everyone = theirs[0], np.concatenate(theirs)
    person = z[np.argmax(np.linalg.norm(z, axis=1))]
    direction = person / np.linalg.norm(person)
    along = np.sort(everyone @ direction)
    crafted = np.zeros(network.size)
    (w, b), (v, _) = network.layers(crafted)
    w[0], b[0], v[0, 0] = direction, -(along[-1] + along[-2]) / 2, 1.0
    lie = replace(honest, weights=crafted)
    told = network.layers(sum(lie.local(cohort)["gradient"] for cohort in federation.cohorts))
    np.testing.assert_allclose(told[0][0][0] / told[0][1][0], person, rtol=1e-9)  # as it would be read
    before = federation.round
    with pytest.raises(ProtocolError, match="asks something else"):
        federation.total(place, lie)
    assert federation.round == before
    assert federation.total(place, honest)["rows"][0] > 0


def test_a_retry_has_the_same_rows_and_another_round_or_cohort_has_others() -> None:
    x, y = pool(load_breast_cancer, 8)
    federation, _, question = asked(x, y, taking_part=0.3)
    table = federation.cohorts[0]
    own, other = bytes(32), bytes(31) + b"1"
    taken = question.taken(drawing(table, question, own))
    assert (taken == question.taken(drawing(table, question, own))).all()
    assert 0.2 < taken.mean() < 0.4
    changed = replace(question, iteration=4)
    others = [question.taken(drawing(table, question, other)), changed.taken(drawing(table, changed, own))]
    for rows in others:
        assert 0.3 < (rows != taken).mean() < 0.55  # of independent draws 0.42
    with pytest.raises(ProtocolError, match="no secret"):
        question.taken(table)


def test_all_rows_of_a_person_take_part_or_none_does() -> None:
    x, y = pool(load_breast_cancer, 8)
    federation, _, question = asked(x, y, taking_part=0.3)
    table = federation.cohorts[0]
    patients = np.arange(len(table.values)) // 4
    taken = question.taken(drawing(replace(table, patients=patients), question, bytes(32)))
    share = np.bincount(patients, taken) / np.bincount(patients)
    assert set(share) == {0.0, 1.0}


def test_units_drop_out_by_the_cohorts_secret_and_the_question() -> None:
    x, y = pool(load_breast_cancer, 8)
    federation, place, question = asked(x, y, dropout=0.4, hidden="30,20")
    table = federation.cohorts[0]
    one, again, other = (
        question.local(drawing(table, question, own))["gradient"] for own in (bytes(32), bytes(32), b"1" * 32)
    )
    assert (one == again).all() and (one != other).mean() > 0.9
    units = Cipher(algorithms.AES256(bytes(32)), modes.CTR(bytes(16))).encryptor()
    for kept, width in zip(question.kept(2000, units), (30, 20), strict=True):
        assert kept.shape == (2000, width) and set(np.unique(kept)) == {0.0, 1 / (1 - 0.4)}
        assert kept.mean() == pytest.approx(1, abs=0.02)
    # Nothing drops out of the fold that is left out.
    honest = replace(question, plan=replace(question.plan, dropout=0.0)).local(table)
    assert question.local(drawing(table, question, bytes(32)))["held_out"] == honest["held_out"]
    assert federation.total(place, question)["far"] == 0


def files_of(plan: Plan, tables: list[Examples]) -> Mapping[str, bytes]:
    return run.reports(plan, NOBODY, run.run(plan, NOBODY, tables))


@pytest.mark.parametrize(("load", "classes"), [(load_diabetes, 0), (load_breast_cancer, 2), (load_wine, 3)])
def test_the_file_predicts_as_its_layers_do(load: Callable[..., Any], classes: int) -> None:
    x, y = pool(load, 6)
    options = {"validation_folds": 2, "hidden": "5,4", "activation": "mish", "learning_rate": 0.02}
    plan, tables = study(x, y, people_in_a_round=10, training_rounds=60, **options)
    files = files_of(plan, tables)
    content = json.loads(files["model"])
    model = Model(content)
    mean, deviation = (np.array([row[name] for row in content["features"]]) for name in ("mean", "deviation"))
    h = (x - mean) / deviation
    layers = content["network"]["layers"]
    for k, layer in enumerate(layers):
        h = h @ np.array(layer["weight"]).T + layer["bias"]
        if k < len(layers) - 1:
            h = h * np.tanh(np.log1p(np.exp(h)))
    if not classes:
        wanted = content["outcome"]["centre"] + content["outcome"]["scale"] * h[:, 0]
        np.testing.assert_allclose(model.predict(x), wanted, rtol=1e-12)
        assert model.score(x, y) > 0.3
        return
    p = np.exp(h) / np.exp(h).sum(axis=1, keepdims=True) if classes > 2 else 1 / (1 + np.exp(-h))
    np.testing.assert_allclose(model.predict_proba(x)[:, -p.shape[1] :], p, rtol=1e-9, atol=1e-12)
    assert model.score(x, np.array([f"c{k}" for k in y], object)) > 0.85
    curve = content["curve"]
    assert content["error"] == min(curve["held_out"]) == curve["held_out"][content["round"]]
    assert 0.85 < curve["right"][content["round"]] <= 1
    assert all(score["auc"] > 0.9 for score in content["performance"]["scores"])


def test_the_loss_is_of_the_fold_that_is_left_out() -> None:
    x, y = pool(load_breast_cancer, 6)
    plan, tables = study(x, y, validation_folds=2, people_in_a_round=10, training_rounds=20)
    content = json.loads(files_of(plan, tables)["model"])
    rows = np.concatenate([x[part] for part in by_outcome(y)])
    folds, classes = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("folds", "classes")
    )
    p = Model(content).predict_proba(rows[folds == 1])
    assert content["error"] == pytest.approx(
        -np.log(p[np.arange(len(p)), classes[folds == 1]]).mean(), rel=1e-9
    )
    assert content["curve"]["right"][content["round"]] == pytest.approx(
        (p.argmax(axis=1) == classes[folds == 1]).mean()
    )


def test_training_ends_when_the_loss_has_not_fallen_for_so_many_rounds() -> None:
    x, y = pool(load_breast_cancer, 8)
    few = {
        "validation_folds": 2,
        "people_in_a_round": 10,
        "learning_rate": 0.3,
        "patience": 7,
        "hidden": "30",
    }
    plan, tables = study(x, y, training_rounds=900, **few)
    found = run.run(plan, NOBODY, tables)
    rounds, best = len(found["curve"]["index"]), int(found["model"]["round"][0])
    assert rounds < 900 and best == rounds - 1 - 7 == found["curve"]["held_out"].argmin()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"optimizer": "lbfgs", "taking_part": 0.5}, "taking_part"),
        ({"optimizer": "adam", "momentum": 0.5}, "momentum"),
        ({"optimizer": "lbfgs", "dropout": 0.5}, "dropout"),
        ({"hidden": "8,0"}, "hidden"),
        ({"hidden": "8," * 6 + "8"}, "hidden"),
        ({"hidden": "1025"}, "hidden"),
        ({"people_in_a_round": 9}, "people_in_a_round"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError) as error:
        models.plan_of(METHOD, models.schema_of(2), 3, **options)
    assert field in error.value.problems


def test_alone_a_cohort_trains_on_its_own_rows() -> None:
    x, y = pool(load_breast_cancer, 6)
    plan, tables = study(x, y, training_rounds=30, validation_folds=2, taking_part=0.5)
    found = run.run_alone(plan, NOBODY, tables[0])
    assert found["model"]["people"][0] == len(tables[0].values)
    assert found["curve"]["held_out"][-1] < found["curve"]["held_out"][0]
    assert str(METHODS[METHOD].shown(found, plan)).count("<svg") >= 3  # type: ignore[misc]


def test_clients_take_the_file_of_the_largest_network() -> None:
    plan = models.plan_of(METHOD, models.schema_of(60, "a|b"), 3, hidden="1000,930", training_rounds=10_000)
    network = Network((60, 1000, 930, 1), "silu")
    assert 990_000 < network.size <= MOST_WEIGHTS
    written = len(json.dumps(np.random.default_rng(1).normal(size=1000).tolist())) / 1000
    assert most_bytes(report_name("model", plan), plan, {}) > network.size * written + 3 * 10_000 * written
