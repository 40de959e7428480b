"""Parties that compute together under threshold CKKS (OpenFHE): all in this process, each with its own key.

Started by `measure_encrypted.py` under an interpreter for which OpenFHE is packaged, where Unpooled is not
installed.

The normalizations are those of Coşğun, Gençtürk and Sav, with an
inverse by Goldschmidt's iteration, and comparisons by polynomials; a worn ciphertext is refreshed by all
parties (OpenFHE's interactive bootstrapping). Each feature has a slot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import openfhe
from arrays_by_pipe import read, write

FIRST = 60
"""Bits of the first modulus."""
KINDS = {"counts": (40, 0), "reals": (50, 0), "products": (50, 12)}
"""Bits of the scale, and levels, by what keys are for. With products the ring is of 2^15, as the paper's."""
DIGITS = 5
"""Parts of the keys for products, with which the ring is still of 128 bits."""
WORN = 7
"""The last level at which a ciphertext can be refreshed."""
COUNT_BITS = 20
"""Bits of the largest count that can be inverted."""
STEPS = COUNT_BITS + 5
"""Steps of the inverse: enough even for a count of 1."""
RAISE = (4589 / 1024, -16577 / 1024, 25614 / 1024, -12860 / 1024)
NEAR = (35 / 16, -35 / 16, 21 / 16, -5 / 16)
"""Coefficients of x, x^3, x^5 and x^7 that bring numbers towards their sign (Cheon, Kim and Kim 2020): the
first from near 0, the second near 1."""
SIGN = (RAISE,) * 5 + (NEAR,) * 2


