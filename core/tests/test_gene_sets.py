"""Set lists of a plan, and the tests of a set where nothing is left of its columns."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.methods.genes.options import MOST_LETTERS, MOST_SETS, VariantSet, read_sets
from unpooled.methods.genes.tests import neg_log10_p
from unpooled.plan.plan import NO_KEY, Plan, PlanError


def test_a_set_list_is_read_as_regenie_reads_it() -> None:
    found = read_sets("APOE 19 44905796 rs429358,rs7412,rs429358\n\nPCSK9\tchr1\t55039548\t1:5:A:G\n")
    assert found == (
        VariantSet("APOE", "19", 44905796, ("rs429358", "rs7412")),
        VariantSet("PCSK9", "1", 55039548, ("1:5:A:G",)),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 1 1 v\nb 1 v,w", "line 2 is not a name, a chromosome, a position and IDs"),
        ("a 1 1 v w", "line 1 is not a name"),
        ("a 1 1 ,", "line 1 has a name or an ID of more than 200 letters, or no ID"),
        ("a 1 1 v\n\na 2 1 w", "line 3 is about the same set as one before: a"),
        (" \n", f"1 to {MOST_SETS:,} sets, not 0"),
        (
            "\n".join(f"g{k} 1 1 v" for k in range(MOST_SETS + 1)),
            f"{MOST_SETS:,} sets, not {MOST_SETS + 1:,}",
        ),
        ("a 1 1 " + "v" * MOST_LETTERS, f"at most {MOST_LETTERS:,} letters"),
    ],
)
def test_what_is_wrong_with_a_set_list_is_said_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("gene-tests", "y", 3, NO_KEY, set_list=text)
    assert problem in caught.value.problems["set_list"]


def test_a_set_that_covariates_explain_has_no_result() -> None:
    one = np.ones(2)
    assert np.isnan(neg_log10_p(one, np.zeros((2, 2)), one, one / 9)).all()


def test_columns_that_add_up_to_a_constant_have_no_burden() -> None:
    phi = np.array([[1.0, -1], [-1, 1]])
    found = neg_log10_p(np.array([2.0, -2]), phi, np.ones(2), np.full(2, 0.5))
    assert np.isnan(found[[0, 2]]).all() and (found[[1, 3]] > 1).all()
