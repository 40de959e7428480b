"""Reports that are read back say what was written, whichever columns they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.studies import of_variants
from unpooled.errors import UnpooledError
from unpooled.formats import titles
from unpooled.formats.reading import Report, neg_log10
from unpooled.formats.titles import Title
from unpooled.run import run


def written(folder: Path, file: str, test: str, **changes: Any) -> tuple[Report, dict[str, np.ndarray]]:
    """A report of a small study, and the columns it was written from."""
    small = of_variants(test, cohort_sums=test != "chi-square", **changes)
    rows = small.test.columns_for(file, run(small.plan, small.panel, small.cohorts))
    path = folder / file
    with path.open("wb") as out:
        small.test.files[file](out, small.panel, rows, small.plan)
    columns = {name: rows[name][:] for name in rows}
    variant = columns["variant"]
    columns |= {"name": small.panel.name[variant], "position": small.panel.position[variant]}
    return Report(path), columns


EFFECTS = [
    ("assoc", "linear", {"ci": 0.9}, titles.BETA),
    ("assoc", "logistic", {"ci": 0.9}, titles.ODDS_RATIO),
    ("glm", "linear", {}, titles.BETA),
    ("glm", "logistic", {}, titles.ODDS_RATIO),
    (
        "glm",
        "logistic",
        {"beta": True, "glm_cols": ("chrom", "pos", "orbeta", "se", "nobs", "p", "test")},
        titles.BETA,
    ),
]


@pytest.mark.parametrize("file, test, changes, effect", EFFECTS)
def test_a_regression_is_read_as_it_was_written(
    file: str, test: str, changes: dict[str, Any], effect: Title, tmp_path: Path
) -> None:
    report, columns = written(tmp_path, file, test, **changes)
    lines = list(report.lines())
    assert report.texts(lines, titles.NAME) == [name.decode() for name in columns["name"].tolist()]
    assert report.texts(lines, titles.POSITION) == [str(place) for place in columns["position"].tolist()]
    assert [int(n) for n in report.texts(lines, titles.PEOPLE)] == columns["n"].tolist()
    assert not report.has({titles.BETA: titles.ODDS_RATIO, titles.ODDS_RATIO: titles.BETA}[effect])
    found, se = report.numbers(lines, effect), report.numbers(lines, titles.SE, titles.SE_OF_LOG_ODDS)
    known = ~np.isnan(found)  # not every estimate is printed
    beta, spread = columns["beta"][known, 0], columns["se"][known, 0]
    assert known.sum() > len(known) / 2
    np.testing.assert_allclose(found[known], np.exp(beta) if effect == titles.ODDS_RATIO else beta, rtol=1e-3)
    np.testing.assert_allclose(se[known], spread, rtol=1e-3)
    p = [neg_log10(text) for text in report.texts(lines, titles.P) if text != "NA"]
    np.testing.assert_allclose(p, columns["neg_log10_p"][known, 0], rtol=1e-3, atol=1e-3)


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    report, columns = written(tmp_path, "frq", "chi-square")
    lines, alleles = list(report.lines()), columns["founder_a1"] + columns["founder_a2"]
    np.testing.assert_array_equal(report.numbers(lines, titles.ALLELES), alleles)
    share = columns["founder_a1"] / alleles
    np.testing.assert_allclose(report.numbers(lines, titles.FREQUENCY), share, rtol=1e-3)


def test_what_a_report_lacks(tmp_path: Path) -> None:
    report, _ = written(tmp_path, "assoc", "chi-square")
    lines = list(report.lines())[:2]
    assert report.texts(lines, titles.PEOPLE) == ["", ""]
    assert np.isnan(report.numbers(lines, titles.PEOPLE)).all()
    with pytest.raises(UnpooledError, match="assoc has no column NMISS or OBS_CT"):
        report.place(titles.PEOPLE)


@pytest.mark.parametrize("p, wanted", [("0.01", 2), ("1", 0), ("1e-5", 5), ("1e-400", 400), ("0", np.inf)])
def test_p_however_small(p: str, wanted: float) -> None:
    assert neg_log10(p) == pytest.approx(wanted)
