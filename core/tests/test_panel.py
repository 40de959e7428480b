"""Lists of variants: agreed, in binary form and as text, compared with each other, and in parts."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import itertools
import mmap
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import list_text
from unpooled.asking.cohort import Dosages
from unpooled.errors import ProtocolError
from unpooled.memory.spool import Shelf, Spool, forget
from unpooled.panel import agreement, list_file, partition
from unpooled.panel.agreement import TABLE_HEADER, align, reconcile, reconciled
from unpooled.panel.alleles import agree, capital, complement, strand
from unpooled.panel.builds import ENDS
from unpooled.panel.overlap import Cause, Overlap, beside, compare
from unpooled.panel.overlap import named as listed
from unpooled.panel.panel import NO_CHROMOSOME, Panel, canonical_order, order_in_parts

PAIRS = [(b"A", b"C"), (b"A", b"G"), (b"A", b"T"), (b"C", b"G"), (b"C", b"T"), (b"G", b"T")]
SINGLES = [(b"0", allele) for allele in (b"A", b"C", b"G", b"T")]
ODD = [(b"0", b"0"), (b"A", b"ACT"), (b"0", b"ACT"), (b"-", b"A")]
pairs = st.sampled_from(PAIRS + SINGLES + ODD)


def one(pair: tuple[bytes, bytes], name: bytes = b"rs1", position: int = 10, chromosome: int = 1) -> Panel:
    return Panel.of([(chromosome, position, name, *pair)])


def remarks(*panels: Panel) -> list[tuple[str, bool]]:
    found = reconcile({f"cohort {k}": panel for k, panel in enumerate(panels)})
    return [(remark.text, remark.kept) for remark in found.remarks]


def test_order_is_chromosome_then_position_then_id_as_ascii() -> None:
    panel = Panel.of(
        [
            (2, 5, b"rs1", b"A", b"C"),
            (1, 9, b"rs9", b"A", b"C"),
            (1, 9, b"rs10", b"A", b"C"),
            (1, 10, b"a", b"A", b"C"),
        ]
    )
    assert panel.name.tolist() == [b"rs10", b"rs9", b"a", b"rs1"]


@given(st.lists(pairs, min_size=3, max_size=4))
def test_the_agreed_pair_does_not_depend_on_the_order_of_cohorts(seen: list[tuple[bytes, bytes]]) -> None:
    assert len({agree(order) for order in itertools.permutations(seen)}) == 1


@given(st.lists(pairs, min_size=3, max_size=5))
def test_every_cohort_fits_the_agreed_pair(seen: list[tuple[bytes, bytes]]) -> None:
    target = agree(tuple(seen))
    if target is not None:
        assert all(strand(pair, target) for pair in seen)


@pytest.mark.parametrize(
    ("seen", "target"),
    [
        ([(b"A", b"C")] * 3, (b"A", b"C")),
        ([(b"A", b"C"), (b"G", b"T"), (b"G", b"T")], (b"G", b"T")),  # the strand of the majority
        ([(b"A", b"C"), (b"A", b"C"), (b"G", b"T"), (b"G", b"T")], (b"A", b"C")),  # then ASCII
        ([(b"0", b"A"), (b"A", b"C"), (b"0", b"G")], (b"A", b"C")),  # an unseen allele, on either strand
        ([(b"0", b"A"), (b"0", b"C"), (b"0", b"A")], None),  # each cohort has one, and not the same
        ([(b"0", b"A"), (b"0", b"T"), (b"0", b"A")], None),  # nor if it may be the same on the other strand
        ([(b"0", b"A"), (b"0", b"C"), (b"A", b"C")], (b"A", b"C")),
        ([(b"0", b"0"), (b"0", b"A"), (b"0", b"A")], (b"0", b"A")),
        ([(b"-", b"0"), (b"0", b"0"), (b"-", b"0")], (b"-", b"0")),
        ([(b"0", b"A")] * 3, (b"0", b"A")),
        ([(b"A", b"C"), (b"A", b"G"), (b"A", b"C")], None),
        ([(b"A", b"T"), (b"A", b"C"), (b"A", b"C")], None),
        ([(b"A", b"ACT"), (b"0", b"A"), (b"0", b"ACT")], (b"A", b"ACT")),
        ([(b"G", b"G")] * 3, (b"G", b"G")),
        ([(b"G", b"G"), (b"A", b"G"), (b"A", b"G")], None),
    ],
)
def test_agreed_pairs(seen: list[tuple[bytes, bytes]], target: tuple[bytes, bytes] | None) -> None:
    assert agree(tuple(seen)) == target


def test_what_cannot_be_reconciled_is_left_out_with_its_reason() -> None:
    good = (1, 1, b"good", b"A", b"C")
    a = Panel.of([good, (1, 2, b"twice", b"A", b"C"), (1, 2, b"twice", b"A", b"C"), (1, 3, b".", b"A", b"C")])
    b = Panel.of(
        [good, (1, 2, b"twice", b"A", b"C"), (1, 4, b"moved", b"A", b"C"), (1, 6, b"odd", b"A", b"C")]
    )
    c = Panel.of(
        [good, (1, 2, b"twice", b"A", b"C"), (1, 5, b"moved", b"A", b"C"), (1, 6, b"odd", b"A", b"G")]
    )
    d = Panel.of([good, (1, 4, b"moved", b"A", b"C"), (1, 6, b"odd", b"A", b"C")])
    found = reconcile({"a": a, "b": b, "c": c, "d": d})
    assert found.panel.name.tolist() == [b"good"]
    assert found.table().decode().splitlines()[1:] == [
        "1\t2\ttwice\tleft out\tID appears more than once at a",
        "1\t3\t.\tleft out\thas no ID: name it, e.g. with plink2 --set-missing-var-ids @:#",
        "1\t4\tmoved\tleft out\tabsent at a",
        "1\t6\todd\tleft out\tabsent at a",
    ]
    # What a cohort cannot use takes no name away from what it can.
    again = Panel.of([good, (NO_CHROMOSOME, 7, b"good", b"A", b"C")])
    assert reconcile({"again": again, "d": d}).panel.name.tolist() == [b"good"]
    found = reconcile({"b": b, "c": c, "d": d})
    assert [line.split("\t", 2)[2] for line in found.table().decode().splitlines()[1:]] == [
        "twice\tleft out\tabsent at d",
        "moved\tleft out\tis at different positions: 1:4, 1:5",
        "odd\tleft out\talleles cannot be reconciled: A/C at b, A/G at c, A/C at d",
    ]


def test_of_many_variants_at_different_positions_a_thousand_are_told_one_by_one() -> None:
    """A list on another build has millions of them, and a remark for each takes the server's memory."""
    names = [b"rs%d" % k for k in range(3000)]
    a, b = (Panel.of([(1, 2 * k + far, name, b"A", b"C") for k, name in enumerate(names)]) for far in (1, 2))
    found = reconcile({"a": a, "b": b})
    assert len(found.panel) == 0 and found.left_out == 3000 and len(found.remarks) == 1001
    lines = found.table().splitlines()[1:]
    assert len(lines) == 3000 and len({line.split(b"\t")[2] for line in lines}) == 3000
    assert sum(line.endswith(b"\tis at different positions") for line in lines) == 2000


