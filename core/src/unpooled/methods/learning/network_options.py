"""Options of a study that trains a network."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from unpooled.fitted.image_network import (
    ARCHITECTURES,
    KNCONV,
    KNCONV_WIDE,
    KNRESNET_13,
    KNRESNET_18,
    KNRESNET_34,
    KNRESNET_50,
    ImageNetwork,
)
from unpooled.fitted.network import MISH, RELU, SILU, TANH
from unpooled.plan.options import LARGEST, Answer, Choice, Number, Place, Text, Whole, of_test
from unpooled.plan.plan import FEWEST_AT_A_LEVEL
from unpooled.plan.schema import MOST_CLASSES

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

MOST_LAYERS, MOST_UNITS = 6, 1024
MOST_WEIGHTS = 1_000_000
"""Most weights of a network on tables, whose model file has them in words, and of one that L-BFGS trains."""
_A_ROUND = 3
"""Numbers of a round of training in the files."""
DESCENT, ADAM, LBFGS = "sgd", "adam", "lbfgs"
FEWEST_IN_A_ROUND = 256
"""Fewest people whose gradients are expected in a sum, unless a plan's author sets fewer for a trial."""

_WIDTHS = re.compile(r"[1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*")


def widths_of(text: str) -> tuple[int, ...]:
    """The units of each hidden layer."""
    return tuple(map(int, text.split(",")))


def weights_of(plan: Plan, columns: int) -> int:
    """Bound the number of weights of a plan's network, of at most so many inputs and scores."""
    widths = (columns, *widths_of(HIDDEN.of(plan)), columns)
    return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(widths))


def most_numbers(plan: Plan, columns: int) -> int:
    """Bound the numbers in the files of a study: the weights, and a few about each round of training."""
    if plan.images is None:
        weights = weights_of(plan, columns)
    else:
        weights = ImageNetwork((*plan.images.size, MOST_CLASSES), ARCHITECTURE.of(plan)).size
    return weights + _A_ROUND * ROUNDS.of(plan)


def _are_widths(text: str) -> bool:
    return bool(_WIDTHS.fullmatch(text)) and _fit(widths_of(text))


def _fit(widths: tuple[int, ...]) -> bool:
    return len(widths) <= MOST_LAYERS and max(widths) <= MOST_UNITS


HIDDEN = Text(
    name="hidden",
    label="Hidden layers",
    hint="Units of each, between commas: 32,16 is a layer of 32 units and one of 16.",
    default="16",
    words=f"1 to {MOST_LAYERS} widths from 1 to {MOST_UNITS:,}, between commas",
    fits=_are_widths,
    place=Place.MODEL,
    fact="{}: units of each hidden layer",
    is_always_said=True,
    methods="Units of the hidden layers: {}.",
)
ACTIVATION = Choice(
    name="activation",
    label="Activation",
    default=SILU,
    place=Place.MODEL,
    answers=(
        Answer(
            SILU, "SiLU", "x times its sigmoid. Smooth, so that a unit is seldom active for one person alone."
        ),
        Answer(MISH, "Mish", "x times tanh(log(1 + e^x)). Smooth, too."),
        Answer(TANH, "tanh", "From -1 to 1."),
        Answer(
            RELU,
            "ReLU",
            "0 below 0. A unit may be active for a few people only, of whom its gradient then tells more.",
        ),
    ),
)


def _optimizer_problem(optimizer: str, plan: Plan) -> str:
    if optimizer != LBFGS or plan.images is None or ARCHITECTURE not in (of_test(plan.test) or ()):
        return ""
    is_large = ImageNetwork((*plan.images.size, 1), ARCHITECTURE.of(plan)).size > MOST_WEIGHTS
    remedy = "Adam or gradient descent: L-BFGS remembers ten steps, too much of more than a million weights"
    return remedy if is_large else ""


OPTIMIZER = Choice(
    name="optimizer",
    label="Optimizer",
    default=ADAM,
    place=Place.MODEL,
    rule=_optimizer_problem,
    answers=(
        Answer(ADAM, "Adam", "A usual choice.", methods="The optimizer was Adam."),
        Answer(
            DESCENT,
            "Gradient descent",
            "With momentum, if that is above 0.",
            methods="The optimizer was gradient descent.",
        ),
        Answer(
            LBFGS,
            "L-BFGS",
            "Only with everyone in each round. It finds the length of its steps by itself, and an optimum in "
            "the fewest rounds.",
            methods="The optimizer was L-BFGS.",
        ),
    ),
)


def _momentum_problem(momentum: float, plan: Plan) -> str:
    is_without = OPTIMIZER in (of_test(plan.test) or ()) and OPTIMIZER.of(plan) != DESCENT
    return "only gradient descent has one" if momentum and is_without else ""


def _taking_part_problem(share: float, plan: Plan) -> str:
    return (
        "1 with L-BFGS, which compares the losses of rounds"
        if share < 1 and OPTIMIZER.of(plan) == LBFGS
        else ""
    )


def dropout_of(plan: Plan) -> float:
    """Return the share that drops out of a layer."""
    return (DROPOUT if plan.images is None else IMAGE_DROPOUT).of(plan)


def _dropout_problem(dropout: float, plan: Plan) -> str:
    return (
        "0 with L-BFGS, which compares the losses of rounds"
        if dropout and OPTIMIZER.of(plan) == LBFGS
        else ""
    )


def _pixels_problem(name: str, plan: Plan) -> str:
    fewest = ARCHITECTURES[name].fewest_pixels
    is_small = plan.images is not None and min(plan.images.size[1:]) < fewest
    return (
        f"another network: this one takes images of {fewest} by {fewest} pixels or more" if is_small else ""
    )


