"""Columns of .glm files, as they may be chosen."""

from __future__ import annotations

import pytest

from unpooled.glm_columns import USUAL, chosen
from unpooled.plan import Plan, PlanError


def test_columns_are_added_and_left_out_as_by_plink2() -> None:
    assert chosen("p,chrom") == ("chrom", "p")
    assert chosen("+a1freq,-err") == (*USUAL[:4], "a1freq", *USUAL[4:-1])
    for wrong in ("+a1freq,p", "", "pos,p_value", "gcountcc"):
        with pytest.raises(ValueError, match=r"set of columns|every set"):
            chosen(wrong)


@pytest.mark.parametrize("wrong", [("beta", "se", "ci"), ("se", "test"), ("p_value", "test")])
def test_columns_that_cannot_be_are_no_plan(wrong: tuple[str, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        Plan("linear", "trait", 3, bytes(32), trait="quantitative", glm_cols=wrong)
    assert set(caught.value.problems) == {"glm_cols"}