def test_flips_and_ambiguous_pairs_are_kept_and_listed() -> None:
    texts = remarks(one((b"A", b"C")), one((b"A", b"C")), one((b"G", b"T")))
    assert texts == [("read on the other strand at cohort 2", True)]
    assert remarks(*[one((b"A", b"T"))] * 3) == [
        ("A/T or C/G: the strand cannot be told, taken as it is", True)
    ]


def test_what_varies_between_cohorts_only_is_left_out() -> None:
    """If the third has all the cases, its error of strand or coding would be the first hit."""
    texts = remarks(one((b"0", b"A")), one((b"0", b"A")), one((b"0", b"C")))
    said = "varies between cohorts but within none: 0/A at cohort 0, 0/A at cohort 1, 0/C at cohort 2"
    assert texts == [(said, False)]
    assert remarks(one((b"0", b"A")), one((b"A", b"C")), one((b"0", b"C"))) == []


@pytest.mark.parametrize(
    ("allele", "compared"),
    [(b"a", b"A"), (b"Tca", b"TCA"), (b"n", b"N"), (b"<del>", b"<del>"), (b"0", b"0"), (b"i", b"i")],
)
def test_bases_are_compared_in_capitals(allele: bytes, compared: bytes) -> None:
    assert capital(allele) == compared


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), pairs), max_size=6), min_size=3, max_size=3))
def test_reconciling_does_not_depend_on_the_order_of_cohorts(
    cohorts: list[list[tuple[int, tuple[bytes, bytes]]]],
) -> None:
    panels = [Panel.of([(1, k, b"rs%d" % k, *pair) for k, pair in rows]) for rows in cohorts]
    names = ["a", "b", "c"]
    results = {
        (found.panel.canonical, found.table())
        for order in itertools.permutations(range(3))
        for found in [reconcile({names[k]: panels[k] for k in order})]
    }
    assert len(results) == 1


