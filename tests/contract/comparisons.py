"""A comparison of made-up sums that give known bits, as its server shows it to the cohorts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unpooled.asking import compared_sums
from unpooled.asking.question import Arrays, Question, shape
from unpooled.protocol import fixed_point, masking, two_party
from unpooled.protocol.circuits import FRACTION_BITS, Grows, circuit
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.masking import THIRD_WORDS, Modular
from unpooled.protocol.messages import Shown
from unpooled.protocol.showing import set_third_check


def sums_giving(question: Question, bits: np.ndarray, scheme: Modular) -> np.ndarray:
    """The words of sums, behind the checks, of which a comparison tells these bits."""
    assert question.opens
    found = circuit(question.opens.circuit, scheme)
    if isinstance(found, Grows):
        return _growing(bits.reshape(-1, found.steps, 2), scheme)
    given, parts = question.thresholds(), list[np.ndarray]()
    for array in question.sends:
        want = shape(question, array)
        least = np.broadcast_to(given.get(array.name, 0), want).astype(np.int64)
        parts.append(scheme.encode_integers(least - ~bits.reshape(want)))
    return np.concatenate(parts)


def _growing(bits: np.ndarray, scheme: Modular) -> np.ndarray:
    """Make a variance for each place that is known or 0, and a product by which it grows there or not."""
    known, grows = bits[..., 0], bits[..., 1]
    g, q = np.where(known, 0.25, 0.5), np.where(known, 0.5, 0.25)
    reals = [np.full(len(bits), 0.25), g, q, np.full(g.shape, 0.25), np.where(grows, -0.5, 0.5)]
    return np.concatenate([fixed_point.encode_reals(each, FRACTION_BITS, scheme.ring) for each in reals])


def compared(
    question: Question,
    sums: np.ndarray,
    context: DealingContext,
    names: Sequence[str],
    secret: bytes,
    others: np.ndarray | None = None,
) -> tuple[Arrays, Shown]:
    """The bits of these sums, and what is shown: the first cohort sends the sums, and the others zeros.

    Of a dishonest server: it shows that, and shifts its share of the sums, as if they were `others`.
    """
    scheme = masking.scheme(context.scheme)
    assert isinstance(scheme, Modular)
    seed, own = os.urandom(32), os.urandom(32)
    dealing = two_party.deal(seed, own, context)
    total, masks, uploads = scheme.zeros(context.words), scheme.zeros(context.words), []
    for name in names:
        share = scheme.zeros(context.words)
        scheme.set_checks(share, 1)
        if name == names[0]:
            share[scheme.check_words : -THIRD_WORDS] = sums
        upload = context.upload(name, os.urandom(masking.NONCE_BYTES))
        mask = masking.mask(os.urandom(32), upload)
        sent = scheme.add(share, mask)
        dealt = hashlib.sha256(dealing).digest() if name == context.dealer else b""
        set_third_check(sent, secret, upload, dealt)
        total, masks = scheme.add(total, sent), scheme.add(masks, mask)
        uploads.append((name, upload.nonce))
    played, behind = total.copy(), slice(scheme.check_words, -THIRD_WORDS)
    if others is not None:
        played[behind] = scheme.add_words(played[behind], scheme.ring.subtract(others, sums))
    bits, shown = compared_sums.in_process(
        question, played, masks, scheme, tuple(uploads), dealing, seed, context, secret
    )
    return bits, replace(shown, total=scheme.to_bytes(total))