DROPOUT = Number(
    name="dropout",
    label="Dropout",
    hint="Share of the hidden units that drop out in training, drawn anew for each person and round by a "
    "secret of the cohort's own. None does afterwards.",
    default=0.0,
    least=0,
    most=0.9,
    place=Place.MODEL,
    rule=_dropout_problem,
    methods="Hidden units dropped out with the probability {}.",
)
IMAGE_DROPOUT = Number(
    name="image_dropout",
    label="Dropout before the last layer",
    hint="Share of what the last layer takes of an image that drops out in training, drawn anew for each "
    "image and round by a secret of the cohort's own. None does afterwards.",
    default=0.0,
    least=0,
    most=0.9,
    place=Place.MODEL,
    came_later=True,
    rule=_dropout_problem,
    methods="What the last layer takes dropped out with the probability {}.",
)
RATE = Number(
    name="learning_rate",
    label="Learning rate",
    hint="L-BFGS does not use it. Choose a smaller one if the loss grows.",
    default=0.01,
    least=1e-6,
    most=10,
    place=Place.MODEL,
    is_always_said=True,
    methods="The learning rate was {}.",
)
MOMENTUM = Number(
    name="momentum",
    label="Momentum",
    hint="For gradient descent: the share of the previous step that each step keeps.",
    default=0.0,
    least=0,
    most=1,
    is_below=True,
    place=Place.MODEL,
    rule=_momentum_problem,
    methods="The momentum was {}.",
)
ROUNDS = Whole(
    name="training_rounds",
    label="Rounds",
    hint="A round is one step of the optimizer. There are fewer where the loss stops falling.",
    default=200,
    least=1,
    most=10_000,
    place=Place.MODEL,
    fact="{} at most",
    is_always_said=True,
    methods="Rounds: {} at most.",
)
PATIENCE = Whole(
    name="patience",
    label="Rounds without progress",
    hint="Training ends when the loss in the fold that is left out has not fallen for so many rounds; the "
    "weights with the lowest loss are the model. With 0 all rounds take place, and the last weights are it.",
    default=20,
    least=0,
    most=10_000,
    place=Place.MODEL,
    fact="after {} without a lower loss in the fold that is left out, training ends; 0 is never",
    is_always_said=True,
    methods="Rounds without a lower loss in the fold left out, before training ended: {} (0 is never).",
)
TAKING_PART = Number(
    name="taking_part",
    label="Share of people in a round",
    hint="With 1 everyone is in every round. Else each cohort draws its people anew for each round, by a "
    "secret of its own.",
    default=1.0,
    least=0.001,
    most=1,
    place=Place.MODEL,
    fact="{}: drawn anew for each round by a secret of each cohort's own, if below 1",
    is_always_said=True,
    methods="Each person was in a round with the probability {}.",
    rule=_taking_part_problem,
)
WEIGHTS_SEED = Whole(
    name="weights_seed",
    label="Seed of the start values",
    hint="Another number begins with other weights.",
    default=0,
    least=0,
    most=LARGEST - 1,
    place=Place.MODEL,
    methods="The start values were those of the seed {}.",
)
IN_A_ROUND = Whole(
    name="people_in_a_round",
    label="Fewest people in a round",
    hint="Gradients of fewer people would tell more of each. Set fewer for a trial with invented data only.",
    default=FEWEST_IN_A_ROUND,
    least=FEWEST_AT_A_LEVEL,
    most=1_000_000,
    place=Place.FILTERS,
    fact="{} at least are expected in each sum of gradients",
    is_always_said=True,
)
ARCHITECTURE = Choice(
    name="architecture",
    label="Network",
    hint="For each weight a cohort sends 16 bytes a round, 8 with differential privacy, and receives "
    "as many: a million weights are 16 MB, and 8 MB.",
    default=KNCONV,
    place=Place.MODEL,
    is_always_said=True,
    answers=(
        Answer(
            KNCONV,
            "KNConv",
            "Three convolutions with kernel normalization: about 25 thousand weights.",
            methods="The network had three convolutions with kernel normalization (KNConv).",
        ),
        Answer(
            KNCONV_WIDE,
            "KNConv, wide",
            "The same with four times the channels: about 380 thousand weights.",
            methods="The network had three wide convolutions with kernel normalization (KNConv).",
        ),
        Answer(
            KNRESNET_13,
            "KNResNet-13",
            "A residual network of 13 layers with kernel normalization: 3.7 million weights.",
            methods="The network was a KNResNet-13.",
        ),
        Answer(
            KNRESNET_18,
            "KNResNet-18",
            "One of 18 layers, for images of 16 by 16 pixels or more: 11 million weights.",
            methods="The network was a KNResNet-18.",
        ),
        Answer(
            KNRESNET_34,
            "KNResNet-34",
            "One of 34 layers, for images of 16 by 16 pixels or more: 21 million weights.",
            methods="The network was a KNResNet-34.",
        ),
        Answer(
            KNRESNET_50,
            "KNResNet-50",
            "One of 50 layers: 24 million weights.",
            methods="The network was a KNResNet-50.",
        ),
    ),
    rule=_pixels_problem,
)
NETWORK_OPTIONS = (
    *(HIDDEN, ACTIVATION, DROPOUT, OPTIMIZER, RATE, MOMENTUM, ROUNDS, PATIENCE),
    *(TAKING_PART, WEIGHTS_SEED, IN_A_ROUND),
)
IMAGE_OPTIONS = (
    ARCHITECTURE,
    *(each for each in NETWORK_OPTIONS if each not in (HIDDEN, ACTIVATION, DROPOUT)),
    IMAGE_DROPOUT,
)
"""The same for images, whose network is one of a list."""