@pytest.mark.parametrize(
    ("a1", "a2", "swapped"),
    [
        (b"A", b"C", False),
        (b"C", b"A", True),
        (b"T", b"G", False),  # A/C on the other strand
        (b"G", b"T", True),
        (b"0", b"A", True),
        (b"0", b"C", False),
        (b"A", b"0", False),
        (b"0", b"G", False),
        (b"0", b"T", True),
    ],
)
def test_a_cohort_finds_which_of_its_alleles_is_the_panels_first(a1: bytes, a2: bytes, swapped: bool) -> None:
    panel, own = one((b"A", b"C")), one((a1, a2))
    found = align(panel, own, np.array([a1 <= a2]))
    assert found.index.tolist() == [0]
    assert found.swapped.tolist() == [swapped]


def test_a_variant_that_names_one_allele_twice_is_read_as_its_file_has_it() -> None:
    panel = one((b"G", b"G"))
    assert align(panel, panel, np.array([True])).swapped.tolist() == [False]


def test_variants_that_a_cohort_cannot_match_are_marked() -> None:
    panel = Panel.of([(1, k, b"rs%d" % k, b"A", b"C") for k in range(5)])
    own = Panel.of(
        [
            (1, 0, b"rs0", b"A", b"C"),
            (1, 7, b"rs1", b"A", b"C"),
            (1, 2, b"rs2", b"A", b"G"),
            (1, 3, b"rs3", b"A", b"C"),
            (1, 3, b"rs3", b"A", b"C"),
        ]
    )
    assert align(panel, own, np.ones(5, bool)).index.tolist() == [0, -1, -1, -1, -1]


def test_complement_has_no_meaning_for_longer_alleles() -> None:
    assert complement((b"A", b"ACT")) is None


def by_place(rows: list[tuple[int, int, bytes, bytes]]) -> Panel:
    """A list whose variants are called after their places."""
    named = Panel.of([(c, p, b"%d:%d:%b:%b" % (c, p, *sorted(pair)), *pair) for c, p, *pair in rows])
    return dataclasses.replace(named, ids=None, autosomes=22)


places = st.tuples(st.integers(1, 3), st.integers(1, 6), st.sampled_from(PAIRS + SINGLES + ODD))


