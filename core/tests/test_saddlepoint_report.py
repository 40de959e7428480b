"""The part of a report that shows the saddlepoint test."""

from __future__ import annotations

import re

import numpy as np

from unpooled.methods.regression.saddlepoint import TABLE
from unpooled.methods.regression.saddlepoint_report import shown
from unpooled.panel.panel import Panel

NAN = float("nan")
PANEL = Panel.of([(1, 1 + k, b"rs%d" % k, b"A", b"G") for k in range(40)])


def cells(tails: list[float]) -> list[list[str]]:
    m = len(tails)
    rows = {
        "variant": np.arange(m, dtype=np.uint32),
        "score_neg_log10_p": np.where(np.arange(m) == 1, NAN, 2.0),
        "neg_log10_p": np.array(tails),
    }
    page = str(shown({TABLE: rows}, PANEL))
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[page], *(re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found[1:])]


def test_the_smallest_p_comes_first_and_variants_without_one_are_counted() -> None:
    (page,), *rows = cells([3.0, NAN, NAN, 400.0])
    assert rows == [["rs3", "0.01", "1e-400"], ["rs0", "0.01", "0.001"]]
    assert "with a score: 3." in page and "few: 2." in page


def test_no_more_than_twenty_are_listed_and_none_is_no_table() -> None:
    assert len(cells([float(k) for k in range(30)])) == 1 + 20
    (page,) = cells([NAN, NAN])[0]
    assert "<table" not in page and "with a score: 1." in page
