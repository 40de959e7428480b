"""scikit-learn's own checks of estimators, and which of them do not apply to what a federation has fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.utils.estimator_checks import check_estimator

NOT_APPLICABLE = {
    "check_no_attributes_set_in_init": "the parameters are the fit: it is fitted as soon as it is made",
    "check_do_not_raise_errors_in_init_or_set_params": "so it says at once if they are no parameters",
    "check_n_features_in": "and knows its columns before `fit`",
    "check_estimators_empty_data_messages": "a table without rows gives one without rows",
    "check_array_api_input": "runs only where SciPy is told to",
}
"""Why, for every estimator whose parameters come from a file."""


def assert_checks_pass(estimators: Iterable[Any], more: Mapping[str, str], least: int) -> None:
    """Each check brings a table of its own: it must pass with one of the estimators, which differ in columns.

    `more` are further checks that do not apply; at least so many pass.
    """
    done = [each for of in estimators for each in check_estimator(of, on_fail=None, on_skip=None)]
    passed = {each["check_name"] for each in done if each["status"] == "passed"}
    failed = {each["check_name"] for each in done} - passed
    assert failed <= NOT_APPLICABLE.keys() | more.keys(), failed - NOT_APPLICABLE.keys() - more.keys()
    assert len(passed) > least