@given(st.lists(st.lists(places, max_size=12), min_size=2, max_size=4), st.integers(1, 4))
def test_in_windows_the_agreement_is_that_of_whole_lists(
    cohorts: list[list[tuple[int, int, tuple[bytes, bytes]]]], rows: int
) -> None:
    """Against the same lists with these names as IDs, which are reconciled as a whole."""
    lists = {f"cohort {k}": by_place([(c, p, *pair) for c, p, pair in own]) for k, own in enumerate(cohorts)}
    whole = reconcile({cohort: with_ids(panel) for cohort, panel in lists.items()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement.windows, "__defaults__", (rows,))
        parts = list(reconciled(lists))
        found = reconcile(lists)
    assert with_ids(found.panel).digest == whole.panel.digest
    assert found.table() == whole.table()
    assert TABLE_HEADER + b"".join(line for part in parts for line in part.lines()) == whole.table()
    assert list_file.measured([part.panel for part in parts])[0] == found.panel.digest


def with_ids(panel: Panel) -> Panel:
    """The same with the names as IDs."""
    return dataclasses.replace(panel, ids=np.asarray(panel.name), autosomes=0).compacted()


@given(st.lists(places, max_size=12), st.lists(places, max_size=12), st.integers(1, 4))
def test_in_windows_a_cohort_finds_the_same(
    panels: list[tuple[int, int, tuple[bytes, bytes]]],
    own: list[tuple[int, int, tuple[bytes, bytes]]],
    rows: int,
) -> None:
    wanted, had = (by_place([(c, p, *pair) for c, p, pair in these]) for these in (panels, own))
    first = np.arange(len(had)) % 2 == 0
    whole = align(with_ids(wanted), with_ids(had), first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement.windows, "__defaults__", (rows,))
        found = align(wanted, had, first)
    assert found.index.tolist() == whole.index.tolist()
    assert found.swapped.tolist() == whole.swapped.tolist()


some_ids = st.sampled_from([b".", b"a", b"b", b"rs123456789", *(b"rs%d" % k for k in range(20))])
named = st.tuples(st.integers(1, 3), st.integers(1, 6), some_ids, st.sampled_from(PAIRS + SINGLES + ODD))


@given(st.lists(st.lists(named, max_size=20), min_size=2, max_size=4), st.integers(1, 4))
def test_by_id_the_agreement_in_windows_is_that_of_whole_lists(
    cohorts: list[list[tuple[int, int, bytes, tuple[bytes, bytes]]]], rows: int
) -> None:
    lists = {
        f"cohort {k}": Panel.of([(*variant, *pair) for *variant, pair in own])
        for k, own in enumerate(cohorts)
    }
    whole = reconcile(lists)
    one, other = [*lists.values()][:2]
    first = np.arange(len(other)) % 2 == 0
    aligned = align(one, other, first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement.windows, "__defaults__", (rows,))
        patch.setattr(agreement, "WINDOW_ROWS", 3 * rows)
        parts = list(reconciled(lists))
        found = reconcile(lists)
        again = align(one, other, first)
    assert found.panel.digest == whole.panel.digest
    assert found.table() == whole.table()
    assert TABLE_HEADER + b"".join(line for part in parts for line in part.lines()) == whole.table()
    assert list_file.measured([part.panel for part in parts])[0] == whole.panel.digest
    assert again.index.tolist() == aligned.index.tolist()
    assert again.swapped.tolist() == aligned.swapped.tolist()


def test_names_by_place_are_made_where_they_are_read() -> None:
    panel = by_place(
        [(1, 5, b"G", b"A"), (22, 2**31 - 2, b"A", b"0"), (23, 7, b"A", b"C" * 30), (26, 9, b"-", b"T")]
    )
    digest = hashlib.sha256(b"C" * 30).hexdigest()[:20].encode()
    names = [b"1:5:A:G", b"22:2147483646:0:A", b"X:7:A:" + digest, b"MT:9:-:T"]
    assert panel.name.tolist() == names
    assert panel.name[2] == names[2] and panel.name[1:3].tolist() == names[1:3]
    assert panel.name[np.array([3, 0])].tolist() == [names[3], names[0]]
    assert np.asarray(panel.take(slice(1, 3)).name).tolist() == names[1:3]
    assert (panel.name == names[1]).tolist() == [False, True, False, False]
    assert np.isin(panel.name, names[:2]).tolist() == [True, True, False, False]


NAMED = Panel.of(
    [
        (1, 10, b"rs1", b"C", b"A"),
        (1, 10, b"rs2", b"C", b"T"),
        (23, 0, b"x", b"0", b"ACGT"),
        (23, 7, b".", b"A", b"A"),
    ]
)
PLACED = dataclasses.replace(NAMED, ids=None, autosomes=22)


@pytest.mark.parametrize("panel", [NAMED, PLACED, Panel.of([])])
def test_a_list_comes_back(panel: Panel) -> None:
    again = Panel.from_canonical(panel.canonical)
    assert again.canonical == panel.canonical and again.digest == panel.digest
    assert again.canonical_bytes == len(panel.canonical) == panel.canonical_bytes
    assert [again.pair(k) for k in range(len(panel))] == [panel.pair(k) for k in range(len(panel))]
    assert np.asarray(again.name).tolist() == np.asarray(panel.name).tolist()


def test_the_form_does_not_depend_on_how_a_list_came_about() -> None:
    wider = Panel.of([(1, 10, b"rs1", b"C", b"A"), (2, 3, b"rs0" * 9, b"G", b"GTT")])
    assert wider.take(np.array([0])).digest == Panel.of([(1, 10, b"rs1", b"A", b"C")]).digest


def test_a_long_list_is_mapped_and_written_in_parts(tmp_path: Path) -> None:
    rows = 3 * list_file.BLOCK_ROWS + 7
    alleles = tuple(sorted(b"A" * k + b"C" for k in range(300)))
    position = 3 * np.arange(rows, dtype=np.int32)
    first, second = np.zeros(rows, np.uint16), (np.arange(rows) % 299 + 1).astype(np.uint16)
    panel = Panel(np.full(rows, 7, np.uint8), position, None, alleles, first, second, 22)
    (tmp_path / "list").write_bytes(panel.canonical)
    again = Panel.of_file(tmp_path / "list")
    assert again.digest == panel.digest and again.second.tolist() == second.tolist()
    parts = [again.take(slice(0, 50_000)), again.take(slice(50_000, rows))]
    assert b"".join(list_file.pieces(parts)) == panel.canonical
    sent = list(list_file.in_parts(panel.pieces(), 100_000))
    assert b"".join(sent) == panel.canonical and {len(part) for part in sent[:-1]} == {100_000}


@pytest.mark.parametrize("panel", [NAMED, PLACED])
def test_a_list_that_is_cut_or_longer_is_refused(panel: Panel) -> None:
    data = panel.canonical
    for size in range(len(data)):
        with pytest.raises(ProtocolError):
            Panel.from_canonical(data[:size])
    with pytest.raises(ProtocolError):
        Panel.from_canonical(data + b"\0")


@settings(max_examples=500)
@given(st.sampled_from([NAMED, PLACED]), st.data())
def test_damaged_bytes_are_another_list_or_refused(panel: Panel, data: st.DataObject) -> None:
    damaged = bytearray(panel.canonical)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        again = Panel.from_canonical(bytes(damaged))
    except ProtocolError:
        return
    assert again.canonical == damaged


@given(st.binary(max_size=60))
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Panel.from_canonical(data)


@pytest.mark.parametrize(
    "columns",
    [
        {"position": np.array([10, 9, 0, 7], np.int32)},
        {"position": np.array([-1, 10, 0, 7], np.int32)},
        {"first": NAMED.second, "second": NAMED.first},
        {"ids": NAMED.name[[1, 0, 2, 3]]},
    ],
)
def test_a_list_that_is_not_sorted_is_refused(columns: dict[str, np.ndarray]) -> None:
    with pytest.raises(ProtocolError):
        Panel.from_canonical(dataclasses.replace(NAMED, **columns).canonical)


def test_an_id_that_is_too_long_is_refused() -> None:
    with pytest.raises(ProtocolError, match="an ID has more than 65,535 letters"):
        _ = Panel.of([(1, 1, b"x" * 65_536, b"A", b"C")]).digest


def test_a_list_with_one_id_far_longer_than_the_others_is_refused() -> None:
    """Each ID takes the room of the longest: of less than a megabyte that could be four gigabytes."""
    rows = list_file.BLOCK_ROWS
    many = Panel.of([(1, 1, b"x", b"A", b"C")]).take(np.zeros(rows, np.int64))
    for length in (1_000, 2_000):
        ids = np.full(rows, b"x", f"S{length}")
        ids[-1] = b"x" * length
        data = dataclasses.replace(many, ids=ids).canonical
        if length == 1_000:
            assert Panel.from_canonical(data).name[-1] == ids[-1]
        else:
            with pytest.raises(ProtocolError, match="one ID is far longer than the others"):
                Panel.from_canonical(data)


def test_a_panel_is_written_as_text() -> None:
    panel = Panel.of([(1, 10, b"rs1", b"C", b"A"), (23, 0, b"x", b"0", b"ACGT")])
    assert list_text.write(panel) == b"1\t10\trs1\tA\tC\n23\t0\tx\t0\tACGT\n"


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
    """Cohorts with imputed genotypes name variants so: the coordinator is told of the plan that fits."""

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
    assert listed(["Tartu"]) == "Tartu"
    assert listed(["Tartu", "Munich", "Oslo"]) == "Munich, Oslo and Tartu"


@pytest.mark.parametrize("room", [0, 7, 1 << 20])
def test_a_spool_gives_back_what_was_put_in(room: int) -> None:
    random, parts = np.random.default_rng(room), []
    spool = Spool("S5", room)
    for _ in range(20):
        parts.append(random.integers(100, 10**5, random.integers(4)).astype("S5"))
        spool.append(parts[-1])
    column = spool.column()
    assert column.tolist() == np.concatenate(parts).tolist()
    assert (_mapped(column) is not None) == (room < 100)
    forget(column, None)  # and read again
    assert column.tolist() == np.concatenate(parts).tolist()


def _mapped(column: np.ndarray) -> object:
    base = column.base
    base = base.base if isinstance(base, np.ndarray) else base  # of a view
    return base.obj if isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap) else None


