"""The small messages of a cohort to the server, as the bytes that travel: each is a JSON object.

Binary values are lower-case hexadecimal digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def joining(public_key: bytes) -> bytes:
    """This cohort's signing key."""
    return _body(key=public_key)


def acceptance(plan_hash: bytes, roster_hash: bytes, sealed: bytes, signature: bytes) -> bytes:
    """Return the body of an acceptance: plan, roster, and the seed for them, sealed to the compensator and
    signed.
    """
    return _body(plan_hash=plan_hash, roster_hash=roster_hash, box=sealed, signature=signature)


def digest(value: bytes) -> bytes:
    """Return the body with the digest of the cohort's list of variants, or of a table's plan."""
    return _body(digest=value)


def timing(seconds: Mapping[str, int]) -> bytes:
    """Whole seconds per phase."""
    return _body(**seconds)


def problem(code: str, name: str) -> bytes:
    """A code of the fixed list, and the name of a quantity or nothing."""
    return _body(code=code, name=name)


def _body(**values: Any) -> bytes:
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in values.items()}
    return json.dumps(plain, separators=(",", ":")).encode()
