"""Check that a dealing is right: server and compensator find out before any of it is relied on.

Beside each layer spare products are dealt. By these both compute anew what the layer's bound parts should be:
the differences are shares of zeros, so that both have one digest, unless something is wrong. Which spare goes
with which column of a layer follows from a secret that comes after the dealing. Whoever deals a wrong column
needs a spare that is wrong in the same way, and has to guess which one. Behind the columns there are zeros,
whose spares are opened by that: to deal all of them wrong is found, too.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext

from unpooled.protocol.gates import Dealt, Layer, Layers, Products, Same, Side

SAME = Same()


def with_spares(layers: Sequence[Layer]) -> list[Dealt]:
    """All that is dealt for these layers: they, their spares, and what the digests are compared with."""
    return [*layers, *(spare for layer in layers for spare in layer.spares), SAME]


def opening_bytes(layers: Sequence[Layer]) -> int:
    """Return the number of bytes that each party opens of the spares."""
    return sum(spare.opening_bytes for layer in layers for spare in layer.spares)


def sacrificed(
    side: Side, layers: Sequence[Layer], half: Sequence[tuple[bytes, bytes]], secret: CipherContext
) -> Layers[bytes]:
    """Opens all spares in one layer; returns a digest, the same at both parties if all is dealt right.

    `half` is what a party is dealt `with_spares`; the spares' order is drawn from the stream `secret`.
    """
    parts, spares = [], iter(half[len(layers) :])
    order = functools.cache(lambda columns, number: shuffled(columns, secret))
    for layer, own in zip(layers, half, strict=False):
        claims = layer.claims(side, *own)
        for number, spare in enumerate(layer.spares):
            factors, claimed = (_widened(rows, spare.width) for rows in _rows(spare, claims))
            masks, products = (
                spare.arithmetic.chosen(rows, order(spare.columns, number))
                for rows in _rows(spare, spare.claims(side, *next(spares)))
            )
            parts.append((spare, spare.arithmetic.subtract(factors, masks), masks, products, claimed))
    reply = yield b"".join(opened.tobytes() for _, opened, *_ in parts)
    digest, at = hashlib.sha256(), 0
    for spare, opened, masks, products, claimed in parts:
        others = spare.read_factors(reply[at : at + spare.opening_bytes])
        at += spare.opening_bytes
        both = spare.arithmetic.add(opened, others)
        found = spare.shares(both, masks, products, leads=side is Side.SERVER)
        # Shares of 0 are opposite: one party subtracts the other way round.
        pair = (found, claimed) if side is Side.SERVER else (claimed, found)
        digest.update(spare.arithmetic.subtract(*pair).tobytes())
    return digest.digest()


def shuffled(count: int, secret: CipherContext) -> np.ndarray:
    """A random order: that of as many random numbers."""
    return np.argsort(np.frombuffer(secret.update(bytes(8 * count)), "<u8"), kind="stable")


def _rows(spare: Products, claims: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """Factors and products: arrays (rows, words), a row for each place."""
    counts = spare.factors, len(spare.wanted)
    return [
        vector.reshape(spare.places * count, -1, *vector.shape[1:])
        for vector, count in zip(claims, counts, strict=True)
    ]


def _widened(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows of `width` words, zeros behind those that there are, as one vector."""
    zeros = np.zeros((len(rows), width - rows.shape[1], *rows.shape[2:]), rows.dtype)
    return np.concatenate([rows, zeros], axis=1).reshape(-1, *rows.shape[2:])
