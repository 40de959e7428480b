"""The summary of a pooled table: what NumPy finds in it, and nothing about few people."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from normalizing import plan_of, written
from sklearn import datasets

from unpooled.algorithms import check
from unpooled.algorithms.tables.summary import QUANTILES, wanted
from unpooled.cohort import ArrayTable
from unpooled.errors import Refuse
from unpooled.schema import Column

NAMES = [f"q{quantile:g}" for quantile in QUANTILES]


def summary(pooled: np.ndarray, titles: list[str], cohorts: int = 3) -> dict[str, str]:
    """The result files, through the real encodings and masks."""
    schema = (Column("id", "text"), *(Column(title, unit="g/l") for title in titles))
    plan = plan_of("summary", 0, cohorts, schema=schema)
    parts = [ArrayTable(part) for part in np.array_split(pooled, cohorts)]
    return {check(plan).file_name(file, plan): written(plan, parts, file) for file in plan.files}


def frame(files: dict[str, str]) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(files["summary.tsv"]), sep="\t", na_values=["NA"], keep_default_na=False)


def table() -> np.ndarray:
    """Breast cancer's features, sorted so that the cohorts' ranges do not overlap, and some missing."""
    values: np.ndarray = datasets.load_breast_cancer().data.copy()
    values = np.tile(values[np.argsort(values[:, 0])], (2, 1))
    values[np.random.default_rng(1).random(values.shape) < 0.05] = np.nan
    return values


def test_the_numbers_are_those_of_the_pooled_table() -> None:
    pooled = table()
    titles = [f"feature {k}" for k in range(pooled.shape[1])]
    found = frame(summary(pooled, titles))
    assert found["name"].tolist() == titles and set(found["unit"]) == {"g/l"}
    assert np.array_equal(found["missing"], np.isnan(pooled).sum(axis=0))
    assert np.array_equal(found["n"], len(pooled) - found["missing"])
    np.testing.assert_allclose(found["mean"], np.nanmean(pooled, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["deviation"], np.nanstd(pooled, axis=0), rtol=1e-12)
    assert np.array_equal(found[NAMES].to_numpy().T, np.nanquantile(pooled, QUANTILES, axis=0))


@pytest.mark.parametrize(
    ("n", "known"), [(10, 0), (19, 1), (36, 1), (37, 3), (180, 3), (181, 5), (900, 5), (901, 7), (10**6, 7)]
)
def test_quantiles_that_few_people_lie_beyond_are_not_asked_for(n: int, known: int) -> None:
    """At least ten values are as small as any that is told, and at least ten as large."""
    (ranks,) = wanted(np.array([n]))
    assert np.count_nonzero(ranks) == 2 * known
    told = ranks[ranks > 0]
    assert not len(told) or (told.min() >= 10 and n - told.max() + 1 >= 10)


def test_features_of_few_values_and_none() -> None:
    pooled = np.random.default_rng(1).normal(size=(60, 3))
    pooled[::2, 1] = np.nan
    pooled[:, 2] = np.nan
    files = summary(pooled, ["all", "half", "none"])
    found = frame(files)
    assert found[NAMES].notna().sum(axis=1).tolist() == [3, 1, 0]
    assert found["mean"].isna().tolist() == [False, False, True]
    assert files["summary.html"].count("<svg") == 2
    pooled[:9, 2] = 1
    with pytest.raises(Refuse, match="at least 10 values of none"):
        summary(pooled, ["all", "half", "none"])


def test_the_page_has_a_picture_of_each_column() -> None:
    pooled = np.column_stack(
        [table()[:, 0], np.full(1138, 7.0), *np.array([[1e308, -1e308] * 569, [5e-324, 0.0] * 569])]
    )
    page = summary(pooled, ["<b>radius</b> & co", "constant", "huge", "tiny"])["summary.html"]
    root = ElementTree.fromstring(page.removeprefix("<!doctype html>\n"))  # noqa: S314  # our own
    rows = root.findall(".//tbody/tr")
    assert [row[0].text for row in rows][:2] == ["<b>radius</b> & co (g/l)", "constant (g/l)"]
    assert not root.findall(".//script") and "http:" not in page
    for row in rows:
        (picture,) = row.findall(".//svg")
        assert "0.5: " in str(picture[0].text) and "mean" in str(picture[0].text)
        places = [float(shape.get(side, 0)) for shape in picture[1:] for side in ("x", "x1", "x2")]
        assert all(0 <= place <= 300 for place in places)
    box = rows[0].find(".//rect")
    lines = rows[0].findall(".//line")
    quartiles = np.nanquantile(table()[:, 0], [0.01, 0.25, 0.75, 0.99])
    assert box is not None and float(lines[0].attrib["x1"]) == 6 and float(lines[0].attrib["x2"]) == 294
    share = (quartiles[1] - quartiles[0]) / (quartiles[3] - quartiles[0])
    assert float(box.attrib["x"]) == pytest.approx(6 + 288 * share, abs=0.1)
