"""Masks: a seed that a cohort shares with the compensator alone, expanded once for each upload.

    mask = AES-256-CTR keystream under HKDF-SHA256(seed; everything that names the upload)

Two schemes say what the stream means and how vectors are added. *Modular*: words of a ring, so a masked
share is uniform whatever it hides. *Gaussian*: normal deviates added to float64, as HyFed does, for
comparison with the literature: it hides less, and costs precision (docs/protocol).

A share begins with its checks, the first for the server, the second for the cohorts. Of modular masks each is
one number of 256 bits in several words, and is added with its carries: added word by word it would tell the
server more than the sum. Where sums are compared, a third check is the last of a share (`THIRD_WORDS`). It is
of the masked words, and not masked by this.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.errors import ProtocolError
from unpooled.protocol import VERSION, codec, fixed_point
from unpooled.protocol.ring import Ring, check_length

SEED_BYTES = 32
NONCE_BYTES = 16
SALT_BYTES = 32
CHECK_BYTES = 32
CHECKS_BYTES = 2 * CHECK_BYTES
THIRD_WORDS = 64
"""Number of words of the third check, with which a share ends whose sums are compared (`showing`)."""
MAX_VARIANCE = 1e30  # beyond it nothing is left of a number under its mask
_MAX_FRACTION_BITS = 1074  # the finest of a float64
_BLOCK, _SLACK = 1 << 16, 15
"""Bytes of a keystream at once, and those beyond its end that `update_into` wants, and leaves alone."""
_CHECK_MODULUS = 1 << (8 * CHECK_BYTES)


NOT_CANCELLED = (
    "the masks of this round do not cancel: the cohorts were not asked the same question, "
    "a share was damaged, or the compensator's answer or a cohort's part of the masks is wrong"
)


class Scheme(Protocol):
    """Scheme by which vectors are encoded, masked and added."""

    @property
    def label(self) -> str:
        """Names the scheme in messages and every mask's key: `z32` to `z256`, `normal:<variance>`."""

    @property
    def word_bytes(self) -> int: ...
    @property
    def check_words(self) -> int:
        """The number of a share's words that are its checks: the first."""

    def set_checks(self, share: np.ndarray, check: int, second: int = 0) -> None: ...
    def has_check(self, share: np.ndarray, check: int) -> bool: ...
    def has_second_check(self, share: np.ndarray, second: int) -> bool: ...
    def stream_bytes(self, words: int) -> int: ...
    def from_stream(self, stream: bytes | memoryview, words: int) -> np.ndarray: ...
    def zeros(self, words: int) -> np.ndarray: ...
    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The sum of two shares, or of what two shares begin with: their checks."""

    def add_to(self, total: np.ndarray, share: np.ndarray) -> None:
        """Add a share to a sum of shares, in its place."""

    def subtract_from(self, total: np.ndarray, masks: np.ndarray) -> None:
        """Subtract a sum of masks from one of shares, in its place."""

    def add_words(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The sum of two parts of shares, behind the checks."""

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...
    def to_bytes(self, vector: np.ndarray) -> bytes: ...
    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray: ...
    def encode_integers(self, values: np.ndarray) -> np.ndarray: ...
    def encode_reals(self, values: np.ndarray, fraction_bits: int) -> np.ndarray: ...
    def decode_integers(self, vector: np.ndarray) -> np.ndarray: ...
    def decode_reals(self, vector: np.ndarray, fraction_bits: int) -> np.ndarray: ...
    def fits(self, cohorts: int, bound: float, fraction_bits: int) -> bool:
        """Tell whether the sum of `cohorts` numbers of magnitude up to `bound` reads back right."""

    def noise(self, cohorts: int) -> float:
        """Bound the change that masking makes to a sum over `cohorts`; 0 if it never makes any."""


