"""Stubs that leak, or let pass, on purpose, put into a party by tests/launch.py: what a test must find."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np


def no_mask(original: Any, seed: bytes, context: Any) -> np.ndarray:
    """In the stead of `unpooled.protocol.masking.mask`: zeros."""
    return np.zeros_like(original(seed, context))


def no_mask_blocks(original: Any, seed: bytes, context: Any, block: int) -> Iterator[np.ndarray]:
    """In the stead of `unpooled.protocol.masking.mask_blocks`."""
    return map(np.zeros_like, original(seed, context, block))


def constant_check(original: Any, share: np.ndarray, scheme: Any, salt: bytes, shares: int = 1) -> int:
    """In the stead of `unpooled.step.check_of`: no secret combination, but how many shares there are."""
    return shares


def same_question(original: Any, *arguments: Any) -> bytes:
    """In the stead of `unpooled.protocol.masking.question`: it binds nothing."""
    return bytes(32)


def telling_nonce(original: Any, self: Any, question: Any, step: Any, cohort: Any, *more: Any) -> Any:
    """In the stead of the client's `Answerer.share`: the nonce, which the compensator gets, is 16 counts."""
    counts = (next(iter(step.local(cohort).values())).ravel() & 255).astype(np.uint8).tobytes()
    random, os.urandom = os.urandom, lambda size: (counts + bytes(size))[:size]
    try:
        return original(self, question, step, cohort, *more)
    finally:
        os.urandom = random


def keeps_no_book(original: Any, *arguments: Any) -> None:
    """In the stead of the client's `Book._check`: whatever is asked is answered."""


def agrees_with_everything(original: Any, *arguments: Any) -> bool:
    """In the stead of a question's `agrees`, and `fits_panel`."""
    return True
