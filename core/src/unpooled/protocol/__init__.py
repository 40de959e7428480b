"""The protocol: arithmetic, masks, sealed seeds and messages. Knows nothing of algorithms, files or HTTP."""

VERSION = 5
