"""Copies of what a plan conditions on, against plink1.9; who is left then, and the floor after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled.algorithms.shared.conditions import with_copies
from unpooled.algorithms.shared.groups import complete, phenotype
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled_client.study.reading import Alignments, DataRefused

BIM = "1 rs1 0 100 A G\n1 rs2 0 200 T C\n2 rs3 0 50 A C\n"
PLAN = Plan("logistic", "asthma", 3, bytes(32), condition=("rs2", "rs1"))


def test_copies_are_plinks(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    found = with_copies(data.align(data.panel), data.panel, PLAN).covariates
    assert files.plink("--recode", "A", "--keep-allele-order").returncode == 0
    head, *people = files.output("raw")
    columns = zip(*(row[6:] for row in people), strict=True)
    of = dict(zip(head[6:], ([float(x.replace("NA", "nan")) for x in c] for c in columns), strict=True))
    of_c = 2 - np.array(of["rs2_T"])  # the panel's first allele is the first in the alphabet
    np.testing.assert_array_equal(found, np.column_stack([of_c, of["rs1_A"]]))
    assert np.isnan(found).any() and not np.isnan(found).all(axis=0).any()


def test_who_lacks_a_call_is_in_no_regression_but_a_case_or_a_control_still(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    samples = with_copies(data.align(data.panel), data.panel, PLAN)
    lacks = np.isnan(samples.covariates).any(axis=1)
    assert lacks.any()
    np.testing.assert_array_equal(complete(samples), complete(data.samples) & ~lacks)
    np.testing.assert_array_equal(phenotype(samples), phenotype(data.samples))


def test_a_cohort_in_which_too_few_have_the_call_declines(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open(min_samples=50, from_plan=True)
    with pytest.raises(DataRefused, match="too few samples have a phenotype and every covariate"):
        Alignments(data, PLAN)._conditioned(data.align(data.panel), data.panel)


def test_nobody_is_complete_where_the_panel_lacks_the_variant(files: Any) -> None:
    """Only a server that does not keep to the protocol asks anything then: it gets sums over nobody."""
    files.write(bim=BIM)
    data = files.open()
    panel = Panel.of([(2, 50, b"rs3", b"A", b"C")])
    assert not complete(with_copies(data.align(panel), panel, PLAN)).any()
