"""Masks of pairs: they add up to nothing, and hide all but the sum of two from everybody else."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.errors import ProtocolError
from unpooled.protocol import codec, sealing
from unpooled.protocol.masking import Scheme, scheme
from unpooled.protocol.messages import Roster
from unpooled.protocol.pairs import Meeting, PairContext, Pairs, most_box_bytes
from unpooled.protocol.sealing import Box, SigningKey, member_key

LABELS = ["z32", "z64", "z128", "z256"]
WORDS = 40_000  # more than two blocks of a stream


class Met:
    """Cohorts with fixed keys and seeds, and their boxes."""

    def __init__(self, count: int) -> None:
        self.names = [f"cohort {k:02}" for k in range(count)]
        self.keys = {name: SigningKey(hashlib.sha256(f"key {name}".encode()).digest()) for name in self.names}
        self.seeds = {name: hashlib.sha256(f"seed {name}".encode()).digest() for name in self.names}
        roster = Roster(tuple((name, member_key(self.keys[name].both)) for name in self.names))
        self.sealing = {name: self.keys[name].sealing().public for name in self.names}
        self.meeting = Meeting("study", b"p" * 32, roster)
        self.boxes = {name: self.seal(name) for name in self.names}

    def seal(self, name: str) -> tuple[Box, ...]:
        return self.meeting.seal(name, self.seeds[name], self.keys[name], self.sealing)

    def open(self, name: str, boxes: Mapping[str, Any] | None = None) -> Pairs:
        addressed = self.meeting.addressed(name, boxes or self.boxes)
        return self.meeting.unseal(name, self.seeds[name], self.keys[name], addressed)

    def context(self, label: str = "z64", words: int = WORDS, **changes: Any) -> PairContext:
        roster = self.meeting.roster.hash()
        return replace(PairContext("study", b"p" * 32, roster, 3, b"q" * 32, label, words), **changes)


@pytest.fixture(scope="module")
def four() -> Met:
    return Met(4)


def total(kind: Scheme, vectors: list[np.ndarray]) -> np.ndarray:
    return functools.reduce(kind.add, vectors)


@pytest.mark.parametrize("count", [2, 3, 7, 20])
def test_the_masks_of_all_add_up_to_nothing(count: int) -> None:
    """The checks are numbers of 256 bits: added word by word they would not."""
    met = Met(count)
    pairs = {name: met.open(name) for name in met.names}
    assert len({each.witness for each in pairs.values()}) == 1
    for label in LABELS:
        kind = scheme(label)
        masks = [each.mask(met.context(label, 5_001)) for each in pairs.values()]
        assert all(mask.any() for mask in masks)
        assert not total(kind, masks).any()


@pytest.mark.parametrize("label", LABELS)
def test_a_colluding_server_and_all_cohorts_but_two_learn_the_sum_of_these(four: Met, label: str) -> None:
    """The masks of two cohorts, less all streams that others know, leave one uniform stream."""
    kind = scheme(label)
    context = four.context(label)
    left = []
    for name, known in (("cohort 00", four.names[2:]), ("cohort 01", four.names[2:])):
        mask = four.open(name).mask(context)
        for other in known:
            mask = kind.subtract(mask, stream(four, other, name, context, kind))
        left.append(mask)
    assert not total(kind, left).any()
    words = kind.to_bytes(left[0])[64:]
    bits = np.unpackbits(np.frombuffer(words, np.uint8)).mean()
    assert abs(bits - 0.5) < 5 * 0.5 / (8 * len(words)) ** 0.5


def stream(met: Met, colluder: str, victim: str, context: PairContext, kind: Scheme) -> np.ndarray:
    """Return what a colluding cohort knows that a victim adds: its own mask is made of such streams."""
    index = [name for name, _ in met.meeting.others(colluder)].index(victim)
    alone = met.open(colluder)
    one = Pairs(alone.witness, (alone.keys[index],)).mask(context)
    return kind.subtract(kind.zeros(context.words), one)


def test_the_mask_is_what_the_formula_says(four: Met) -> None:
    """Made here from HKDF and AES alone."""

    def derived(secret: bytes, *names: str) -> bytes:
        info = codec.encode((*names, "study", b"p" * 32, four.meeting.roster.hash()))
        return HKDF(SHA256(), length=32, salt=None, info=info).derive(secret)

    def part(of: str, to: str) -> bytes:
        return derived(four.seeds[of], "unpooled/pair/part/1", of, to)

    parts = [derived(four.seeds[name], "unpooled/pair/of-witness/1", name) for name in four.names]
    witness = derived(b"".join(parts), "unpooled/pair/witness/1")
    context, mask = four.context(), np.zeros(WORDS, np.uint64)
    cohort = four.names[1]
    for other in four.names:
        if other == cohort:
            continue
        first, second = sorted([cohort, other])
        both = part(first, second) + part(second, first) + witness
        pair = derived(both, "unpooled/pair/key/1", first, second)
        key = HKDF(SHA256(), length=32, salt=None, info=codec.encode(context)).derive(pair)
        zeros = bytes(8 * WORDS)
        words = np.frombuffer(
            Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(zeros), "<u8"
        )
        mask = mask + words if cohort == first else mask - words
    found = four.open(cohort)
    assert found.witness == witness
    assert np.array_equal(found.mask(context)[8:], mask[8:])  # the checks, 8 words, have carries


@pytest.mark.parametrize(
    "changes",
    [{"round": 4}, {"question": b"Q" * 32}, {"study": "studx"}, {"plan_hash": b"P" * 32}, {"version": 1}],
    ids=str,
)
def test_another_round_has_another_mask(four: Met, changes: dict[str, Any]) -> None:
    pairs = four.open("cohort 01")
    first, other = (pairs.mask(context) for context in (four.context(), four.context(**changes)))
    assert not (first == other).any()


def test_one_who_names_different_parts_of_the_witness_stops_the_round_and_learns_nothing(four: Met) -> None:
    """Server and liar know both witnesses. What is left of the two others' masks is uniform all the same."""
    liar, first, second = four.names[2], four.names[0], four.names[1]
    other = Met(4)
    other.seeds[liar] = bytes(32)
    boxes = dict(four.boxes)
    theirs = list(boxes[liar])
    theirs[1] = other.meeting.seal(liar, bytes(32), four.keys[liar], four.sealing)[1]  # to the second cohort
    boxes[liar] = tuple(theirs)
    one, two = four.open(first, boxes), four.open(second, boxes)
    assert one.witness != two.witness
    kind, context = scheme("z64"), four.context()
    left = []
    for pairs, name in ((one, first), (two, second)):
        index = [other for other, _ in four.meeting.others(name)].index(second if name == first else first)
        left.append(Pairs(pairs.witness, (pairs.keys[index],)).mask(context))
    rest = total(kind, left)
    assert rest.any()
    assert abs(np.unpackbits(rest.view(np.uint8)).mean() - 0.5) < 5 * 0.5 / (64 * WORDS) ** 0.5


