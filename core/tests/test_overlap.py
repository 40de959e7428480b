"""How much lists of variants have in common, and the likely cause where that is little."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from unpooled.agreement import reconcile
from unpooled.builds import ENDS
from unpooled.overlap import Cause, Overlap, beside, compare, named
from unpooled.panel import Panel

Row = tuple[int, int, bytes, bytes, bytes]

SIZE = 3000
_random = np.random.default_rng(14)
ROWS: list[Row] = [
    (1 + i % 22, int(_random.integers(1, 40_000_000)), b"rs%d" % (1000 + i), b"A", b"G") for i in range(SIZE)
]


def made(change: Callable[[Row], Row] = lambda row: row, rows: list[Row] = ROWS) -> Panel:
    return Panel.of([change(row) for row in rows])


def moved(row: Row) -> Row:
    return row[0], row[1] + 12_345, *row[2:]


WRONG: dict[Cause, Callable[[Row], Row]] = {
    Cause.BUILD: moved,
    Cause.COLUMNS: lambda row: (row[0], 0, *row[2:]),
    Cause.CHROMOSOMES: lambda row: (0, *row[1:]),
    Cause.LETTERS: lambda row: (*row[:2], row[2].upper(), *row[3:]),
    Cause.STYLE: lambda row: (*row[:2], b"chr%d:%d" % row[:2], *row[3:]),
    Cause.ALLELES: lambda row: (*row[:3], b"1", b"2"),
    Cause.OTHER: lambda row: (row[0], row[1] + 999, b"exm" + row[2][2:], *row[3:]),
}


@pytest.mark.parametrize("cause", WRONG)
def test_the_likely_cause(cause: Cause) -> None:
    assert beside(made(WRONG[cause]), made(), 22) == Overlap(SIZE, SIZE, 0, cause)


@pytest.mark.parametrize("cause", [cause for cause in WRONG if cause is not Cause.COLUMNS])
def test_the_cause_is_found_in_a_part_of_the_list(cause: Cause) -> None:
    """One list is of a chip, the other one imputed; each may be the wrong one."""
    part = ROWS[:: SIZE // 300]
    assert beside(made(WRONG[cause], part), made(), 22).cause is cause
    assert beside(made(WRONG[cause]), made(rows=part), 22).cause is cause


def test_chromosomes_under_other_ids() -> None:
    def other(row: Row) -> Row:
        return 0, row[1], b"v" + row[2], *row[3:]

    assert beside(made(other), made(), 22).cause is Cause.CHROMOSOMES


def test_the_build_is_named_where_the_ends_of_chromosomes_tell_it() -> None:
    longer = {"GRCh37": 9, "GRCh38": 17}  # chromosomes that are longer there than in the other
    ends = {build: (code, ENDS[build][code - 1], b"end", b"A", b"G") for build, code in longer.items()}
    for mine, theirs in (("GRCh37", "GRCh38"), ("GRCh38", "GRCh37")):
        own, rest = Panel.of([*map(moved, ROWS), ends[mine]]), Panel.of([*ROWS, ends[theirs]])
        found = beside(own, rest, 22)
        assert (found.cause, found.build, found.others_build) == (Cause.BUILD, mine, theirs)
        assert found.why.endswith(f"The positions look like {mine}, the others' like {theirs}.")
        assert beside(own, rest, 19).build == ""


def found_among(**lists: Panel) -> tuple[set[str], tuple[str, ...]]:
    agreed = len(reconcile(lists).panel)
    comparison = compare(lists, agreed, len(lists), 22)
    return {name for name, of in comparison.of_cohorts.items() if of.is_apart}, comparison.said


def test_lists_that_fit_are_not_spoken_of() -> None:
    few = made(rows=ROWS[:2000])
    assert found_among(Graz=made(), Munich=made(), Tartu=few) == (set(), ())
    flipped = made(lambda row: (*row[:3], b"T", b"C"))
    assert found_among(Graz=flipped, Munich=made(), Tartu=made()) == (set(), ())


def test_a_chip_among_imputed_lists_fits() -> None:
    chip = made(rows=ROWS[:100])
    assert found_among(Graz=chip, Munich=made(), Tartu=made()) == (set(), ())


def test_two_wrong_lists_of_five_in_two_ways() -> None:
    wrong = {"Graz": made(WRONG[Cause.BUILD]), "Riga": made(WRONG[Cause.STYLE])}
    apart, said = found_among(**wrong, Munich=made(), Tartu=made(), Vaasa=made(rows=ROWS[5:]))
    assert apart == {"Graz", "Riga"}
    first = (
        "Graz: It has 0 of the 2,995 variants that Munich, Tartu and Vaasa share, among 3,000 of its own. "
    )
    assert said[0] == first + Cause.BUILD.message
    assert len(said) == 2


def test_two_against_two() -> None:
    apart, said = found_among(Graz=made(moved), Munich=made(), Riga=made(moved), Tartu=made())
    assert apart == set()
    assert "Graz and Riga share 3,000 variants, of 3,000 and 3,000." in said
    assert "Graz and Munich share 0 variants, of 3,000 and 3,000." in said


def test_all_lists_name_variants_in_their_own_way() -> None:
    """As cohorts do whose genotypes were imputed: the coordinator is told of the plan that fits."""

    def named_by(letter: bytes) -> Panel:
        return made(lambda row: (*row[:2], letter + row[2], *row[3:]))

    lists = {name: named_by(name.encode()) for name in "abc"}
    *pairs, proposed = compare(lists, 0, 3, 22).said
    assert len(pairs) == 3 and "share 0 variants" in pairs[0]
    places = len({row[:2] for row in ROWS})
    assert f"all share {places:,}" in proposed and "Match variants by place" in proposed
    assert len(compare(lists, 0, 3, 22, by_place=True).said) == 3
    lists["c"] = made(WRONG[Cause.OTHER])
    assert len(compare(lists, 0, 3, 22).said) == 3
    lists = {"a": made(), "b": made(), "c": named_by(b"v")}
    apart, proposed = compare(lists, 0, 3, 22).said
    assert "named in another way" in apart and "Match variants by place" in proposed


def test_other_alleles_under_names_by_place() -> None:
    def placed(row: Row) -> Row:
        return (*row[:2], b"%d:%d:%b:%b" % (*row[:2], *row[3:]), *row[3:])

    wrong = made(lambda row: placed(WRONG[Cause.ALLELES](row)))
    found = compare({"a": made(placed), "b": made(placed), "c": wrong}, 0, 3, 22, by_place=True)
    assert found.of_cohorts["c"].cause is Cause.ALLELES and len(found.said) == 1


def test_what_travels_comes_back() -> None:
    overlap = Overlap(60_000, 59_812, 0, Cause.BUILD, "GRCh37", "GRCh38")
    assert Overlap.from_json(overlap.to_json()) == overlap
    assert Overlap.from_json(Overlap(3, 3, 3).to_json()) == Overlap(3, 3, 3)
    for wrong in ({"build": "\x1b[31m"}, {"cause": "moon"}, {"own": -1}):
        with pytest.raises((ValueError, LookupError)):
            Overlap.from_json(overlap.to_json() | wrong)


def test_names() -> None:
    assert named(["Tartu"]) == "Tartu"
    assert named(["Tartu", "Munich", "Oslo"]) == "Munich, Oslo and Tartu"
