"""The panel: how cohorts' lists are reconciled, and how a cohort finds itself in it."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled import agreement, list_form
from unpooled.agreement import TABLE_HEADER, align, reconcile, reconciled
from unpooled.alleles import agree, capital, complement, strand
from unpooled.panel import Panel

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
    assert list_form.measured([part.panel for part in parts])[0] == found.panel.digest


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
    assert list_form.measured([part.panel for part in parts])[0] == whole.panel.digest
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