def resigned(met: Met, box: Box, **changes: Any) -> Box:
    """The same sealed text under a signature of its cohort for another purpose."""
    purpose = met.meeting.purpose(box.cohort, "cohort 00")
    signed = codec.encode((sealing._INFO, replace(purpose, **changes), box.sealed))
    return replace(box, signature=met.keys[box.cohort].sign(signed))


def swapped(met: Met, boxes: list[Box]) -> list[Box]:
    return [boxes[1], boxes[0], boxes[2]]


def left_out(met: Met, boxes: list[Box]) -> list[Box]:
    return boxes[:2]


def for_another(met: Met, boxes: list[Box]) -> list[Box]:
    return [met.boxes["cohort 01"][1], *boxes[1:]]


def of_another_plan(met: Met, boxes: list[Box]) -> list[Box]:
    meeting, name = replace(met.meeting, plan_hash=b"P" * 32), "cohort 01"
    return [meeting.seal(name, met.seeds[name], met.keys[name], met.sealing)[0], *boxes[1:]]


def of_another_key(met: Met, boxes: list[Box]) -> list[Box]:
    stranger = SigningKey(bytes(32))
    return [met.meeting.seal("cohort 01", bytes(32), stranger, met.sealing)[0], *boxes[1:]]


def signed_anew(met: Met, boxes: list[Box]) -> list[Box]:
    """Sign for the recipient what was sealed for the third cohort: the seal itself says for whom it is."""
    return [resigned(met, met.boxes["cohort 01"][1]), *boxes[1:]]


def changed(met: Met, boxes: list[Box]) -> list[Box]:
    sealed = boxes[0].sealed[:-1] + bytes([boxes[0].sealed[-1] ^ 1])
    return [resigned(met, replace(boxes[0], sealed=sealed)), *boxes[1:]]


@pytest.mark.parametrize(
    "lie, said",
    [
        (swapped, "want one of each"),
        (left_out, "want one of each"),
        (for_another, "no valid signature"),
        (of_another_plan, "no valid signature"),
        (of_another_key, "no valid signature"),
        (signed_anew, "does not open|sealed for something else"),
        (changed, "does not open"),
    ],
)
def test_other_boxes_are_refused(four: Met, lie: Any, said: str) -> None:
    name = "cohort 00"
    boxes = list(four.meeting.addressed(name, four.boxes))
    with pytest.raises(ProtocolError, match=said):
        four.meeting.unseal(name, four.seeds[name], four.keys[name], lie(four, boxes))


def test_the_server_takes_boxes_for_all_others_only(four: Met) -> None:
    name = "cohort 03"
    key, boxes = member_key(four.keys[name].both), four.boxes[name]
    four.meeting.verify(name, key, boxes)
    for wrong in (boxes[:2], boxes[::-1], four.boxes["cohort 02"]):
        with pytest.raises(ProtocolError):
            four.meeting.verify(name, key, wrong)


def test_the_roster_binds_sealing_keys(four: Met) -> None:
    name, stranger = "cohort 00", SigningKey(bytes(32)).sealing().public
    for wrong in (four.sealing | {"cohort 02": stranger}, four.sealing | {"cohort 02": b""}, {}):
        with pytest.raises(ProtocolError, match="is not the one in the roster"):
            four.meeting.seal(name, four.seeds[name], four.keys[name], wrong)
    signing = Roster(tuple((each, four.keys[each].public) for each in four.names))
    assert signing.hash() != four.meeting.roster.hash()
    with pytest.raises(ProtocolError, match="is not the one in the roster"):
        replace(four.meeting, roster=signing).seal(name, bytes(32), four.keys[name], four.sealing)


def test_nothing_secret_is_printed_and_no_box_is_longer_than_foreseen(four: Met) -> None:
    pairs = four.open("cohort 00")
    assert pairs.witness.hex() not in repr(pairs)
    assert [field.name for field in dataclasses.fields(pairs) if field.repr] == []
    assert all(len(box.sealed) <= most_box_bytes() for boxes in four.boxes.values() for box in boxes)


def test_normal_masks_have_no_pairs(four: Met) -> None:
    with pytest.raises(ProtocolError, match="want uniform"):
        four.open("cohort 00").mask(four.context("normal:1000000.0"))
