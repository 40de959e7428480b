"""Result files: every one that is declared has a writer, and a name that is one on every system."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from unpooled.algorithms import ALGORITHMS, TESTS
from unpooled.algorithms.phenotypes import tables_of
from unpooled.algorithms.result_files import result_files
from unpooled.file_names import LONGEST_STEM, is_plain

from .runs import run, small
from .studies import EVERY, STUDIES, nothing_said

STEMS = ["a", "Asthma_2.in-adults", "x" * LONGEST_STEM]
HOSTILE = ["../../x", "a\\b", "CON", "nul.txt", ".", "a:b", "größe", "身長" * 100, "a" * 200, "x ", "a*?<>|"]


@pytest.mark.parametrize("name", EVERY)
def test_every_file_has_a_writer_that_writes(name: str) -> None:
    one, found = small(name), run(name)
    assert set(one.plan.files) <= set(one.test.files) and set(one.test.usual_files) <= set(one.test.files)
    assert len(found.files) == sum(len(plan.files) for plan in one.plan.each)
    assert all(found.files.values())
    assert found.files.keys() < set(result_files(one.plan))
    for plan in one.plan.each:
        summary = one.test.summarise(tables_of(one.plan, found.tables, plan.phenotype))
        assert (summary is not None) == (one.plan.test in TESTS)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_file_is_written_in_some_study(name: str) -> None:
    studies = [small(study) for study in STUDIES if small(study).plan.test == name]
    assert {file for one in studies for file in one.plan.files} == set(ALGORITHMS[name].files)


@pytest.mark.parametrize("test", ALGORITHMS)
def test_every_name_is_plain_on_every_system(test: str) -> None:
    usual = nothing_said(test, files=list(ALGORITHMS[test].files))
    for stem, phenotype in itertools.product(STEMS, HOSTILE if usual.phenotype else [""]):
        names = result_files(replace(usual, file_stem=stem, phenotype=phenotype))
        assert len({name.casefold() for name in names}) == len(names)
        for name in names:
            assert name.startswith(f"{stem}.") and is_plain(name)
            assert not re.search(r'[\\/:*?"<>|\x00-\x1f\x7f\s]', name) and not name.endswith(".")
            assert len(name.encode()) <= 255 - 18  # so much longer is the name of a file in the making
