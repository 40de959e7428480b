"""Times a comparison alone, dealer and both parties on one core, and counts its bytes.

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

CASES = (("65,536 counts", "z32", "at-least", 65_536), ("30 features", "z256", "grows:15", 30))
RUNS = 7


def main() -> None:
    for name, scheme, label, rows in CASES:
        kind = masking.scheme(scheme)
        words = kind.check_words + rows * circuit(label, kind).row_words
        context = DealingContext("bench", b"", b"", "", 0, b"", scheme, label, words)
        lengths = two_party.lengths(scheme, label, words)
        took = np.min([seconds(context) for _ in range(RUNS)], axis=0)
        print(
            f"{name:14} {label:9} {len(lengths.server)} requests; MB: dealt {lengths.dealing / 1e6:.2f}, "
            f"to the compensator {sum(lengths.server) / 1e6:.2f}, back {sum(lengths.compensator) / 1e6:.2f}; "
            f"s: dealing {took[0]:.3f}, both parties {took[1]:.3f}"
        )


def seconds(context: DealingContext) -> tuple[float, float]:
    """Time the dealer, and both parties together, on sums of 0 under masks of 0."""
    kind = masking.scheme(context.scheme)
    seed, own, shuffle, share = *map(os.urandom, (32, 32, 32)), kind.zeros(context.words)
    kind.set_checks(share, 3)
    start = time.perf_counter()
    dealt = two_party.deal(seed, own, context)
    between = time.perf_counter()
    server = two_party.server_side(share, 3, dealt, shuffle, context)
    compensator = two_party.compensator_side(kind.zeros(context.words), seed, shuffle, context)
    next(compensator)
    message = next(server)
    try:
        while True:
            message = server.send(compensator.send(message))
    except StopIteration:
        return between - start, time.perf_counter() - between


if __name__ == "__main__":
    main()