class Parties:
    """The keys of all parties, and how many bytes they have sent one another."""

    def __init__(self, parties: int, kind: str, ring: int) -> None:
        """Agree on keys. A ring of 0 is one of 128 bits of security; any other is for tests."""
        scale, depth = KINDS[kind]
        given = openfhe.CCParamsCKKSRNS()
        given.SetMultiplicativeDepth(depth)
        given.SetScalingModSize(scale)
        given.SetFirstModSize(FIRST)
        given.SetSecurityLevel(openfhe.HEStd_NotSet if ring else openfhe.HEStd_128_classic)
        given.SetRingDim(ring)
        given.SetScalingTechnique(openfhe.FLEXIBLEAUTO if depth else openfhe.FIXEDAUTO)
        if depth:
            given.SetNumLargeDigits(DIGITS)
            given.SetInteractiveBootCompressionLevel(openfhe.SLACK)
        self.context = openfhe.GenCryptoContext(given)
        for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE", "MULTIPARTY"):
            self.context.Enable(getattr(openfhe, feature))
        self.slots, self.bytes = self.context.GetRingDimension() // 2, 0
        pairs = [self.context.KeyGen()]
        for _ in range(parties - 1):
            pairs.append(self.context.MultipartyKeyGen(pairs[-1].publicKey))
        self.secrets, self.public = [pair.secretKey for pair in pairs], pairs[-1].publicKey
        self.sent(self.public, 2 * parties)
        if depth:
            self._agree_on_products()

    def _agree_on_products(self) -> None:
        context, tag = self.context, self.public.GetKeyTag()
        first = context.KeySwitchGen(self.secrets[0], self.secrets[0])
        keys = [first] + [context.MultiKeySwitchGen(key, key, first) for key in self.secrets[1:]]
        joint = keys[0]
        for key in keys[1:]:
            joint = context.MultiAddEvalKeys(joint, key, tag)
        whole, *others = [context.MultiMultEvalKey(key, joint, tag) for key in self.secrets]
        for key in others:
            whole = context.MultiAddEvalMultKeys(whole, key, tag)
        context.InsertEvalMultKey([whole])
        # Of each party both parts, and to each the sum of the first.
        self.sent(joint, 3 * len(self.secrets))

    def sent(self, thing: Any, times: int = 1) -> None:
        self.bytes += times * len(openfhe.Serialize(thing, openfhe.BINARY))

    def encrypted(self, values: Sequence[float]) -> Any:
        """Encrypt what one party sends."""
        plain = self.context.MakeCKKSPackedPlaintext([float(value) for value in values])
        self.sent(found := self.context.Encrypt(self.public, plain))
        return found

    def summed(self, values: np.ndarray) -> Any:
        """Return the encrypted sum over the parties of what each encrypts: (parties, slots)."""
        total, *others = map(self.encrypted, values.tolist())
        for other in others:
            total = self.context.EvalAdd(total, other)
        return total

    def opened(self, encrypted: Any, size: int) -> np.ndarray:
        """Decrypt with a share of every party."""
        lead, *others = self.secrets
        shares = self.context.MultipartyDecryptLead([encrypted], lead)
        for key in others:
            shares += self.context.MultipartyDecryptMain([encrypted], key)
        self.sent(encrypted, len(self.secrets))
        self.sent(shares[0], len(shares))
        plain = self.context.MultipartyDecryptFusion(shares)
        plain.SetLength(size)
        return np.array(plain.GetRealPackedValue()[:size])

    def fresh(self, encrypted: Any, levels: int) -> Any:
        """Refresh a ciphertext, by all parties, if it has not so many levels left."""
        if encrypted.GetLevel() + levels <= WORN:
            return encrypted
        worn = self.context.IntMPBootAdjustScale(encrypted)
        common = self.context.IntMPBootRandomElementGen(self.public)
        (second := worn.Clone()).RemoveElement(0)
        shares = [self.context.IntMPBootDecrypt(key, second, common) for key in self.secrets]
        for thing in (second, common, *shares[0]):
            self.sent(thing, len(shares))
        total = self.context.IntMPBootAdd(shares)
        return self.context.IntMPBootEncrypt(self.public, total, common, worn)

    # What the server computes without the parties, but for refreshing

    def inverse(self, encrypted: Any) -> Any:
        """Invert y in (0, 1]: 2^(-COUNT_BITS / 2) times the product of 1 + (1 - y)^(2^i)."""
        context = self.context
        power = context.EvalAdd(context.EvalNegate(encrypted), 1.0)
        found = context.EvalMult(context.EvalAdd(power, 1.0), 2.0 ** (-COUNT_BITS // 2))
        for _ in range(STEPS - 1):
            power = self.fresh(power, 2)
            power = context.EvalMult(power, power)
            found = context.EvalMult(self.fresh(found, 2), context.EvalAdd(power, 1.0))
        return self.fresh(found, 2)

    def sign(self, x: Any) -> Any:
        """Bring numbers in [-1, 1] to nearly -1 or 1; those near 0 to something between."""
        context = self.context
        for one, three, five, seven in SIGN:
            x = self.fresh(x, 3)
            square = context.EvalMult(x, x)
            low = context.EvalAdd(
                context.EvalMult(x, one), context.EvalMult(context.EvalMult(x, three), square)
            )
            high = context.EvalAdd(
                context.EvalMult(x, five), context.EvalMult(context.EvalMult(x, seven), square)
            )
            x = context.EvalAdd(low, context.EvalMult(high, context.EvalMult(square, square)))
        return self.fresh(x, 2)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of two numbers in [-1, 1], in each slot."""
        context = self.context
        half = context.EvalMult(context.EvalSub(a, b), 0.5)
        middle = context.EvalMult(context.EvalAdd(a, b), 0.5)
        return self.fresh(context.EvalAdd(middle, context.EvalMult(half, self.sign(half))), 4)


# What is asked of this process: arrays in, arrays out


def reals(given: Mapping[str, Any], kept: dict[str, Parties]) -> dict[str, np.ndarray]:
    """Sum real numbers, of each party a row, as CKKS has them."""
    values = given["values"]
    return {"total": kept["reals"].opened(kept["reals"].summed(values), values.shape[1])}


def z_score(given: Mapping[str, Any], kept: dict[str, Parties]) -> dict[str, np.ndarray]:
    """The paper's algorithm 1."""
    parties, tables, unit = kept["products"], _tables(given), given["unit"]
    context, size = parties.context, len(unit)
    share = 2.0 ** (COUNT_BITS // 2)
    counts = np.array([np.full(size, len(table) / 2**COUNT_BITS) for table in tables])
    inverse = parties.inverse(parties.summed(counts))
    sums = parties.summed(np.array([table.sum(axis=0) / unit / share for table in tables]))
    mean = parties.opened(context.EvalMult(sums, inverse), size) * unit
    squares = np.array([np.square((table - mean) / unit).sum(axis=0) / share for table in tables])
    variance = parties.opened(context.EvalMult(parties.summed(squares), inverse), size)
    return {"centre": mean, "scale": np.sqrt(variance) * unit}


def min_max(given: Mapping[str, Any], kept: dict[str, Parties]) -> dict[str, np.ndarray]:
    low, high = _ends(given, kept["products"])
    return {"centre": low, "scale": high - low}


def _ends(given: Mapping[str, Any], parties: Parties) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest value of each feature; the smallest as the largest of their negatives."""
    unit = given["unit"]
    own = [np.concatenate([-t.min(axis=0), t.max(axis=0)]) / np.tile(unit, 2) for t in _tables(given)]
    found, *others = map(parties.encrypted, own)
    for other in others:
        found = parties.larger(found, other)
    low, high = parties.opened(found, 2 * len(unit)).reshape(2, -1) * unit
    return -low, high


def robust(given: Mapping[str, Any], kept: dict[str, Parties]) -> dict[str, np.ndarray]:
    """The paper's algorithm 2."""
    tables, size = _tables(given), len(given["unit"])
    sums = kept["counts"]
    n = int(np.rint(sums.opened(sums.summed(_counts(tables, np.isfinite)), size))[0])
    ends = _ends(given, kept["products"])
    lower, middle, upper = (_element(tables, ends, q * (n - 1), n, sums) for q in (0.25, 0.5, 0.75))
    return {"centre": middle, "scale": upper - lower}


def _element(
    tables: Sequence[np.ndarray], ends: tuple[np.ndarray, np.ndarray], at: float, n: int, parties: Parties
) -> np.ndarray:
    """The paper's algorithm 3, for all features at once: halve the range until it is EPSILON wide."""
    (low, high), wanted = map(np.copy, ends), int(at) + 1
    is_exact, size = at == int(at), len(ends[0])
    found, done = np.zeros(size), np.zeros(size, bool)
    while not done.all():
        middle = (low + high) / 2
        below, above = (
            np.rint(parties.opened(parties.summed(_counts(tables, compared)), size))
            for compared in (lambda t: t <= middle, lambda t: t > middle)  # noqa: B023
        )
        hit = ~done & (below <= wanted - is_exact) & (above <= n - wanted)
        found[hit], done[hit] = middle[hit], True
        up = below >= wanted
        high, low = np.where(up, middle, high), np.where(up, low, middle)
        near = ~done & (high - low <= EPSILON)
        found[near], done[near] = (low + high)[near] / 2, True
    return found


EPSILON = 1e-4


def _counts(tables: Sequence[np.ndarray], of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.array([of(table).sum(axis=0) for table in tables], np.float64)


def _tables(given: Mapping[str, Any]) -> list[np.ndarray]:
    return [given["rows"][given["party"] == k] for k in range(int(given["party"].max()) + 1)]


TASKS = {"reals": reals, "z-score": z_score, "min-max": min_max, "robust": robust}


# The pipe


def main() -> None:
    """Make keys for each depth that is asked for, once; then do what is asked."""
    kept: dict[str, Parties] = {}
    while given := read(sys.stdin.buffer):
        begun = time.process_time()
        for name in given["keys"]:
            kept[name] = Parties(given["parties"], name, given["ring"])
        of_keys = time.process_time() - begun
        key_bytes = sum(kept[name].bytes for name in given["keys"])
        before = sum(each.bytes for each in kept.values())
        begun = time.process_time()
        found = TASKS[given["do"]](given, kept)
        said = {
            "seconds": time.process_time() - begun,
            "bytes": sum(each.bytes for each in kept.values()) - before,
            "key_seconds": of_keys,
            "key_bytes": key_bytes,
        }
        write(sys.stdout.buffer, said, found)


if __name__ == "__main__":
    main()
