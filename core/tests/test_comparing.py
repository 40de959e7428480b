"""Sums that are compared and not read: the circuits, what each party sees, and all that is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from asking import still_grows
from comparing_parties import COHORTS, OWN, SEED, Comparison, View, compute, words_of
from scipy import stats

from unpooled.errors import ProtocolError
from unpooled.protocol import fixed_point, masking, two_party
from unpooled.protocol.circuits import AtLeast, BothAtLeast, Grows, circuit
from unpooled.protocol.dealing import dealer_of
from unpooled.protocol.gates import Bits, Dealt, planes_from, planes_to_bits
from unpooled.protocol.masking import THIRD_WORDS, ComparedContext, Gaussian, MaskContext, Modular
from unpooled.protocol.messages import Roster
from unpooled.protocol.ring import Ring
from unpooled.protocol.two_party import WrongDealing

EDGES = [0, 1, -1, 2, -2, 63, 64, -64, -65]


def numbers_for(bits: int, count: int) -> list[int]:
    """Numbers of every size, and the edges of the ring."""
    random = np.random.default_rng(bits)
    sizes = [int(random.integers(0, 2**62)) >> int(random.integers(0, 62)) for _ in range(count)]
    signed = [size * int(random.choice([-1, 1])) % 2 ** (bits - 1) for size in sizes]
    limits = [2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits - 2), -(2 ** (bits - 2)) - 1]
    return [n if k % 2 else -n for k, n in enumerate(signed)] + EDGES + limits


# The circuits


def test_every_split_of_every_number_of_8_bits() -> None:
    """Each of 256 numbers as each of 256 pairs of shares: the whole of `at-least`."""
    ring = Ring(8)
    shares, numbers = np.divmod(np.arange(2**16), 256)
    found = AtLeast(ring)
    server, compensator = compute(found, numbers.astype(np.uint8), found.dealt(2**16), 1)
    bits = planes_to_bits(server.own ^ compensator.own, 2**16)[0]
    assert np.array_equal(bits, numbers.astype(np.uint8).view(np.int8) >= 0)
    pairs = np.unique(256 * numbers + server.share)
    assert len(pairs) > 0.6 * 2**16  # random shares: most of all pairs are met
    assert shares.max() == 255


def test_every_pair_of_numbers_of_8_bits() -> None:
    first, second = np.divmod(np.arange(2**16), 256)
    words = np.concatenate([first, second]).astype(np.uint8)
    found = BothAtLeast(Ring(8))
    server, compensator = compute(found, words, found.dealt(2**16), 2)
    bits = planes_to_bits(server.own ^ compensator.own, 2**16)[0]
    assert np.array_equal(bits, (first < 128) & (second < 128))


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
@pytest.mark.parametrize("count", [1, 50, 64, 65, 3000])
def test_comparisons_through_all_messages(bits: int, count: int) -> None:
    numbers = numbers_for(bits, count)[-count - 13 :]
    one = Comparison("at-least", f"z{bits}", words_of(Ring(bits), numbers))
    assert np.array_equal(one.run()[:, 0], [n >= 0 for n in numbers])
    half = len(numbers) // 2
    two = Comparison("both-at-least", f"z{bits}", words_of(Ring(bits), numbers[: 2 * half]))
    want = [a >= 0 and b >= 0 for a, b in zip(numbers[:half], numbers[half : 2 * half], strict=True)]
    assert np.array_equal(two.run()[:, 0], want)


def sums_to_grow(rows: int, steps: int, seed: int) -> list[np.ndarray]:
    """o, g, q, s and p of real columns: of each sign, and some with a variance that is rounding."""
    random = np.random.default_rng(seed)
    values = random.normal(random.uniform(-1, 1, (rows, 1, 1)), 0.3, (rows, steps, 40)).clip(-1, 1)
    slopes = (values * random.uniform(-1, 1, (rows, steps, 1)) + random.normal(0, 0.1, values.shape)).clip(
        -1, 1
    )
    flat = random.random((rows, steps)) < 0.1
    values[flat] = values[flat, :1] + 1e-7 * random.normal(size=(flat.sum(), 40))
    offset = random.uniform(-0.3, 0.3, rows)
    offset[::7] = 0
    return [offset, values.mean(2), (values**2).mean(2), slopes.mean(2), (values * slopes).mean(2)]


def words_to_grow(sums: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([fixed_point.encode_reals(array, 80, Ring(256)) for array in sums])


@pytest.mark.parametrize(("rows", "steps"), [(1, 1), (1, 15), (30, 15), (70, 1), (130, 15), (5, 4)])
def test_how_far_it_grows_is_what_fractions_say(rows: int, steps: int) -> None:
    sums = sums_to_grow(rows, steps, rows)
    found = Comparison(f"grows:{steps}", "z256", words_to_grow(sums)).run()
    want = still_grows(*sums)
    assert np.array_equal(found.reshape(want.shape), want)
    if rows > 1:
        assert 0 < want[:, 0].mean() < 1


def test_a_tie_grows_and_no_variance_is_not_known() -> None:
    quarter = np.full((3, 1), 0.25)
    sums = [np.zeros(3), quarter, np.array([[0.25], [0.0625], [0.0625 + 2.0**-36]]), quarter, quarter / 4]
    assert Comparison("grows:1", "z256", words_to_grow(sums)).run().tolist() == [
        [True, True],
        [False, False],
        [False, False],
    ]


def test_mpyc_agrees() -> None:
    """All bits are compared, each for itself and not ANDed: MPyC's secure integers, here with one party."""
    runtime = pytest.importorskip("mpyc.runtime").mpc
    sums = sums_to_grow(30, 1, 3)
    secure = runtime.SecInt(260)

    def bits(*numbers: float) -> list[Any]:
        o, g, q, s, p = (secure(round(x * 2.0**80)) for x in numbers)
        variance, covariance = q * 2**80 - g * g, p * 2**80 - g * s
        known = variance > q * 2**50
        return [known, known * (o * variance >= covariance * 2**80)]

    async def opened() -> list[list[int]]:
        columns = [array.ravel().tolist() for array in sums]
        return [[int(bit) for bit in await runtime.output(bits(*row))] for row in zip(*columns, strict=True)]

    want = np.array(runtime.run(opened()), bool)
    assert np.array_equal(Comparison("grows:1", "z256", words_to_grow(sums)).run(), want)
    assert want.any(axis=0).all() and not want.all(axis=0).any()