def test_a_shelf_gives_back_what_was_put_on_it() -> None:
    shelf = Shelf(room=5000, segment=1 << 14, least=8)
    arrays = [np.arange(size).reshape(2, -1) * 0.5 for size in (600, 2, 1000, 4000)]
    dosages = Dosages(np.arange(40, dtype=np.uint16).reshape(4, 10)[:, ::2], np.ones(4, bool))
    kept = shelf.kept((*arrays, (dosages, 7)))
    shelf.forget()  # and read again
    assert [_mapped(array) is not None for array in kept[:4]] == [False, False, True, True]
    np.testing.assert_equal(kept[:4], arrays)
    found, seven = kept[4]
    assert seven == 7 and found is not dosages and found.swapped is dosages.swapped
    assert _mapped(found.values) is not None is _mapped(dosages.values)
    np.testing.assert_equal(found.values, dosages.values)
    assert shelf.kept(kept)[2] is kept[2]  # what lies there is not put there again
    files = [weakref.ref(_mapped(array)) for array in kept[2:4]]
    assert files[0]() is not files[1]()
    del kept
    gc.collect()
    assert files[0]() is None  # but the last file, which is not full


@pytest.mark.parametrize("seed", range(10))
def test_equal_names_are_in_one_part_and_every_row_is_in_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    narrow = random.integers(1000, size=500).astype("S4")
    wide = narrow.astype(f"S{random.integers(4, 40)}")
    parts, at_once = int(random.integers(1, 20)), int(random.integers(1, 100))
    one, other = (
        list(partition.members(partition.by_name(name, parts, at_once), parts, at_once))
        for name in (narrow, wide)
    )
    assert sorted(np.concatenate(one).tolist()) == list(range(500))
    for here, there in zip(one, other, strict=True):
        assert here.tolist() == there.tolist() == sorted(here.tolist())
    sets = [set(narrow[rows].tolist()) for rows in one]
    assert sum(map(len, sets)) == len(set(narrow.tolist()))


def test_parts_by_name_are_of_about_one_size() -> None:
    names = np.array([b"rs%d" % k for k in range(20_000)])
    sizes = [len(rows) for rows in partition.members(partition.by_name(names, 16), 16)]
    assert max(sizes) < 1.2 * 20_000 / 16


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_parts_is_that_of_the_whole(seed: int) -> None:
    random = np.random.default_rng(seed)
    m = int(random.integers(0, 300))
    chromosome = random.integers(0, random.integers(1, 6), m).astype(np.uint8)
    position = random.integers(0, random.integers(1, 100), m).astype(np.int32)
    name = random.integers(1, 50, m).astype("S3")
    alleles = np.zeros(m, np.uint8)
    panel = Panel(chromosome, position, name, (b"A",), alleles, alleles)
    parts = list(order_in_parts(panel, int(random.integers(1, 100))))
    assert np.concatenate(parts).tolist() == canonical_order(chromosome, position, name).tolist()
