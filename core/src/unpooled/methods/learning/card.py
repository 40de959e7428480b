"""The model card: what a model is, whom it was fitted to, how well it does, and what it is not for.

After Mitchell et al., Model cards for model reporting (FAT* 2019), as Markdown that model hubs show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from unpooled.asking.question import Arrays
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.learning.images import shape_in_words
from unpooled.methods.learning.models import SQUARED_ERROR
from unpooled.methods.learning.network_options import PATIENCE
from unpooled.methods.learning.options import COMPLETE, MISSING_CELLS
from unpooled.methods.learning.result import (
    error_of,
    folds_of,
    lines,
    model_of,
    scaling_said,
    share_explained,
    variance_explained,
)
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan

SCALED = (
    "The file has each feature's scaling, and applies it: give it the values as they were measured. Mean and "
    "deviation are of the values after a logarithm or a lambda."
)
PROMISED = "with one person more or less, no weights would have been more than e^epsilon times as likely"
NOT_MEASURED = (
    "How well it predicts was not measured, for such counts would tell more than epsilon. Test it on people "
    "of your own"
)
_NOT_FOR = (
    "Decisions about a single person without a person who answers for them. A prediction is an average of "
    "people with the same features, and says nothing of causes.",
    "People unlike those of these cohorts: of other ages, countries or years, or measured in other ways. "
    "Test it on such people first.",
)
_UNLIKE = (
    "Features in other units, or encoded by another dictionary, than those below.",
    "Images of other sizes, devices or places than these cohorts'; nothing resizes them.",
)


def write_card(
    out: BinaryIO,
    panel: Panel,
    columns: Arrays,
    plan: Plan,
    of: Callable[[Arrays, Plan], Mapping[str, Any]] = model_of,
) -> None:
    """Write the model card. `of` gives the content of the model file."""
    out.write(("\n".join(_lines(of(columns, plan), plan)) + "\n").encode())


def _lines(model: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    outcome = model["outcome"]
    unit = f" ({outcome['unit']})" if outcome["unit"] else ""
    classes = f", one of: {', '.join(outcome['classes'])}" if "classes" in outcome else ""
    yield from (f"# Model of {_text(outcome['name'])}", "")
    predicted = f"**{_text(outcome['name'])}**{unit}{_text(classes)}"
    yield f"Predicts {predicted} from {_taken(model)}."
    if left_out := [
        f"{_text(column.title)} ({column.left_out})" for column in plan.schema if column.left_out
    ]:
        yield f"Columns that are no features: {', '.join(left_out)}."
    yield f"Method: `{model['method']}`, {_chosen(model)}."
    if "not_pooled" in model:
        yield from ("", f"**{NOT_POOLED}**: {model['not_pooled']}.")
    yield from ("", "## People", "")
    rows = f" {model['rows']:,} rows," if "rows" in model else ""
    yield f"- {model['people']:,} people,{rows} of {model['cohorts']:,} cohorts."
    is_one_noisy_sum = "privacy" in model and "penalty" in model
    refused = " Sums over few people were refused." * (not is_one_noisy_sum)
    yield f"- Fitted to sums over all cohorts, without pooling tables.{refused}"
    if "images" not in model:
        yield f"- Missing features: {_missing(model, plan)}."
    if "privacy" in model:
        yield from ("", "## Privacy", "", *_privacy(model["privacy"]))
    else:
        yield from ("", "## Performance", "", *_performance(model, plan))
    of_images = "images" in model
    yield from ("", "## Not for", "", *(f"- {line}" for line in (*_NOT_FOR, _UNLIKE[of_images])))
    if of_images:
        return
    yield from ("", "## Features", "")
    if scaled := any(map(scaling_said, model["features"])):
        yield from (f"{SCALED}", "")
    spread = "deviation" if "privacy" not in model else "unit"
    heads = "Mean | Deviation" if spread == "deviation" else "Middle of its limits | Half their distance"
    yield f"| Feature | {heads} |{' Scaling |' * scaled}"
    yield f"| --- | --: | --: |{' --- |' * scaled}"
    for feature in model["features"]:
        numbers = f"| {_text(feature['name'])} | {feature['mean']:.6g} | {feature[spread]:.6g} |"
        yield numbers + f" {scaling_said(feature)} |" * scaled


def _chosen(model: Mapping[str, Any]) -> str:
    """The penalty of a model, or the layers of a network and its rounds."""
    if "network" not in model:
        return f"penalty {model['penalty']:.6g}"
    network = model["network"]
    if "images" in model:
        return ", ".join([f"`{network['name']}`, {network['weights']:,} weights", _rounds(model)])
    widths = [len(layer["bias"]) for layer in network["layers"]]
    units = f"{', '.join(map(str, widths[:-1]))} hidden units, {network['activation']}"
    return f"{units}, {_rounds(model)}"


def _rounds(model: Mapping[str, Any]) -> str:
    if "privacy" in model:
        return f"{model['privacy']['rounds']:,} rounds"
    return f"the weights after {model['round']:,} of {len(model['curve']['loss']) - 1:,} rounds"


def _taken(model: Mapping[str, Any]) -> str:
    if images := model.get("images"):
        return f"an image of {shape_in_words(images)}"
    return f"{len(model['features']):,} features"


def _missing(model: Mapping[str, Any], plan: Plan) -> str:
    if MISSING_CELLS.of(plan) == COMPLETE:
        return "rows that lack one were left out"
    return "halfway between the limits" if "privacy" in model else "the mean of the pool"


def _privacy(privacy: Mapping[str, Any]) -> Iterator[str]:
    yield f"- Epsilon {privacy['epsilon']:.4g}, delta {privacy['delta']:g}: {PROMISED}."
    if "clip" in privacy:
        yield f"- In each round a person took part with the chance {privacy['share']:g}."
        noise = f"the noise of a sum was {privacy['noise']:.4g} times that"
        yield f"- A person's gradient was {privacy['clip']:g} long at most; {noise}."
    else:
        yield f"- The noise of a sum of numbers from -1 to 1 was {privacy['noise']:.4g}."
        yield "- The number of people has noise, too."
    yield f"- {NOT_MEASURED}."


def _performance(model: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """The error in folds that a fit has not seen, by which the penalty was chosen."""
    is_tested = model["folds"] > 1
    has_deviation = is_tested and "error_deviation" in model
    deviation = f" (standard error {model['error_deviation']:.2g})" if has_deviation else ""
    left_out = ", of which one was left out" * ("network" in model)
    yield f"- Folds, by person: {folds_of(model, plan)}{left_out}."
    yield f"- {error_of(model)}: {model['error']:.6g}{deviation}."
    yield f"- {share_explained(model)}: {variance_explained(model):.4g}."
    for name, said in lines(model):
        yield f"- {_text(name)}: {said}."
    if is_tested:
        what = "penalty" if "penalty" in model else "number of rounds"
        if "penalty" in model or PATIENCE.of(plan):
            yield f"- The {what} was chosen by this error: on new people expect a little more."
    else:
        yield "- It was not tested on rows that it has not seen: on new people expect more."
    if "classes" in model["outcome"] and model["loss"] == SQUARED_ERROR:
        yield "- The error is that of the scores, and not a share of people."
    for score in model.get("performance", {"scores": []})["scores"]:
        yield from _calibration(score)


def _calibration(score: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the calibration table: expected and observed values, by group of the score."""
    if score["calibration"]:
        of = f" of {_text(score['of'])}" if score["of"] else ""
        yield from ("", f"Calibration{of}, in rows that were left out:", "")
        yield from ("| Rows | Expected | Observed |", "| --: | --: | --: |")
        for group in score["calibration"]:
            yield f"| {group['rows']:,} | {group['expected']:.4g} | {group['observed']:.4g} |"


def _text(words: str) -> str:
    """Words that Markdown takes as they are."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>|#" else character for character in words)