# What a party sees


def seen(view: View, layers: list[Dealt], with_own_bit: bool) -> np.ndarray:
    """A party's view of each row of `at-least` at 8 bits, as bits: (bits, rows).

    With what follows from it: the number that is opened, and of the server its share of the bit.
    """
    rows = len(view.share)
    parts = [np.unpackbits(view.share.view(np.uint8)[:, None], axis=1).T]
    for layer, (free, bound), opened in zip(layers, view.dealt, view.opened, strict=True):
        if isinstance(layer, Bits):
            for data in (free, opened):
                parts.append(np.unpackbits(np.frombuffer(data, np.uint8)[:, None], axis=1).T)
            parts.append(planes_to_bits(layer.read_planes(bound), rows))
            number = view.share + layer.read(free) + layer.read(opened)
            parts.append(np.unpackbits(number[:, None], axis=1).T)
        else:
            for data in (free, bound, opened):
                planes = planes_from(data, len(data) // (rows // 8), rows)
                parts.append(planes_to_bits(planes, rows))
    if with_own_bit:
        parts += [planes_to_bits(planes, rows) for planes in (planes_from(view.told, 1, rows), view.own)]
    return np.concatenate(parts)


ROWS = 2**15


def views_of(number: int, leaky: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what server and compensator see of rows of one number."""
    found = AtLeast(Ring(8))
    layers = found.dealt(ROWS)
    if leaky:
        layers = [_Leaky(layers[0].ring, layers[0].words), *layers[1:]]  # type: ignore[attr-defined]
    server, compensator = compute(found, np.full(ROWS, number % 256, np.uint8), layers, seed)
    return seen(server, layers, True), seen(compensator, layers, False)


class _Leaky(Bits):
    """Deals masks that are even: the lowest bit of a number is opened as it is."""

    def read(self, data: bytes) -> np.ndarray:
        return super().read(data) & ~np.uint8(1)


def differs(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two views differ in distribution, by a chi-square test of each pair of bits."""
    counts = np.array([view.astype(np.float32) @ view.astype(np.float32).T for view in (one, other)], float)
    i, j = np.triu_indices(len(one), 1)
    both, first, second = counts[:, i, j], counts[:, i, i], counts[:, j, j]  # in how many rows they are 1
    table = np.array([both, first - both, second - both, ROWS - first - second + both])
    expected = table.mean(axis=1, keepdims=True)
    apart = np.divide((table - expected) ** 2, expected, out=np.zeros_like(table), where=expected > 0)
    freedom = np.count_nonzero(expected[:, 0] > 0, axis=0) - 1
    p = stats.chi2.sf(apart.sum(axis=(0, 1))[freedom > 0], freedom[freedom > 0])
    return bool(p.min() * len(p) < 1e-3)


@pytest.mark.parametrize(("one", "other"), [(0, 127), (1, 64), (-1, -128), (5, 6)])
def test_views_of_numbers_with_one_bit_are_equally_distributed(one: int, other: int) -> None:
    first, second = views_of(one, False, 10), views_of(other, False, 11)
    assert not differs(first[0], second[0]) and not differs(first[1], second[1])


def test_the_compensator_sees_nothing_of_the_bit_either() -> None:
    assert not differs(views_of(5, False, 12)[1], views_of(-5, False, 13)[1])
    assert differs(views_of(5, False, 12)[0], views_of(-5, False, 13)[0])  # whom it is told


def test_the_same_test_finds_a_leak() -> None:
    first, second = views_of(5, True, 10), views_of(6, True, 11)
    assert differs(first[0], second[0]) and differs(first[1], second[1])


def test_a_simulator_that_knows_the_bits_alone_makes_the_servers_view() -> None:
    """Share, dealing and openings are drawn; the last message is the bit and the own share together."""
    found, random = AtLeast(Ring(8)), np.random.default_rng(1)
    for bit in (False, True):
        layers = found.dealt(ROWS)
        number = 77 if bit else -77
        real = views_of(number, False, 14)[0]
        halves = [(random.bytes(layer.free_bytes), random.bytes(layer.bound_bytes)) for layer in layers]
        share, opened = np.frombuffer(random.bytes(ROWS), np.uint8), []
        party = found.shares(two_party.Party(two_party.Side.SERVER, layers, halves), share)
        next(party)
        while True:
            opened.append(random.bytes(layers[len(opened)].opening_bytes))
            try:
                party.send(opened[-1])
            except StopIteration as end:
                own = end.value
                break
        told = own ^ planes_from(b"\xff" * (ROWS // 8) if bit else bytes(ROWS // 8), 1, ROWS)
        view = View(share, halves, opened, told.tobytes(), own)
        assert not differs(seen(view, layers, True), real)


# What is refused


def min_max_counts() -> Comparison:
    return Comparison("at-least", "z32", words_of(Ring(32), numbers_for(32, 300)))


def test_every_message_that_is_cut_lengthened_or_emptied_is_refused() -> None:
    refused = 0
    floors = Comparison("both-at-least", "z32", words_of(Ring(32), numbers_for(32, 300)[:200]))
    grows = Comparison("grows:2", "z256", words_to_grow(sums_to_grow(3, 2, 1)))
    for one in (min_max_counts(), floors, grows):
        one.run()
        for number in range(len(one.sent)):
            for change in (
                lambda m: m[:-1],
                lambda m: m + b"\0",
                lambda m: b"",
                lambda m: m[1:],
                lambda m: m + m,
            ):
                with pytest.raises(ProtocolError, match="wrong length"):
                    one.run(change={number: change})
                refused += 1
    assert refused > 100


@pytest.mark.parametrize("dealt", [b"", b"x", bytes(10_000)])
def test_a_dealing_of_another_length_is_refused(dealt: bytes) -> None:
    one = min_max_counts()
    with pytest.raises(ProtocolError, match="wrong length"):
        next(two_party.server_side(one.total, COHORTS, dealt, one.shuffle, one.context))


def test_what_is_dealt_wrong_names_the_dealer() -> None:
    one = min_max_counts()
    good = one.dealt()
    for dealt in (good[:32] + bytes(len(good) - 32), bytes(32) + good[32:]):
        with pytest.raises(WrongDealing, match="what Graz dealt") as caught:
            min_max_counts().run(dealt)
        assert caught.value.dealer == "Graz"
    with pytest.raises(WrongDealing):  # for another round, though with the same seeds
        one.run(two_party.deal(SEED, OWN, dataclasses.replace(one.context, round=8)))


@pytest.mark.parametrize("number", range(1, 6, 2))
def test_what_a_compensator_answers_wrong_is_found(number: int) -> None:
    one = min_max_counts()

    def flipped(message: bytes) -> bytes:
        return bytes(byte ^ 0xA5 for byte in message)

    reason = {1: "do not cancel", 3: "dealt twice differ", 5: "known came out wrong"}[number]
    with pytest.raises(ProtocolError, match=reason):
        one.run(change={number: flipped})


@pytest.mark.parametrize("number", range(1, 6, 2))
@pytest.mark.parametrize("of", ["another comparison", "another turn"])
def test_answers_in_another_order_are_found(number: int, of: str) -> None:
    one, other = min_max_counts(), dataclasses.replace(min_max_counts(), dealer="Munich")
    one.run()
    other.run()
    turn = {1: 3, 3: 5, 5: 3}[number]
    sent = other.sent[number] if of == "another comparison" else one.sent[turn]
    reason = "wrong length" if len(sent) != len(one.sent[number]) else "do not cancel|is not right"
    with pytest.raises(ProtocolError, match=reason):
        one.run(change={number: lambda _: sent})


def test_the_check_is_made_before_the_second_message() -> None:
    """A cohort that was asked another question has another mask: nothing of the sums is opened on."""
    one = min_max_counts()
    one.masks = one.masks.copy()
    one.masks[3] ^= 1
    server, compensator = one.server(), one.compensator()
    answer = compensator.send(next(server))
    with pytest.raises(ProtocolError, match="do not cancel"):
        server.send(answer)


def test_the_same_is_sent_whenever_it_is_asked_for() -> None:
    one = min_max_counts()
    assert one.dealt() == one.dealt()
    one.run()
    first = one.sent
    one.run()
    assert one.sent == first
    one.shuffle = bytes(32)
    one.run()
    assert one.sent[0] != first[0]


def test_neither_half_is_known_from_the_other_seed() -> None:
    one = min_max_counts()
    with pytest.raises(ProtocolError, match="second seed"):
        two_party.deal(SEED, SEED, one.context)
    assert two_party.deal(SEED, bytes(32), one.context) != one.dealt()
    with pytest.raises(WrongDealing):
        one.run(two_party.deal(OWN, SEED, one.context))  # of the wrong seed: the halves do not fit


def test_masks_of_a_comparison_are_no_release_and_the_other_way_round() -> None:
    fields: dict[str, Any] = {
        "study": "s", "plan_hash": b"p" * 32, "roster_hash": b"r" * 32, "cohort": "Graz", "round": 7,
        "question": b"q" * 32, "scheme": "z32", "words": 20, "nonce": bytes(16),
    }  # fmt: skip
    contexts = [
        MaskContext(**fields),
        ComparedContext(circuit="at-least", **fields),
        ComparedContext(circuit="both-at-least", **fields),
    ]
    masks = [masking.mask(SEED, context).tobytes() for context in contexts]
    assert len(set(masks)) == 3


@pytest.mark.parametrize(
    ("scheme", "label", "words", "problem"),
    [
        ("z32", "at-most", 20, "unknown circuit"),
        ("z256", "grows:", 20, "unknown circuit"),
        ("z256", "grows:0", 20, "unknown circuit"),
        ("z256", "grows:015", 20, "unknown circuit"),
        ("z256", "grows:99", 20, "unknown circuit"),
        ("z32", "grows:1", 20, "ring of 256 bits"),
        ("z32", "at-least", 16, "no comparison has"),
        ("z32", "at-least", -8, "no comparison has"),
        ("z32", "both-at-least", 17, "no comparison has"),
        ("z256", "grows:2", 12, "no comparison has"),
        ("z32", "at-least", 2**20 + 17, "at most"),
        ("z32", "both-at-least", 2**20 + 18, "at most"),
        ("z9", "at-least", 20, "unknown masking scheme"),
        ("normal:1.0", "at-least", 20, "uniform masks"),
    ],
)
def test_there_is_no_other_comparison(scheme: str, label: str, words: int, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        two_party.lengths(scheme, label, words + THIRD_WORDS)


def test_sums_under_normal_noise_are_not_compared() -> None:
    with pytest.raises(ProtocolError, match="uniform"):
        circuit("at-least", Gaussian(1.0))


# What it costs, and who deals


def test_65536_counts_take_4_requests_and_less_than_7_megabytes() -> None:
    found = two_party.lengths("z32", "at-least", 16 + 65_536 + THIRD_WORDS)
    assert len(found.server) == len(found.compensator) == 4
    assert sum(found.server) + sum(found.compensator) + found.dealing < 7e6


def test_what_is_sent_has_the_lengths_that_are_foreseen() -> None:
    for bits, label, row in ((32, "at-least", 1), (64, "both-at-least", 2), (256, "grows:15", 61)):
        kind = Modular(Ring(bits))
        one = Comparison(label, kind.label, kind.ring.zeros(70 * row))
        one.run()
        assert tuple(map(len, one.sent[::2])) == one.lengths.server
        assert tuple(map(len, one.sent[1::2])) == one.lengths.compensator
        assert len(one.dealt()) == one.lengths.dealing


def test_a_search_of_15_takes_5_requests() -> None:
    assert len(two_party.lengths("z256", Grows(Ring(256), 15).label, 2 + 61 * 30 + THIRD_WORDS).server) == 5


def test_each_cohort_deals_in_its_turn() -> None:
    roster = Roster(tuple((name, bytes([k]) * 32) for k, name in enumerate("ABC")))
    assert [dealer_of(roster, round_) for round_ in range(4)] == ["A", "B", "C", "A"]
