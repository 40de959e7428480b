"""Shares under threshold CKKS: their sum is exact, and a cohort helps to read no other sum."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.plinks import needed
from unpooled.errors import ProtocolError
from unpooled.protocol.encrypted import carrier, worker
from unpooled.protocol.encrypted.carrier import Encrypting, Key
from unpooled.protocol.masking import scheme
from unpooled.protocol.messages import Roster
from unpooled.protocol.pairs import KEY_PART_BYTES, Meeting, PairContext
from unpooled.protocol.sealing import SIGNATURE_BYTES, SigningKey, member_key


class Three:
    """Cohorts with keys, and their uploads of random shares."""

    def __init__(self, label: str, words: int) -> None:
        self.signers = [SigningKey.generate() for _ in range(3)]
        names = [f"cohort {k}" for k in range(3)]
        keys = (member_key(signer.both) for signer in self.signers)
        self.meeting = Meeting("study", b"p" * 32, Roster(tuple(zip(names, keys, strict=True))))
        made = [Key.generate(self.meeting) for _ in names]
        self.parts = [key.part for key in made]
        self.ends = [
            Encrypting(self.meeting, name, signer, key.secret, self.parts)
            for name, signer, key in zip(names, self.signers, made, strict=True)
        ]
        roster = self.meeting.roster.hash()
        self.context = PairContext("study", b"p" * 32, roster, 3, b"q" * 32, label, words)
        kind = scheme(label)
        self.shares = [kind.from_bytes(os.urandom(kind.stream_bytes(words)), words) for _ in names]
        self.uploads = [
            end.upload(kind.to_bytes(share), self.context)
            for end, share in zip(self.ends, self.shares, strict=True)
        ]


@pytest.fixture(scope="module")
def three() -> Three:
    needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    return Three("z32", 100)


@pytest.mark.parametrize(("label", "words"), [("z32", 5000), ("z64", 300), ("z128", 100), ("z256", 60)])
def test_the_sum_has_every_bit(label: str, words: int, three: Three) -> None:
    """Words are uniform, so sums carry and wrap; 5,000 take more than a ciphertext."""
    found, kind = Three(label, words), scheme(label)
    assert all(len(part) == KEY_PART_BYTES for part in found.parts)
    assert all(len(upload) == carrier.upload_bytes(label, words) for upload in found.uploads)
    helps = [end.help(found.uploads, found.context) for end in found.ends]
    assert all(len(each) == carrier.help_bytes(label, words) for each in helps)
    total = carrier.total(helps, label, words)
    assert kind.to_bytes(total) == kind.to_bytes(functools.reduce(kind.add, found.shares))


def test_without_the_help_of_one_nothing_is_read(three: Three) -> None:
    helps = [end.help(three.uploads, three.context) for end in three.ends]
    for others in (helps[:2], helps[1:], [*helps[:2], helps[1]]):
        with pytest.raises(ProtocolError, match="from a whole number"):
            carrier.total(others, "z32", 100)


def one_three_times(uploads: Sequence[bytes]) -> Sequence[bytes]:
    return [uploads[0]] * 3


def swapped(uploads: Sequence[bytes]) -> Sequence[bytes]:
    return [uploads[1], uploads[0], uploads[2]]


def one_alone(uploads: Sequence[bytes]) -> Sequence[bytes]:
    return uploads[:1]


def changed(uploads: Sequence[bytes]) -> Sequence[bytes]:
    return [*uploads[:2], uploads[2][:-9] + bytes([uploads[2][-9] ^ 1]) + uploads[2][-8:]]


def emptied(uploads: Sequence[bytes]) -> Sequence[bytes]:
    """Encryptions of nothing in place of two cohorts' would leave the third one's numbers."""
    return [
        uploads[0],
        *(each[:SIGNATURE_BYTES] + bytes(len(each) - SIGNATURE_BYTES) for each in uploads[1:]),
    ]


@pytest.mark.parametrize("lie", [one_three_times, swapped, one_alone, changed, emptied])
def test_no_other_sum_is_helped_with(lie: Callable[[Sequence[bytes]], Sequence[bytes]], three: Three) -> None:
    with pytest.raises(ProtocolError, match=r"is not what it signed|want one of each"):
        three.ends[0].help(lie(three.uploads), three.context)


def test_uploads_of_another_round_are_not_helped_with(three: Three) -> None:
    with pytest.raises(ProtocolError, match="in round 4 is not what it signed"):
        three.ends[0].help(three.uploads, replace(three.context, round=4))


def test_what_is_no_ciphertext_is_refused_although_it_is_signed(three: Three) -> None:
    data = b"\xff" * (len(three.uploads[2]) - SIGNATURE_BYTES)
    signed = three.signers[2].sign(carrier._signed(three.context, "cohort 2", data)) + data
    with pytest.raises(ProtocolError, match="a number is not below its modulus"):
        three.ends[0].help([*three.uploads[:2], signed], three.context)


def test_a_part_of_a_key_that_its_cohort_did_not_seal_is_refused(three: Three) -> None:
    """The server could read by parts of its own what is encrypted."""
    meeting, names = three.meeting, [end.cohort for end in three.ends]
    keys = {name: signer.sealing().public for name, signer in zip(names, three.signers, strict=True)}
    sealed = {
        name: meeting.seal(name, bytes(32), signer, keys, part)
        for name, signer, part in zip(names, three.signers, three.parts, strict=True)
    }
    boxes = meeting.addressed(names[0], sealed)
    meeting.unseal(names[0], bytes(32), three.signers[0], boxes, three.parts)
    for parts in ([three.parts[0], three.parts[2], three.parts[1]], three.parts[:2], []):
        with pytest.raises(ProtocolError, match=r"is not what it signed|want one of each"):
            meeting.unseal(names[0], bytes(32), three.signers[0], boxes, parts)


def test_an_interpreter_without_openfhe_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in [("", "name an interpreter"), ("/nowhere/python", "No such file"), ("/bin/false", "")]:
        monkeypatch.setenv(worker.SETTING, name)
        assert said in worker.problem() and worker.SETTING in worker.problem()
        assert "\n" not in worker.problem()