@dataclass(frozen=True)
class Modular:
    """Uniform masks in Z_2^bits: the default. Sums are exact."""

    ring: Ring

    @property
    def label(self) -> str:
        return f"z{self.ring.bits}"

    @property
    def word_bytes(self) -> int:
        return self.ring.word_bytes

    @property
    def check_words(self) -> int:
        return CHECKS_BYTES // self.word_bytes

    def set_checks(self, share: np.ndarray, check: int, second: int = 0) -> None:
        numbers = [number % _CHECK_MODULUS for number in (check, second)]
        data = b"".join(number.to_bytes(CHECK_BYTES, "little") for number in numbers)
        share[: self.check_words] = self.ring.from_bytes(data, self.check_words)

    def has_check(self, share: np.ndarray, check: int) -> bool:
        return self._checks(share)[0] == check % _CHECK_MODULUS

    def has_second_check(self, share: np.ndarray, second: int) -> bool:
        return self._checks(share)[1] == second % _CHECK_MODULUS

    def _checks(self, share: np.ndarray) -> tuple[int, int]:
        data = self.to_bytes(share[: self.check_words])
        return int.from_bytes(data[:CHECK_BYTES], "little"), int.from_bytes(data[CHECK_BYTES:], "little")

    def stream_bytes(self, words: int) -> int:
        return words * self.word_bytes

    def from_stream(self, stream: bytes | memoryview, words: int) -> np.ndarray:
        return self.ring.from_bytes(stream, words)

    def zeros(self, words: int) -> np.ndarray:
        return self.ring.zeros(words)

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total = self.ring.add(a, b)
        self.set_checks(total, *map(operator.add, self._checks(a), self._checks(b)))
        return total

    def add_to(self, total: np.ndarray, share: np.ndarray) -> None:
        checks = list(map(operator.add, self._checks(total), self._checks(share)))
        self.ring.add_to(total, share)
        self.set_checks(total, *checks)

    def subtract_from(self, total: np.ndarray, masks: np.ndarray) -> None:
        checks = list(map(operator.sub, self._checks(total), self._checks(masks)))
        self.ring.subtract_from(total, masks)
        self.set_checks(total, *checks)

    def add_words(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.ring.add(a, b)

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        difference = self.ring.subtract(a, b)
        self.set_checks(difference, *map(operator.sub, self._checks(a), self._checks(b)))
        return difference

    def to_bytes(self, vector: np.ndarray) -> bytes:
        return self.ring.to_bytes(vector)

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        return self.ring.from_bytes(data, words)

    def encode_integers(self, values: np.ndarray) -> np.ndarray:
        return fixed_point.encode_integers(values, self.ring)

    def encode_reals(self, values: np.ndarray, fraction_bits: int) -> np.ndarray:
        return fixed_point.encode_reals(values, fraction_bits, self.ring)

    def decode_integers(self, vector: np.ndarray) -> np.ndarray:
        return fixed_point.decode_integers(vector, self.ring)

    def decode_reals(self, vector: np.ndarray, fraction_bits: int) -> np.ndarray:
        return fixed_point.decode_reals(vector, fraction_bits, self.ring)

    def fits(self, cohorts: int, bound: float, fraction_bits: int) -> bool:
        if not (0 <= bound < 2.0**128 and abs(fraction_bits) <= _MAX_FRACTION_BITS):
            return False
        # Exact, and rounded up as an element may be: a float cannot tell 2^63 - 1 from 2^63.
        of, per = (bound if isinstance(bound, float) else int(bound)).as_integer_ratio()
        element = -(-(of << max(fraction_bits, 0)) // (per << max(-fraction_bits, 0)))
        return cohorts * element <= self.ring.max_sum

    def noise(self, cohorts: int) -> float:
        return 0.0


@dataclass(frozen=True)
class Gaussian:
    """Normal masks of a variance on float64 words: HyFed's scheme for real numbers.

    Counts come back rounded to whole numbers; reals keep the rounding errors of the masked addition,
    about 2^-53 times the mask's deviation each.
    """

    variance: float

    word_bytes: ClassVar[int] = 8
    check_words: ClassVar[int] = 2  # both hold how many shares there are

    def __post_init__(self) -> None:
        if not 0 < self.variance < MAX_VARIANCE:
            raise ProtocolError(f"the variance of Gaussian masks must be positive and below {MAX_VARIANCE}")

    @property
    def label(self) -> str:
        return f"normal:{self.variance!r}"

    def set_checks(self, share: np.ndarray, check: int, second: int = 0) -> None:
        """Set the check. There is no second one: no combination of rounded words is exact."""
        share[: self.check_words] = check

    def has_check(self, share: np.ndarray, check: int) -> bool:
        return bool(np.all(np.rint(share[: self.check_words]) == check))

    def has_second_check(self, share: np.ndarray, second: int) -> bool:
        return True

    def stream_bytes(self, words: int) -> int:
        return 16 * ((words + 1) // 2)

    def from_stream(self, stream: bytes | memoryview, words: int) -> np.ndarray:
        """Box-Muller: two 53-bit uniforms in (0, 1] give two independent normals."""
        uniform = ((np.frombuffer(stream, "<u8") >> np.uint64(11)) + np.uint64(1)) * 2.0**-53
        radius = np.sqrt(-2.0 * self.variance * np.log(uniform[0::2]))
        angle = 2.0 * np.pi * uniform[1::2]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:words]

    def zeros(self, words: int) -> np.ndarray:
        return np.zeros(words)

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total: np.ndarray = a + b
        return total

    add_words = add

    def add_to(self, total: np.ndarray, share: np.ndarray) -> None:
        total += share

    def subtract_from(self, total: np.ndarray, masks: np.ndarray) -> None:
        total -= masks

    def subtract(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        difference: np.ndarray = a - b
        return difference

    def to_bytes(self, vector: np.ndarray) -> bytes:
        return vector.astype("<f8").tobytes()

    def from_bytes(self, data: bytes | memoryview, words: int) -> np.ndarray:
        check_length(data, words * self.word_bytes)
        vector = np.frombuffer(data, "<f8")
        if not np.isfinite(vector).all():
            raise ProtocolError("a share holds a number that is not finite")
        return vector

    def encode_integers(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values, dtype=np.float64).ravel()

    def encode_reals(self, values: np.ndarray, fraction_bits: int) -> np.ndarray:
        return np.asarray(values, dtype=np.float64).ravel()

    def decode_integers(self, vector: np.ndarray) -> np.ndarray:
        rounded: np.ndarray = np.rint(vector).astype(np.int64)
        return rounded

    def decode_reals(self, vector: np.ndarray, fraction_bits: int) -> np.ndarray:
        return vector

    def fits(self, cohorts: int, bound: float, fraction_bits: int) -> bool:
        return 0 <= cohorts * bound <= 2.0**53

    def noise(self, cohorts: int) -> float:
        """Ten times the standard deviation of what rounding leaves, or more.

        A number is rounded by 2^-53.8 of its size in the mean square at most. Rounded is each share as it is
        masked, and the sum of j masked shares, and of j masks, whose variance is j times that of one.
        """
        return 2.0**-50 * (cohorts + 1) * math.sqrt(self.variance)


def scheme(label: str) -> Scheme:
    """The scheme that a label names; ProtocolError for any other text."""
    kind, _, variance = label.partition(":")
    if kind == "normal":
        try:
            found = Gaussian(float(variance))
        except ValueError as error:
            raise ProtocolError(f"not a variance: {variance[:40]!r}") from error
        if found.label == label:  # one spelling only: the label is part of every mask's key
            return found
    elif label in ("z32", "z64", "z128", "z256"):
        return Modular(Ring(int(label[1:])))
    raise ProtocolError(f"unknown masking scheme {label[:40]!r}")


@dataclass(frozen=True)
class MaskContext:
    """Everything that names one upload. No two uploads share it, so no two share a mask."""

    name: ClassVar[str] = "unpooled/mask"

    study: str
    plan_hash: bytes
    roster_hash: bytes
    cohort: str
    round: int
    question: bytes
    scheme: str
    words: int
    nonce: bytes
    version: int = VERSION


@dataclass(frozen=True, kw_only=True)
class ComparedContext(MaskContext):
    """The same of an upload whose sums are compared and never opened.

    Another record, so another mask: none of a compared round can be had as that of a release, nor the other
    way round.
    """

    name: ClassVar[str] = "unpooled/compared"

    circuit: str


def context_of(circuit: str | None, **fields: Any) -> MaskContext:
    """The context of one upload, given the circuit by which its sums are compared, if they are."""
    return MaskContext(**fields) if circuit is None else ComparedContext(circuit=circuit, **fields)


def question(salt: bytes, step: bytes | Iterable[bytes | memoryview], panel: bytes = b"") -> bytes:
    """Digest of what a round asks: the server's 32 random bytes, the step as cohorts receive it, the panel.

    `panel` is the digest of the agreed variants, empty before there are any. A step names variants by their
    place in the panel: without it a server could give each cohort another panel, and ask about a variant of
    one cohort under a number at which the others have one that does not vary. A long step may come in pieces.
    """
    if len(salt) != SALT_BYTES:
        raise ProtocolError(f"a round's salt has {SALT_BYTES} bytes; got {len(salt)}")
    digest = hashlib.sha256(salt)
    for piece in [step] if isinstance(step, bytes) else step:
        digest.update(piece)
    digest.update(panel)  # a step's encoding says where it ends
    return digest.digest()


def mask(seed: bytes, context: MaskContext) -> np.ndarray:
    """The mask of one upload: a vector of `context.words` words of `context.scheme`."""
    kind, keystream = scheme(context.scheme), _keystream(seed, context)
    stream, zeros = memoryview(bytearray(kind.stream_bytes(context.words) + _SLACK)), bytes(_BLOCK)
    size = len(stream) - _SLACK
    for start in range(0, size, _BLOCK):  # so that what is encrypted, and what comes of it, stay in the cache
        keystream.update_into(zeros[: size - start], stream[start:])
    return kind.from_stream(stream[:size], context.words)


def mask_blocks(seed: bytes, context: MaskContext, block: int) -> Iterator[np.ndarray]:
    """The same mask in parts: what masks the checks, then `block` words, an even number, at a time.

    So memory does not grow with its length.
    """
    kind, keystream = scheme(context.scheme), _keystream(seed, context)
    ends = [0, *range(kind.check_words, context.words, block), context.words]
    for start, end in itertools.pairwise(ends):
        words = end - start
        yield kind.from_stream(keystream.update(bytes(kind.stream_bytes(words))), words)


def _keystream(seed: bytes, context: MaskContext) -> CipherContext:
    return keystream(derived(seed, context))


def derived(seed: bytes, context: Any) -> bytes:
    """The key of 32 bytes for what a record names, from a seed."""
    return expanded(seed, codec.encode(context))


def expanded(seed: bytes, encoded: bytes) -> bytes:
    """The same, given the record's encoding."""
    return HKDF(SHA256(), length=32, salt=None, info=encoded).derive(seed)


def keystream(key: bytes) -> CipherContext:
    """Encrypts zeros to a stream. The counter starts at 0: a key serves for one, its context is used once."""
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
