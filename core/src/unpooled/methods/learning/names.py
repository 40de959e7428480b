"""Names of the methods that fit models, and of the kinds of scores that these give."""

from __future__ import annotations

from unpooled.fitted.model import LOGISTIC, NUMBER, SIGN, SOFTMAX
from unpooled.methods.learning.reading import class_names
from unpooled.plan.plan import Plan

LINEAR, RIDGE, LASSO, ELASTIC_NET, FEDHEONN = "linear-model", "ridge", "lasso", "elastic-net", "fedheonn"
LOGISTIC_MODEL = "logistic-model"
OF_CLASSES = (FEDHEONN, LOGISTIC_MODEL)
"""Methods whose outcome must have classes."""
WITHOUT_PRODUCTS = (RIDGE, FEDHEONN)
"""Methods that can be fitted by conjugate gradients, and so to very many columns."""
SQUARED_ERROR, LOG_LOSS = "mean squared error", "log loss"


def link_of(plan: Plan) -> str:
    """Return the kind of score of a plan's models, as named in the model file."""
    classes = len(class_names(plan))
    if plan.test == LOGISTIC_MODEL:
        return SOFTMAX if classes > 2 else LOGISTIC
    return NUMBER if not classes else LOGISTIC if plan.test == FEDHEONN else SIGN


def loss_of(plan: Plan) -> str:
    """Return the loss that chooses the penalty: a mean over the rows of the folds left out."""
    return LOG_LOSS if plan.test == LOGISTIC_MODEL else SQUARED_ERROR
