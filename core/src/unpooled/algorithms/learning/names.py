"""What methods that fit models are called, and what the scores of their models are."""

from __future__ import annotations

from unpooled.algorithms.learning.reading import class_names
from unpooled.model import LOGISTIC, NUMBER, SIGN, SOFTMAX
from unpooled.plan import Plan

LINEAR, RIDGE, LASSO, ELASTIC_NET, FEDHEONN = "linear-model", "ridge", "lasso", "elastic-net", "fedheonn"
LOGISTIC_MODEL = "logistic-model"
OF_CLASSES = (FEDHEONN, LOGISTIC_MODEL)
"""Those whose outcome must have classes."""
WITHOUT_PRODUCTS = (RIDGE, FEDHEONN)
"""Those that can be fitted by conjugate gradients, and so to very many columns."""
SQUARED_ERROR, LOG_LOSS = "mean squared error", "log loss"


def link_of(plan: Plan) -> str:
    """What a score of a plan's models is, as in the model file."""
    classes = len(class_names(plan))
    if plan.test == LOGISTIC_MODEL:
        return SOFTMAX if classes > 2 else LOGISTIC
    return NUMBER if not classes else LOGISTIC if plan.test == FEDHEONN else SIGN


def loss_of(plan: Plan) -> str:
    """What the penalty is chosen by: the mean over the rows of folds that were left out."""
    return LOG_LOSS if plan.test == LOGISTIC_MODEL else SQUARED_ERROR
