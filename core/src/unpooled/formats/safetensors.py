"""Named arrays as safetensors, the format in which networks are exchanged: no code is in it, and none is run.

8 bytes, the header's length; a header in JSON, of each array its type, shape and place; then their bytes.
https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping

import numpy as np

_KINDS = {"<f8": "F64", "<f4": "F32"}
_ALIGNED = 8


def encoded(arrays: Mapping[str, np.ndarray], about: Mapping[str, str]) -> bytes:
    """The bytes of a file with these arrays, float64 or float32; `about` are texts for people."""
    header: dict[str, object] = {"__metadata__": dict(about)}
    at = 0
    for name, array in arrays.items():
        end = at + array.dtype.itemsize * math.prod(array.shape)
        kind = _KINDS[array.dtype.newbyteorder("<").str]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    head = json.dumps(header, ensure_ascii=False).encode()
    head += b" " * (-len(head) % _ALIGNED)
    bodies = (array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values())
    return b"".join([struct.pack("<Q", len(head)), head, *bodies])
