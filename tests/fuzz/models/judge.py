"""A federation's model beside those of scikit-learn and statsmodels of its pooled table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

from unpooled import run
from unpooled.errors import Refuse
from unpooled.fitted.model import SOFTMAX, Model, has_probabilities, probabilities
from unpooled.methods import check
from unpooled.methods.learning.models import ELASTIC_NET, FEDHEONN, LASSO, LOGISTIC_MODEL, RIDGE
from unpooled.methods.learning.options import MODEL_PENALTIES, VALIDATION_FOLDS
from unpooled.panel.panel import Panel
from unpooled.plan.encodings import LOG, LOG1P, YEO_JOHNSON
from unpooled.plan.plan import Plan

from ..tables.compare import Outcome
from ..tables.judge import LARGE, WIDTH, Disagreement
from . import files, truth
from .federation import NETWORK, OUTCOME, Federation
from .fits import ODDS, Fit, are_separated, errors_of, fit, likelihood_step, targets
from .truth import Floor, Pool

NEAR = 1e-9
"""Coefficients are right to this share of the largest; of likelihoods to ten times as much."""
WORSE = 1e-14
"""Tolerance of coefficients where columns are nearly collinear, times the condition of their correlations."""
DETERMINED = 1e9
"""Columns of a worse condition may be refused, or not."""
CURVED = (LOG, LOG1P, YEO_JOHNSON)
EPS = float(np.finfo(float).eps)
NOBODY = Panel.of([])


def compare(federation: Federation, folder: Path) -> Outcome:
    """Run a federation with files in a folder, and compare whatever comes out."""
    plan, pool = federation.plan, Pool.of(federation)
    check(plan)
    floors = truth.first_refusals(pool)
    try:
        found = run.run(plan, NOBODY, files.read(federation, folder))
    except files.RefusedFile as refused:
        right = any(files.has_no_listed_word(federation, cohort) for cohort in federation.cohorts)
        return (
            Outcome((), ("no listed word",)) if right else Outcome((Disagreement(-1, "file", str(refused)),))
        )
    except Refuse as refusal:
        return _refused(pool, refusal, floors)
    if any(floor.is_sure for floor in floors):
        return Outcome((Disagreement(-1, "a floor", f"want a refusal: {floors}"),))
    said, lines = _written(plan, found)
    powers = {f["name"]: f["scaling"]["lambda"] for f in said["features"] if "lambda" in f.get("scaling", {})}
    pool = replace(pool, powers=powers)
    if plan.test != NETWORK:  # whose file says only how many folds there are, and how large the last is
        pool = pool.joined(found["folds"]["part_of"])
        if not truth.well_joined(pool):
            return Outcome((Disagreement(-1, "folds", str(pool.part_of)),))
    return Outcome(tuple(_wrong(pool, said, lines)), (f"{plan.test}: compared",), said)


def _refused(pool: Pool, refusal: Refuse, floors: list[Floor]) -> Outcome:
    """Check that a refusal is for the first floor that is not held, or the fit's own."""
    said = f"{refusal.field}: {refusal.reason}"
    named = [floor for floor in floors if floor.words in refusal.reason]
    if "too large for this transform" in refusal.reason:
        bent = (pool.cells[c.title] for c in pool.numbers if c.scaling == YEO_JOHNSON)
        if any(np.nanmax(np.abs(x), initial=0) > truth.LARGEST for x in bent):
            return Outcome(notes=("refused: too large",))
    unnamed = [floor for floor in floors if floor.is_sure and floor not in named]
    if unnamed and all(floor.is_sure for floor in named):
        return Outcome((Disagreement(-1, "refusal", f"{said}; want {unnamed[0]}"),))
    if named:
        return Outcome(notes=(f"refused: {refusal.reason}",))
    levels = [truth.sifted(pool, column) for column in pool.categories]
    x, references = truth.design(pool, levels)
    z, y = truth.standardised(x, pool.units), pool.cells[OUTCOME]
    if "determine one another" in refusal.reason and _condition(z, _used(z, references), 0.0) > DETERMINED:
        return Outcome(notes=("refused: columns that determine one another",))
    if refusal.field == "learning_rate" and find_spec("torch"):
        from . import networks

        if networks.is_refused_rightly(pool, networks.inputs(pool, levels), refusal.reason):
            return Outcome(notes=("refused: training does no good",))
    if "no maximum of the likelihood" in refusal.reason and min(MODEL_PENALTIES.of(pool.plan)) == 0:
        parts = [np.ones(len(z), bool), *(pool.fold != k for k in range(VALIDATION_FOLDS.of(pool.plan)))]
        if any(are_separated(pool, z[rows], y[rows]) for rows in parts):
            return Outcome(notes=("refused: classes told apart",))
    return Outcome((Disagreement(-1, "refusal", f"{said}; want none"),))


