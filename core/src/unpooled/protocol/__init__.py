"""The protocol: arithmetic, masks, sealed seeds and messages. Knows nothing of algorithms, files or HTTP."""

VERSION = 6
"""Also of the procedures: cohorts run them, so whatever changes a question or a floor raises it."""

SEALING_KEY_BYTES = 1184 + 32
"""Length of the compensator's public key: of ML-KEM-768 (FIPS 203), then of X25519."""
