"""The panel: its canonical form, how cohorts' lists are reconciled, and how a cohort finds itself in it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.alleles import agree, capital, complement, strand
from unpooled.errors import ProtocolError
from unpooled.panel import Panel, align, reconcile

PAIRS = [(b"A", b"C"), (b"A", b"G"), (b"A", b"T"), (b"C", b"G"), (b"C", b"T"), (b"G", b"T")]
SINGLES = [(b"0", allele) for allele in (b"A", b"C", b"G", b"T")]
ODD = [(b"0", b"0"), (b"A", b"ACT"), (b"0", b"ACT"), (b"-", b"A")]
pairs = st.sampled_from(PAIRS + SINGLES + ODD)


def one(pair: tuple[bytes, bytes], name: bytes = b"rs1", position: int = 10, chromosome: int = 1) -> Panel:
    return Panel.of([(chromosome, position, name, *pair)])


def remarks(*panels: Panel) -> list[tuple[str, bool]]:
    agreement = reconcile({f"cohort {k}": panel for k, panel in enumerate(panels)})
    return [(remark.text, remark.kept) for remark in agreement.remarks]


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


def test_canonical_text_comes_back() -> None:
    panel = Panel.of([(1, 10, b"rs1", b"C", b"A"), (23, 0, b"x", b"0", b"ACGT")])
    assert panel.canonical == b"1\t10\trs1\tA\tC\n23\t0\tx\t0\tACGT\n"
    again = Panel.from_canonical(panel.canonical)
    assert again.canonical == panel.canonical and again.digest == panel.digest
    assert len(Panel.from_canonical(b"")) == 0


def test_a_long_list_is_read_and_written_in_blocks() -> None:
    lines = [b"1\t%d\t%b%d\t%b\n" % (k, b"rs" * (k // 30_000), k, pair) for k, pair in enumerate(_pairs())]
    panel = Panel.from_canonical(b"".join(lines))
    assert panel.canonical == b"".join(lines) and len(panel) == len(lines)
    assert panel.take(np.arange(len(panel))).digest == panel.digest  # worked out again
    lines[-2] = lines[-2].replace(b"1\t", b"01\t", 1)
    with pytest.raises(ProtocolError, match=f"line {len(lines) - 1}, word 1"):
        Panel.from_canonical(b"".join(lines))


def _pairs() -> list[bytes]:
    """Of 70,000 variants; an allele that comes late in the list is among them."""
    return [b"A\tC"] * 69_000 + [b"A\tCT"] * 1_000


@pytest.mark.parametrize(
    "text",
    [
        b"1\t10\trs1\tA\tC",  # no line end
        b"1 10\trs1\tA\tC\n",
        b"1\t10\trs1\tA\n",
        b"1\t10\trs1\tA\tC\tG\n",
        b"\n1\t10\trs1\tA\tC\n",
        b"01\t10\trs1\tA\tC\n",
        b"1\t+10\trs1\tA\tC\n",
        b"1\t-1\trs1\tA\tC\n",
        b"1\t99999999999\trs1\tA\tC\n",
        b"300\t1\trs1\tA\tC\n",
        b"X\t10\trs1\tA\tC\n",
        b"1\t10\trs1\tC\tA\n",
        b"1\t10\trs2\tA\tC\n1\t10\trs1\tA\tC\n",
        b"1\t10\trs1\tA\t\tC\n",
        b"\x00" * 40,
    ],
)
def test_any_other_text_is_refused(text: bytes) -> None:
    with pytest.raises(ProtocolError):
        Panel.from_canonical(text)


@given(st.binary(max_size=60))
def test_hostile_bytes_are_a_panel_or_refused(data: bytes) -> None:
    try:
        panel = Panel.from_canonical(data)
    except ProtocolError:
        return
    assert panel.canonical == data


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
    agreement = reconcile({"a": a, "b": b, "c": c, "d": d})
    assert agreement.panel.name.tolist() == [b"good"]
    assert agreement.table().decode().splitlines()[1:] == [
        "1\t2\ttwice\tleft out\tID appears more than once at a",
        "1\t3\t.\tleft out\thas no ID: name it, e.g. with plink2 --set-missing-var-ids @:#",
        "1\t4\tmoved\tleft out\tabsent at a",
        "1\t6\todd\tleft out\tabsent at a",
    ]
    agreement = reconcile({"b": b, "c": c, "d": d})
    assert [line.split("\t", 2)[2] for line in agreement.table().decode().splitlines()[1:]] == [
        "twice\tleft out\tabsent at d",
        "moved\tleft out\tis at different positions: 1:4, 1:5",
        "odd\tleft out\talleles cannot be reconciled: A/C at b, A/G at c, A/C at d",
    ]


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


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), pairs), max_size=6), min_size=3, max_size=3))
def test_reconciling_does_not_depend_on_the_order_of_cohorts(
    cohorts: list[list[tuple[int, tuple[bytes, bytes]]]],
) -> None:
    panels = [Panel.of([(1, k, b"rs%d" % k, *pair) for k, pair in rows]) for rows in cohorts]
    names = ["a", "b", "c"]
    results = {
        (agreement.panel.canonical, agreement.table())
        for order in itertools.permutations(range(3))
        for agreement in [reconcile({names[k]: panels[k] for k in order})]
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
