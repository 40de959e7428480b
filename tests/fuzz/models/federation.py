"""A random federation whose tables a model is fitted to: all of it follows from one integer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unpooled.fitted.network import ACTIVATIONS
from unpooled.methods import usual
from unpooled.methods.learning.models import (
    ELASTIC_NET,
    FEDHEONN,
    LASSO,
    LINEAR,
    LOGISTIC_MODEL,
    OF_CLASSES,
    RIDGE,
)
from unpooled.methods.learning.network_options import ADAM, DESCENT
from unpooled.plan.encodings import ABOVE, OF_NUMBERS
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column

from ..tables import columns as numbers
from ..tables.columns import Random

NETWORK = "network"
METHODS = (
    LINEAR,
    RIDGE,
    RIDGE,
    LASSO,
    ELASTIC_NET,
    FEDHEONN,
    LOGISTIC_MODEL,
    LOGISTIC_MODEL,
    NETWORK,
    NETWORK,
)
COHORTS = (3, 3, 3, 4, 5, 7, 20)
OUTCOME, PATIENT = "y", "id"
LEVELS = ("a", "b", "c", "nobody's")


@dataclass(frozen=True, eq=False)
class Cohort:
    """A cohort's table: of each column float64, or words with None where they are missing."""

    cells: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.cells[OUTCOME])

    def with_rows(self, kept: np.ndarray) -> Cohort:
        return Cohort({title: column[kept] for title, column in self.cells.items()})


@dataclass(frozen=True, eq=False)
class Federation:
    """Federation of one study: its plan and the cohorts' tables."""

    seed: int
    plan: Plan
    cohorts: tuple[Cohort, ...]
    kinds: tuple[str, ...]
    """Kinds of the features, for display."""

    @property
    def features(self) -> list[Column]:
        return [c for c in self.plan.schema if c.title.startswith("x")]

    @property
    def columns(self) -> int:
        return len(self.features)

    @property
    def size(self) -> int:
        return self.columns * sum(map(len, self.cohorts))

    def with_columns(self, kept: list[int]) -> Federation:
        """Return the federation with some of its features only."""
        features = [self.features[k] for k in kept]
        others = [column for column in self.plan.schema if column not in self.features]
        kinds = tuple(self.kinds[k] for k in kept)
        return replace(self, plan=replace(self.plan, schema=(*features, *others)), kinds=kinds)

    def with_rows(self, kept: list[np.ndarray]) -> Federation:
        """Return the federation with some of each cohort's rows; a cohort without any is left out."""
        some = [cohort.with_rows(rows) for cohort, rows in zip(self.cohorts, kept, strict=True) if len(rows)]
        return replace(self, plan=replace(self.plan, cohorts=len(some)), cohorts=tuple(some))


