"""Columns of .glm files, chosen as by plink2's cols=."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_regression_formats import WITHOUT, plink2, result

from unpooled.glm_columns import USUAL, chosen
from unpooled.plan import Plan, PlanError


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_chosen_columns_are_plink2s(test: str, tmp_path: Path) -> None:
    """On every kind of chromosome."""
    modifiers = WITHOUT[test].values()
    for asked in ("+a1freq,+a1count,+totallele,+ax,+alt1", "a1freq", "pos,tz,ref", "+beta,-test,-err"):
        flags = ["--ci", "0.9", "--glm", *modifiers, "hide-covar", f"cols={asked}"]
        pooled, files = result(test, hide_covar=True, ci=0.9, glm_cols=chosen(asked))
        plinks = plink2(pooled, tmp_path, *flags)
        ours = [line.split("\t") for line in files["glm"].decode().splitlines()]
        assert ours[0] == plinks[0]
        for mine, theirs in zip(ours[1:], plinks[1:], strict=True):
            for title, x, y in zip(ours[0], mine, theirs, strict=True):
                far = 0.0 if title in ("A1_CT", "ALLELE_CT", "A1_FREQ") else 1e-3
                assert x == y or float(x) == pytest.approx(float(y), rel=far, abs=far), (mine, theirs)


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
