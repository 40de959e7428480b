"""Options of a study that fits a model."""

from __future__ import annotations

from unpooled.plan.options import Answer, Choice, Number, Numbers, Place, Whole

PENALTIES = 50
"""Number of penalties tried if the plan names none."""
LOGISTIC_PENALTIES = 8
"""Number of penalties for a logistic model, whose penalties each take turns of their own."""
WIDE_PENALTIES = 20
"""Number of penalties for a table of very many columns."""
MOST_DIRECTIONS = 500
"""Largest number of directions that such a table is projected on for each of its fits."""
PEOPLE_A_PROJECTION = 10
"""Smallest number of people in the pool for each projection, since each reveals a sum over them."""
OTHERS_A_PROJECTION = 5
"""Smallest number of people for each projection in the pool without any one cohort, which knows its own."""
MOST_TURNS = 30
"""Largest number of turns of Newton's method, halved steps included."""
POOLED_MEAN, COMPLETE = "mean", "complete"

VALIDATION_FOLDS = Whole(
    name="validation_folds",
    label="Folds of the cross-validation",
    hint="Each person is in one of so many folds. A model that was fitted to the others is tested on it. "
    "Folds in which few people are above or below a column's mean, or of a class, are joined. Linear "
    "regression needs only one; a network is fitted to all but one.",
    default=5,
    least=1,
    most=20,
    place=Place.MODEL,
    fact="{} at most: a penalty, or a number of rounds, is chosen by the error in the fold that its fit has "
    "not seen",
    is_always_said=True,
    methods="Folds of the cross-validation: {} at most.",
)
MODEL_PENALTIES = Numbers(
    name="penalties",
    label="Penalties to try",
    hint=f"Numbers from 0 on, between commas. Left empty, {PENALTIES} are tried that suit the data.",
    least=0,
    most=10_000,
    place=Place.MODEL,
    fact="{}: the one with the least error is taken",
)
L1_SHARE = Number(
    name="l1_share",
    label="Share of the penalty on absolute values",
    hint="1 is the lasso; near 0 it is ridge regression. scikit-learn calls it l1_ratio.",
    default=0.5,
    least=0.01,
    most=1,
    place=Place.MODEL,
    fact="{} of the penalty is on absolute values, the rest on squares",
    is_always_said=True,
    methods="A share of {} of the penalty was on absolute values.",
)
LOGISTIC_OUTPUTS, TANH_OUTPUTS, LINEAR_OUTPUTS = "logistic", "tanh", "linear"
SOFTPLUS_OUTPUTS = "softplus"
OUTPUTS = Choice(
    name="outputs",
    came_later=True,
    label="Outputs of the layer",
    default=LOGISTIC_OUTPUTS,
    place=Place.MODEL,
    answers=(
        Answer(
            LOGISTIC_OUTPUTS,
            "Logistic",
            "Fitted to 0.95 for the people of a class, and 0.05 for all others.",
            methods="The outputs were logistic.",
        ),
        Answer(
            TANH_OUTPUTS,
            "tanh",
            "Fitted to 0.9 for the people of a class, and -0.9 for all others. A penalty then weighs a "
            "sixteenth of what it does with logistic outputs.",
            methods="The outputs were those of tanh.",
        ),
        Answer(
            LINEAR_OUTPUTS,
            "Linear",
            "Fitted to 1 for the people of a class, and -1 for all others. Gives no probabilities.",
            methods="The outputs were linear.",
        ),
        Answer(
            SOFTPLUS_OUTPUTS,
            "Softplus",
            "A smooth ReLU, fitted to 0.95 for the people of a class, and 0.05 for all others. The sums of "
            "each class are asked for apart. Gives no probabilities.",
            methods="The outputs were softplus.",
        ),
    ),
)
MISSING_CELLS = Choice(
    name="missing_cells",
    label="Missing cells",
    default=POOLED_MEAN,
    place=Place.MODEL,
    answers=(
        Answer(
            POOLED_MEAN,
            "Take the pooled mean",
            "Of a feature's values in all cohorts. A row without an outcome is always left out.",
            "taken as the pool's mean; a row without an outcome is left out",
            "A missing value of a feature was replaced by the mean of the pool.",
        ),
        Answer(
            COMPLETE,
            "Leave the row out",
            "Only rows in which every feature and the outcome are known count.",
            "only rows in which everything is known count",
            "Rows with a missing value were left out.",
        ),
    ),
)