def _written(plan: Plan, tables: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The model file, and the lines of the coefficients."""
    texts = [content.decode() for content in run.reports(plan, NOBODY, tables).values()]
    if len(texts) == 1:
        return json.loads(texts[0]), []
    heads, *rows = (line.split("\t") for line in texts[1].splitlines())
    return json.loads(texts[0]), [dict(zip(heads, row, strict=True)) for row in rows]


def _used(z: np.ndarray, references: list[int]) -> np.ndarray:
    """The columns of a fit without a penalty: those that vary, but the reference of each category."""
    used = z.any(axis=0)
    used[references] = False
    return np.asarray(used)


def _condition(z: np.ndarray, used: np.ndarray, penalty: float) -> float:
    """Return the condition number of the columns' correlations, with a penalty."""
    columns = z[:, used] - z[:, used].mean(axis=0)
    if not columns.size:
        return 1.0
    values = np.linalg.svd(columns, compute_uv=False) ** 2 / len(z)
    if len(values) < columns.shape[1]:
        values = np.append(values, 0.0)
    least = values.min() + penalty
    return float((values.max() + penalty) / least) if least > 0 else np.inf


def _wrong(pool: Pool, said: dict[str, Any], lines: list[dict[str, str]]) -> Iterator[Disagreement]:
    """All that is wrong with a model."""

    def wrong(what: str, text: object) -> Disagreement:
        return Disagreement(-1, what, str(text))

    plan, y = pool.plan, pool.cells[OUTCOME]
    if (said["rows"], said["people"]) != (len(y), int(pool.people(np.ones(len(y), bool)).sum())):
        yield wrong("rows and people", (said["rows"], said["people"]))
    kept = [each["values"] for each in said["encoding"]["columns"]] if pool.categories else []
    for column, values in zip(pool.categories, kept, strict=True):
        levels = truth.sifted(pool, column)
        is_small = truth.has_small_rest(pool, column, levels)  # then the rarest are folded into it
        still = bool(values) and truth.has_small_rest(pool, column, values)
        if still or not set(values) <= set(levels) or (values != levels and not is_small):
            yield wrong("levels", f"{values} of {column.title}; {levels} have people enough")
    yield from _of_powers(pool)
    x, references = truth.design(pool, kept)
    z = truth.standardised(x, pool.units)
    if len(said["features"]) != z.shape[1]:
        yield wrong("features", [feature["name"] for feature in said["features"]])
        return
    if plan.test == NETWORK:
        if find_spec("torch"):  # where there is none, nothing else trains a network
            from . import networks

            yield from networks.wrong(pool, networks.inputs(pool, kept), said)
        return
    penalty, used = said["penalty"], _used(z, references)
    units = np.array([f["deviation"] or 1.0 for f in said["features"]])
    units[: len(pool.units)] = np.where(np.isnan(pool.units), units[: len(pool.units)], pool.units)
    own = np.array([f["coefficients"] for f in said["features"]]) * units[:, None]
    ours = Fit(own, np.array(said["intercept"]))
    parts = [pool.fold != k for k in range(VALIDATION_FOLDS.of(plan)) if (pool.fold == k).any()]
    models = [fit(pool, z[rows], y[rows], penalty, used) for rows in parts]
    right = fit(pool, z, y, penalty, used)
    near = _near(pool, z, used, penalty)
    yield from _of_fit(pool, z, y, ours, right, penalty, near)
    yield from _of_file(pool, Model(said), ours.scores(z))
    if near > 1e-5:
        return
    if lines and "standard error" in lines[0] and np.isfinite(near):
        left = 1.0 if pool.classes else np.var(y - right.scores(z)[:, 0]) / np.var(y)
        rtol = 100 * near + 1e-13 / max(left, 1e-30)  # of a perfect fit no digit of what is left is known
        of_used = [line for line, is_used in zip(lines[1:], used, strict=True) if is_used]
        if rtol < 1:
            yield from _of_tests(of_used, errors_of(pool, z, y, used) / units[used], len(y), rtol)
    worst = max(_near(pool, z[rows], used, penalty) for rows in parts)
    if worst < 1e-6 and plan.test != LOGISTIC_MODEL:
        yield from _of_errors(pool, z, y, said, models, worst)
    if pool.classes and worst < 1e-6:
        yield from _of_performance(pool, z, y, said, models, worst)


def _of_powers(pool: Pool) -> Iterator[Disagreement]:
    """Each lambda is where the likelihood turns."""
    for title, power in pool.powers.items():
        x = pool.cells[title][~np.isnan(pool.cells[title])]
        width = WIDTH * max(1.0, abs(power) / LARGE)
        turns = truth.grows(x, power - width) and not truth.grows(x, power + width)
        if not turns and x.min() < x.max():
            yield Disagreement(-1, "lambda", f"{power!r} of {title}: the likelihood does not turn there")


def _near(pool: Pool, z: np.ndarray, used: np.ndarray, penalty: float) -> float:
    """Return the tolerance of a fit, as a share of the largest coefficient."""
    plan = pool.plan
    per_row = penalty / (0.95 * 0.05) ** 2 / len(z) if plan.test == FEDHEONN else penalty
    all_of = np.ones(z.shape[1], bool) if per_row > 0 else used
    condition = _condition(z, all_of, per_row if plan.test in (RIDGE, FEDHEONN, LOGISTIC_MODEL) else 0.0)
    # The logarithm of what differs far from 1 has no more digits than that.
    bent = [pool.weighed[c.title] for c in pool.numbers if c.scaling in CURVED]
    vary = (x for x in bent if np.nanmin(x, initial=np.inf) < np.nanmax(x, initial=-np.inf))
    blurred = max((EPS * float(np.nanmean(np.abs(x)) / np.nanstd(x)) for x in vary), default=0.0)
    return max(NEAR, WORSE * condition, 10 * blurred) * (
        10 if plan.test in (LOGISTIC_MODEL, LASSO, ELASTIC_NET) else 1
    )


def _of_fit(
    pool: Pool, z: np.ndarray, y: np.ndarray, ours: Fit, right: Fit, penalty: float, near: float
) -> Iterator[Disagreement]:
    """Predictions, and coefficients where the columns say what they are."""
    plan = pool.plan
    if plan.test == LOGISTIC_MODEL:
        step = likelihood_step(pool, z, y, penalty, ours) if penalty else 0.0
        if step > max(near, 1e-8):
            yield Disagreement(-1, "likelihood", f"a step of {step:.2g} is left")
        link = "logistic" if right.w.shape[1] == 1 else "softmax"
        p, q = (probabilities(model.scores(z), link) for model in (ours, right))
        if np.abs(p - q).max() > max(1e-6, near):
            yield Disagreement(-1, "probabilities", f"{np.abs(p - q).max():.2g} apart")
        apart = np.abs(ours.w - right.w).max() / max(np.abs(right.w).max(), 1e-3)
        has_one_answer = penalty or len(pool.classes) == 2  # else scores may have any part in common
        if has_one_answer and apart > max(near, 1e-8):
            yield Disagreement(-1, "coefficients", f"{apart:.2g} apart, {near:.2g} may be")
        return
    if plan.test in (LASSO, ELASTIC_NET) and penalty and (_is_zero(ours.w) != _is_zero(right.w)).any():
        yield Disagreement(-1, "zeros", f"{ours.w.tolist()}; want {right.w.tolist()}")
    size = max(np.abs(right.scores(z) - right.b).max(), 1e-3 * _spread(pool, y))
    apart = np.abs(ours.scores(z) - right.scores(z)).max()
    if apart > max(10 * NEAR, near / 10) * size + 1e-13 * np.abs(right.b).max():
        yield Disagreement(-1, "predictions", f"{apart:.3g} apart of {size:.3g}")
    largest = max(np.abs(right.w).max(), 1e-6 * _spread(pool, y))
    if near < 1e-5 and np.abs(ours.w - right.w).max() > near * largest:
        yield Disagreement(
            -1, "coefficients", f"{np.abs(ours.w - right.w).max() / largest:.2g} apart, {near:.2g} may be"
        )


def _is_zero(w: np.ndarray) -> np.ndarray:
    """Tell which coefficients are 0, or what rounding leaves of it."""
    return np.asarray(np.abs(w) <= 1e-14 * np.abs(w).max())


def _of_file(pool: Pool, model: Model, scores: np.ndarray) -> Iterator[Disagreement]:
    """Check that the file's model gives the scores of the pool's cells, but for rounding of the means."""
    own = model.decision_function(model.table(pool.cells)).reshape(scores.shape)
    rounded = 4 * EPS * (np.abs(model.coef_) @ np.abs(model.mean_)).max()
    if np.abs(own - scores).max() > NEAR * np.abs(scores).max() + rounded:
        yield Disagreement(-1, "file", f"scores are {np.abs(own - scores).max():.2g} apart")


def _of_tests(
    lines: list[dict[str, str]], wanted: np.ndarray, rows: int, rtol: float
) -> Iterator[Disagreement]:
    """Standard errors are statsmodels', and what follows from them and the coefficients is SciPy's."""
    is_t = bool(lines) and "t" in lines[0]
    law = stats.t(rows - len(lines) - 1) if is_t else stats.norm()
    for line, error in zip(lines, wanted, strict=True):
        values = [value for name, value in line.items() if name.startswith("coefficient")]
        found = [*values, *(line[name] for name in ("standard error", "t" if is_t else "z", "P"))]
        if "NA" in found:
            yield Disagreement(-1, "standard errors", str(line))
            continue
        b, se, t, p = map(float, found)
        right = [(se, error, rtol), (t, b / se, 1e-9), (p, 2 * law.sf(abs(t)), 1e-6)]
        if not all(np.isclose(x, want, rtol=to, atol=1e-300) for x, want, to in right):
            yield Disagreement(-1, "standard errors", f"{line}; want {error}")


def _spread(pool: Pool, y: np.ndarray) -> float:
    return 1.0 if pool.classes else float(y.std()) or 1.0


def _of_errors(
    pool: Pool, z: np.ndarray, y: np.ndarray, said: dict[str, Any], models: list[Fit], near: float
) -> Iterator[Disagreement]:
    """The error of the penalty in the folds that were left out."""
    t = targets(pool, y) * (ODDS if pool.plan.test == FEDHEONN else 1.0)
    middle = t.mean(axis=0)  # far from 0 digits of an error would be lost here
    folds = [k for k in range(VALIDATION_FOLDS.of(pool.plan)) if (pool.fold == k).any()]
    errors = []
    for k, model in zip(folds, models, strict=True):
        rows = pool.fold == k
        apart = (t[rows] - middle) - (z[rows] @ model.w + (model.b - middle))
        errors.append(float((apart**2).sum(axis=1).mean()))
    floor = 1e-12 * float(t.var(axis=0).sum())  # what is left of squares that cancel
    if abs(said["error"] - np.mean(errors)) > max(1e-7, 100 * near) * np.mean(errors) + floor:
        yield Disagreement(-1, "error", f"{said['error']!r}; want {np.mean(errors)!r}")


def _of_performance(
    pool: Pool, z: np.ndarray, y: np.ndarray, said: dict[str, Any], models: list[Fit], near: float
) -> Iterator[Disagreement]:
    """The AUC lies within its bounds, the Brier score is right, and no range has few people."""
    link, classes = said["link"], pool.classes
    scores = np.zeros((len(y), models[0].w.shape[1]))
    folds = [k for k in range(VALIDATION_FOLDS.of(pool.plan)) if (pool.fold == k).any()]
    for k, model in zip(folds, models, strict=True):
        scores[pool.fold == k] = model.scores(z[pool.fold == k])
    own = classes if len(classes) > 2 else classes[1:]
    said_of = said["performance"]["scores"]
    p = probabilities(scores, link) if has_probabilities(link) else scores
    ranked = p[:, -len(own) :] if link == SOFTMAX else scores
    for at, name in enumerate(own):
        rows, right = np.array(said_of[at]["rows"]), roc_auc_score(y == name, ranked[:, at])
        slack = 2.0 / len(y) if near > 1e-8 else 1e-9
        if not said_of[at]["auc_low"] - slack <= right <= said_of[at]["auc_high"] + slack:
            yield Disagreement(
                -1, "AUC", f"{said_of[at]['auc_low']} to {said_of[at]['auc_high']}; want {right}"
            )
        if rows.sum() != len(y) or rows.min() < truth.FEWEST:
            yield Disagreement(-1, "ranges", f"{rows.tolist()}")
    if has_probabilities(link):
        brier = float(((p[:, -len(own) :] - (y[:, None] == np.array(own, object))) ** 2).sum(axis=1).mean())
        if abs(said["performance"]["brier"] - brier) > 1e-6:
            yield Disagreement(-1, "Brier score", f"{said['performance']['brier']}; want {brier}")
