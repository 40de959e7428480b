"""The library against the known answers in vectors/, which a second implementation made (vectors/make.py)."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.asking.share_check import check_of, second_check_of
from unpooled.plan.plan import Plan
from unpooled.protocol import codec, codes, fixed_point, masking, messages, oprf, sealing, two_party, witness
from unpooled.protocol.codes import Blinding
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.masking import ComparedContext, MaskContext
from unpooled.protocol.pairs import Meeting, PairContext, PairPurpose
from unpooled.protocol.ring import Ring
from unpooled.protocol.sealing import Purpose, SealingKey, SigningKey
from unpooled.protocol.showing import Transcript, replayed, require_third_check
from unpooled.protocol.witness import Witnessed

FOLDER = Path(__file__).parent / "vectors"
CONTEXTS = (MaskContext, ComparedContext, DealingContext, PairContext)
RECORDS: dict[str, Any] = {
    kind.name: kind for kind in (*messages.RECORDS, Purpose, PairPurpose, *CONTEXTS, Plan)
}
DTYPES = {"?": "?", "B": "<u1", "I": "<u4", "Q": "<u8", "l": "<i4", "q": "<i8", "d": "<f8"}


def load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def built(typed: dict[str, Any]) -> Any:
    """The Python value that a typed JSON value describes."""
    if "record" in typed:
        fields = {name: built(field) for name, field in typed["fields"].items()}
        return RECORDS[typed["record"]](**fields)
    ((kind, value),) = typed.items()
    if kind == "tuple":
        return tuple(built(item) for item in value)
    if kind == "array":
        data = np.frombuffer(bytes.fromhex(value["data"]), DTYPES[value["code"]])
        return data.reshape(value["shape"])
    if kind == "int":
        return int(value)
    if kind == "float":
        return float.fromhex(value)
    return bytes.fromhex(value) if kind == "bytes" else value


@pytest.mark.parametrize("name", ["values.json", "messages.json"])
def test_encodings(name: str) -> None:
    for case in load(name):
        value, encoding = built(case["value"]), bytes.fromhex(case["encoding"])
        assert codec.encode(value) == encoding, case["value"]
        decoded = codec.decode(encoding, RECORDS.values())
        assert type(decoded) is type(value)
        assert codec.encode(decoded) == encoding
        if isinstance(value, np.ndarray):
            assert decoded.shape == value.shape and decoded.dtype == value.dtype
        else:
            assert decoded == value


def test_each_kind_of_message_has_a_vector() -> None:
    assert {case["value"]["record"] for case in load("messages.json")} == set(RECORDS) - {"unpooled/plan"}


def test_fixed_point() -> None:
    for case in load("fixed_point.json"):
        real, ring = float.fromhex(case["real"]), Ring(case["ring"])
        vector = fixed_point.encode_reals(np.array([real]), case["fraction_bits"], ring)
        assert ring.to_bytes(vector).hex() == case["word"], case


def test_masks() -> None:
    for case in load("masks.json"):
        seed, context = bytes.fromhex(case["seed"]), built(case["context"])
        got = masking.mask(seed, context)
        if "mask" in case:
            assert masking.scheme(context.scheme).to_bytes(got).hex() == case["mask"]
        else:  # the mathematical library may differ in the last bit
            np.testing.assert_allclose(got, [float.fromhex(x) for x in case["normals"]], rtol=1e-14)


def test_checks() -> None:
    for case in load("checks.json"):
        kind, words = masking.Modular(Ring(case["ring"])), len(case["numbers"])
        numbers = b"".join(
            (int(text) % 2 ** case["ring"]).to_bytes(kind.word_bytes, "little") for text in case["numbers"]
        )
        share = np.concatenate([kind.zeros(kind.check_words), kind.from_bytes(numbers, words)])
        witnessed = Witnessed(
            bytes.fromhex(case["witness"]), case["round"], bytes.fromhex(case["question"]), case["padded"]
        )
        first = check_of(share, kind, bytes.fromhex(case["salt"]))
        kind.set_checks(share, first, second_check_of(share, kind, witnessed, padded=witnessed.adds_pad))
        assert kind.to_bytes(share).hex() == case["share"], case


def test_a_comparison() -> None:
    """Dealing, every message of both parties, and the bits: two counts, and the 64 that are known."""
    known = load("comparison.json")
    context, kind = built(known["context"]), masking.scheme("z32")
    dealing = two_party.deal(bytes.fromhex(known["seed"]), bytes.fromhex(known["own"]), context)
    assert dealing.hex() == known["dealing"]
    total, masks = (kind.from_bytes(bytes.fromhex(known[name]), context.words) for name in ("total", "masks"))
    shuffle = bytes.fromhex(known["shuffle"])
    server = two_party.server_side(total, 3, dealing, shuffle, context)
    secret, uploads = bytes.fromhex(known["witness"]), built(known["uploads"])
    transcript = Transcript(secret, context.opening(uploads, shuffle))
    seed = bytes.fromhex(known["seed"])
    compensator = two_party.compensator_side(masks, seed, shuffle, context, transcript)
    next(compensator)
    message = next(server)
    for sent, answered in zip(known["server"], known["compensator"], strict=True):
        assert message.hex() == sent
        answer = compensator.send(message)
        assert answer.hex() == answered
        try:
            message = server.send(answer)
        except StopIteration as end:
            assert end.value[:, 0].tolist() == known["bits"][:2] == [True, False]
    assert known["bits"][2:] == [True, False] * 32
    dealt = {context.dealer: hashlib.sha256(dealing).digest()}
    shown = [(context.upload(*upload), dealt.get(upload[0], b"")) for upload in uploads]
    require_third_check(total, secret, shown)
    again = two_party.server_side(total, 3, dealing, shuffle, context)
    answers = [bytes.fromhex(answer) for answer in known["compensator"]]
    bits = replayed(again, answers, Transcript(secret, context.opening(uploads, shuffle)))
    assert bits[:, 0].tolist() == [True, False]


def test_digests() -> None:
    known = load("digests.json")
    asked = known["question"]
    question = masking.question(bytes.fromhex(asked["salt"]), bytes.fromhex(asked["question"]))
    assert question.hex() == asked["digest"]
    assert built(known["roster"]["value"]).hash().hex() == known["roster"]["digest"]
    assert built(known["plan"]["value"]).hash().hex() == known["plan"]["digest"]
    shown = known["fingerprint"]
    assert sealing.fingerprint(bytes.fromhex(shown["key"])) == shown["text"]


def test_boxes() -> None:
    """Opening a box that another HPKE sealed, and signing it with the same signature."""
    for case in load("boxes.json"):
        purpose, box = built(case["purpose"]), built(case["box"])
        signer = SigningKey(bytes.fromhex(case["signer_private"]))
        compensator = SealingKey(bytes.fromhex(case["compensator_private"]))
        assert signer.public.hex() == case["signer_public"]
        assert compensator.public == purpose.compensator_key
        sealing.verify_box(box, purpose, signer.public)
        assert sealing.open_box(box, purpose, signer.public, compensator).hex() == case["seed"]
        assert signer.sign(codec.encode((sealing._INFO, purpose, box.sealed))) == box.signature


def test_witnesses() -> None:
    for case in load("witness.json"):
        purpose, seeds = built(case["purpose"]), [bytes.fromhex(seed) for seed in case["seeds"]]
        keys = bytes.fromhex(case["code_keys"])
        made = witness.make(seeds, purpose.study, purpose.plan_hash, purpose.roster_hash, keys)
        assert made.hex() == case["witness"]
        seed = bytes.fromhex(case["seed"])
        assert witness.seal(made, seed, purpose, keys).hex() == case["sealed"]
        assert witness.unsealed(bytes.fromhex(case["sealed"]), seed, purpose, keys) == made


def test_pairs() -> None:
    for case in load("pairs.json"):
        roster, boxes = built(case["roster"]), [built(box) for box in case["boxes"]]
        signer = SigningKey(bytes.fromhex(case["signer_private"]))
        assert dict(roster.members)[case["cohort"]] == sealing.member_key(signer.both)
        meeting = Meeting(case["study"], bytes.fromhex(case["plan_hash"]), roster)
        pairs = meeting.unseal(case["cohort"], bytes.fromhex(case["seed"]), signer, boxes)
        assert pairs.witness.hex() == case["witness"]
        for named in case["masks"]:
            context = built(named["context"])
            got = masking.scheme(context.scheme).to_bytes(pairs.mask(context))
            assert got.hex() == named["mask"], context.scheme


def test_codes() -> None:
    """Points, both answers and codes of two words, as plain numbers make them."""
    known = load("codes.json")
    octets = {name: bytes.fromhex(known[name]) for name in ("secret", "server_key", "seed", "code_keys")}
    purpose = built(known["purpose"])
    own = Blinding(octets["secret"], known["title"], known["words"], known["most"])
    points = own.points()
    assert points.hex() == known["points"]
    about = messages.signed_points(purpose, known["column"], points)
    first = codes.answered(octets["server_key"], about, points)
    key = codes.compensator_key([bytes.fromhex(seed) for seed in known["seeds"]], purpose.study)
    parts = first + codes.answered(key, about, first[: len(points)])
    answer = parts + codes.tagged(octets["seed"], about, parts)
    assert answer.hex() == known["answer"]
    assert oprf.public_key(octets["server_key"]) + oprf.public_key(key) == octets["code_keys"]
    multiplied = codes.checked(octets["seed"], octets["code_keys"], about, points, answer)
    assert [str(code) for code in own.codes(multiplied, codes.MOST_BITS)] == known["codes"]


def test_the_files_are_what_the_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    made = runpy.run_path(str(FOLDER / "make.py"))["files"]()
    assert set(made) == {path.name for path in FOLDER.glob("*.json")}
    for name, content in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == content, f"run {FOLDER / 'make.py'}"