def draw(seed: int) -> Federation:
    """The federation of a seed: the same each time."""
    random = np.random.default_rng([seed])
    method, cohorts = str(random.choice(METHODS)), int(random.choice(COHORTS))
    n = int(random.choice([4, 80, 150, 400, 400, 1500, 1500])) + 12 * cohorts
    kinds, columns, cells = _features(random, n)
    classes = _classes(random, method)
    cells[OUTCOME] = _outcome(random, [cells[column.title] for column in columns], n, classes)
    schema = [*columns, Column(OUTCOME, "category" if classes else "number", levels=classes, role="outcome")]
    if random.random() < 0.2:
        cells[PATIENT] = np.array([f"p{k}" for k in random.integers(0, n // 2, n)], object)
        schema.append(Column(PATIENT, "text", role="patient"))
    parts = [Cohort(cells).with_rows(rows) for rows in _dealt(random, cells[OUTCOME], cohorts)]
    lacking = _lacking(random, parts, columns)
    if random.random() < 0.4:
        schema = [_scaled(random, column, cells) if column in columns else column for column in schema]
    return Federation(seed, _plan(random, method, cohorts, schema), lacking, kinds)


def _scaled(random: Random, column: Column, cells: dict[str, np.ndarray]) -> Column:
    """Draw a scaling for a column of numbers, of those that its values allow."""
    if column.is_category:
        return column
    least = cells[column.title].min()
    allowed = [name for name in OF_NUMBERS if name not in ABOVE or least > ABOVE[name]]
    return replace(column, encoding=str(random.choice(allowed)))


def _features(random: Random, n: int) -> tuple[tuple[str, ...], list[Column], dict[str, np.ndarray]]:
    """Kinds, columns and cells: up to six numbers, and up to two categories."""
    kinds, columns, cells = [], [], {}
    for k in range(random.integers(1, 7)):
        kind = str(random.choice(list(NUMBERS)))
        kinds.append(kind)
        columns.append(Column(f"x{k}"))
        cells[f"x{k}"] = NUMBERS[kind](random, n, list(cells.values()))
    for k in range(len(columns), len(columns) + int(random.choice([0, 0, 1, 2]))):
        encoding = str(random.choice(["one-hot", "one-hot", "ordinal", "frequency"]))
        kinds.append(encoding)
        columns.append(Column(f"x{k}", "category", "", encoding, LEVELS))
        cells[f"x{k}"] = _words(random, n)
    return tuple(kinds), columns, cells


def _normal(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    return random.normal(size=n)


def _units(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    """Far from 0 beside what they differ by, or of very large or small units."""
    scale = 10.0 ** random.integers(-12, 13)
    return scale * (random.normal(size=n) + random.choice([0, 1, 1e4, 1e8]))


def _tied(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    return random.poisson(2, n).astype(float)


def _skewed(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    return random.lognormal(0, random.uniform(0.2, 2.5), n)


def _rare(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    return (random.random(n) < random.uniform(0.01, 0.3)).astype(float)


def _constant(random: Random, n: int, _: list[np.ndarray]) -> np.ndarray:
    return numbers.constant(random, n) if random.random() < 0.5 else np.full(n, random.normal())


def _copied(random: Random, n: int, before: list[np.ndarray]) -> np.ndarray:
    """All but another column, in other units; or just that."""
    if not before:
        return random.normal(size=n)
    other, off = before[random.integers(len(before))], random.choice([0, 0, 1e-3, 1e-2, 0.1])
    if np.abs(other).max() > 1e300:
        return random.normal(size=n)
    return 3 * (other + off * (other.std() or 1) * random.normal(size=n)) - 1


NUMBERS = {
    "normal": _normal,
    "tied": _tied,
    "units": _units,
    "skewed": _skewed,
    "rare": _rare,
    "constant": _constant,
    "copied": _copied,
}


def _words(random: Random, n: int) -> np.ndarray:
    """Draw words of three levels, the last perhaps rare, and words that are no level or missing, perhaps
    rare, too.
    """
    shares = np.array([1, 0.6, random.choice([0.5, 0.04]), random.choice([0, 0.02, 0.3]), 0])
    shares[4] = random.choice([0, 0, 0.01, 0.2])
    words = np.array(["a", "b", "c", "else", None], object)
    return np.asarray(words[random.choice(5, n, p=shares / shares.sum())])


def _classes(random: Random, method: str) -> tuple[str, ...]:
    if method == LINEAR or (method not in OF_CLASSES and random.random() < 0.6):
        return ()
    return ("no", "yes", "perhaps", "never")[: int(random.choice([2, 2, 3, 4]))]


def _outcome(random: Random, x: list[np.ndarray], n: int, classes: tuple[str, ...]) -> np.ndarray:
    """Draw an outcome that depends on the features: a little, or altogether."""
    noise = float(random.choice([0.0, 0.5, 2.0, 2.0]))
    score = noise * random.normal(size=(n, max(1, len(classes))))
    for column in x:
        effect = random.normal(size=score.shape[1])
        number = (column == "a").astype(float) if column.dtype == object else column
        deviation = number.std() if np.abs(number).max() < 1e150 else 0.0
        if deviation > 0:
            score += np.outer((number - number.mean()) / deviation, effect)
    if not classes:
        y = 10.0 ** random.integers(-9, 10) * (score[:, 0] + random.choice([0, 0, 1, 1e5]))
        return np.where(random.random(n) < random.choice([0, 0.05]), np.nan, y)
    score[:, 0] += random.choice([0, 0, 1, 2.5])  # then the others are rarer
    y = np.array(classes, object)[score.argmax(axis=1)]
    y[random.random(n) < random.choice([0, 0.05])] = "no class"
    return y


def _dealt(random: Random, y: np.ndarray, cohorts: int) -> list[np.ndarray]:
    """Deal rows to cohorts: in any order or sorted by the outcome, of equal and very unequal sizes."""
    order = random.permutation(len(y))
    if random.random() < 0.4:
        order = order[np.argsort(y[order].astype(str) if y.dtype == object else y[order], kind="stable")]
    least = 12
    left = len(y) - least * cohorts
    shares = random.choice([np.full(cohorts, 1.0), np.eye(cohorts)[0] + 0.01])
    sizes = least + np.floor(left * shares / shares.sum()).astype(int)
    return [rows for rows in np.split(order, np.cumsum(sizes)[:-1]) if len(rows)]


def _lacking(random: Random, parts: list[Cohort], columns: list[Column]) -> tuple[Cohort, ...]:
    """Draw missing cells: none, some everywhere, or all of a feature in one cohort."""
    how = random.integers(4)
    if how < 2:
        return tuple(parts)
    found = []
    for place, part in enumerate(parts):
        cells = {title: column.copy() for title, column in part.cells.items()}
        for column in columns[:1] if how == 3 and place == 1 else columns if how == 2 else []:
            lacks = random.random(len(part)) < (1 if how == 3 else 0.05)
            cells[column.title][lacks] = None if column.is_category else np.nan
        found.append(Cohort(cells))
    return tuple(found)


def _plan(random: Random, method: str, cohorts: int, schema: list[Column]) -> Plan:
    penalties = ((), (), (1.0,), (1e-3,), (0.0,), (10.0, 1e-5))[random.integers(6)]
    more: dict[str, Any] = {} if method in (LINEAR, NETWORK) else {"penalties": penalties}
    if method == NETWORK:
        more = _training(random)
    if method == ELASTIC_NET:
        more["l1_share"] = float(random.choice([0.01, 0.5, 1.0]))
    return plan_of(
        method,
        schema,
        cohorts,
        validation_folds=int(random.choice([2, 2, 3, 5])),
        missing_cells=str(random.choice(["mean", "mean", "complete"])),
        missing_words=str(random.choice(["missing", "rest", "value"])),
        **more,
    )


def _training(random: Random) -> dict[str, Any]:
    """Draw a network and how it is trained, a few rounds long."""
    optimizer = str(random.choice([ADAM, DESCENT]))
    return {
        "files": ("model",),
        "hidden": str(random.choice(["1", "4", "9", "5,3"])),
        "activation": str(random.choice(ACTIVATIONS)),
        "optimizer": optimizer,
        "learning_rate": float(10 ** random.uniform(-4, 0.3)),
        "momentum": float(random.choice([0, 0.9])) if optimizer == DESCENT else 0.0,
        "training_rounds": int(random.integers(1, 13)),
        "patience": int(random.choice([0, 2, 20])),
        "weights_seed": int(random.integers(1000)),
        "people_in_a_round": 10,
    }


def plan_of(method: str, schema: Sequence[Column], cohorts: int, **options: Any) -> Plan:
    """A plan that asks for a model and its coefficients; but for these options the usual one."""
    named: dict[str, Any] = usual(method) | {"files": ("model", "coefficients"), "min_samples": 1} | options
    return Plan(test=method, cohorts=cohorts, compensator_key=NO_KEY, schema=tuple(schema), **named)
