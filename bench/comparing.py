"""Times a comparison alone, dealer, both parties and a cohort on one core, and counts its bytes.

    OPENBLAS_NUM_THREADS=1 python bench/comparing.py

65,536 counts, as the order statistics of 64 features ask for in a few rounds; and the signs that a search of
lambda asks for in a round of 30 features. Each figure is the best of several runs.
"""

from __future__ import annotations

import os
import time

import numpy as np

from unpooled.protocol import masking, two_party
from unpooled.protocol.circuits import circuit
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.showing import Transcript, replayed, require_third_check, set_third_check

CASES = (("65,536 counts", "z32", "at-least", 65_536), ("30 features", "z256", "grows:15", 30))
RUNS = 7
COHORTS = ("Graz", "Oslo", "Tartu")


def main() -> None:
    for name, scheme, label, rows in CASES:
        kind = masking.scheme(scheme)
        words = kind.check_words + rows * circuit(label, kind).row_words + masking.THIRD_WORDS
        context = DealingContext("bench", b"", b"", "", 0, b"", scheme, label, words)
        lengths = two_party.lengths(scheme, label, words)
        took = np.min([seconds(context) for _ in range(RUNS)], axis=0)
        print(
            f"{name:14} {label:9} {len(lengths.server)} requests; MB: dealt {lengths.dealing / 1e6:.2f}, "
            f"to the compensator {sum(lengths.server) / 1e6:.2f}, back {sum(lengths.compensator) / 1e6:.2f}; "
            f"s: dealing {took[0]:.3f}, both parties {took[1]:.3f}; a cohort is shown "
            f"{took[3] / 1e6:.2f} MB, and plays it again in {took[2]:.3f} s"
        )


def seconds(context: DealingContext) -> tuple[float, float, float, float]:
    """Time the dealer, both parties together, and a cohort that is shown it: sums of 0 under masks of 0.

    The last figure is the bytes that the cohort is shown.
    """
    kind = masking.scheme(context.scheme)
    seed, own, shuffle, secret = (os.urandom(32) for _ in range(4))
    share, nonce = kind.zeros(context.words), bytes(masking.NONCE_BYTES)
    start = time.perf_counter()
    dealt = two_party.deal(seed, own, context)
    dealing = time.perf_counter() - start
    uploads = [(context.upload(name, nonce), b"") for name in COHORTS]
    for upload, digest in uploads:
        one = kind.zeros(context.words)
        kind.set_checks(one, 1)
        set_third_check(one, secret, upload, digest)
        share = kind.add(share, one)
    named = tuple((name, nonce) for name in COHORTS)
    start, answers = time.perf_counter(), list[bytes]()
    server = two_party.server_side(share, len(COHORTS), dealt, shuffle, context)
    transcript = Transcript(secret, context.opening(named, shuffle))
    compensator = two_party.compensator_side(kind.zeros(context.words), seed, shuffle, context, transcript)
    next(compensator)
    message = next(server)
    try:
        while True:
            answers.append(compensator.send(message))
            message = server.send(answers[-1])
    except StopIteration:
        both = time.perf_counter() - start
    start = time.perf_counter()
    require_third_check(share, secret, uploads)
    server = two_party.server_side(share, len(COHORTS), dealt, shuffle, context)
    replayed(server, answers, Transcript(secret, context.opening(named, shuffle)))
    size = len(kind.to_bytes(share)) + len(dealt) + sum(map(len, answers))
    return dealing, both, time.perf_counter() - start, size


if __name__ == "__main__":
    main()
