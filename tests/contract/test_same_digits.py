"""Every small study asks, says and writes what is committed, but for the last digits of numbers."""

from __future__ import annotations

import pytest

from ..same_bytes import FOLDER, committed, unlike_digits
from .digits import differences
from .studies import STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_as_it_is_committed(name: str) -> None:
    """Run python -m tests.same_bytes --commit after a change of results that is intended."""
    assert list(unlike_digits(name)) == []


def test_nothing_else_is_committed() -> None:
    assert {study for file in FOLDER.iterdir() for study, _ in committed(file)} == STUDIES.keys()


TABLE = ["SNP N P", "rs1 12 0.05123", "rs2 9 1", "rs3 9 1e-09"]


@pytest.mark.parametrize(
    ("line", "other", "column"),
    [
        (1, "rs1 12 0.05124", ""),  # one unit of the last digit
        (1, "rs1 12 0.05125", "P"),
        (1, "rs1 13 0.05123", "N"),
        (2, "rs2 9 0.9999", ""),
        (2, "rs2 9 0.9998", "P"),
        (2, "rs2 9 NA", "P"),
        (2, "rs4 9 1", "SNP"),
        (3, "rs3 9 1.001e-09", ""),
        (3, "rs3 9 1.1e-09", "P"),
        (3, "rs3 9", "as a whole"),
    ],
)
def test_last_digits_may_differ_and_nothing_else(line: int, other: str, column: str) -> None:
    now = [*TABLE[:line], other, *TABLE[line + 1 :]]
    found = [(each.line, each.column) for each in differences(TABLE, now)]
    assert found == ([(line + 1, column)] if column else [])
    assert len(list(differences(TABLE, now, exactly=True))) == 1
