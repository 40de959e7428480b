"""Messages of two programs, each under its own Python: a line of JSON that lists arrays, then their bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import numpy as np


def read(pipe: IO[bytes]) -> dict[str, Any]:
    """Read a message; an empty one at the end."""
    if not (line := pipe.readline()):
        return {}
    found: dict[str, Any] = json.loads(line)
    for name, kind, shape in found.pop("arrays"):
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        found[name] = np.frombuffer(pipe.read(size), kind).reshape(shape)
    return found


def write(pipe: IO[bytes], said: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    pipe.write(json.dumps({**said, "arrays": listed}).encode() + b"\n")
    for array in arrays.values():
        pipe.write(np.ascontiguousarray(array).tobytes())
    pipe.flush()
