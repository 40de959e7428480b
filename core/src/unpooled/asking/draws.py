"""The secret by which a cohort draws rows: neither server nor compensator knows it, nor another cohort.

It comes from the seed that the cohort shares with nobody. Whatever is drawn is drawn by the question, too, so
that a question which is asked again has the same rows.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayTable
from unpooled.asking.question import Question
from unpooled.errors import ProtocolError

_INFO = b"unpooled/draws/1"


def drawing(cohort: Any, question: Question, own: bytes) -> Any:
    """The cohort with its secret, if a question is answered by chance and it has none; `own` is its seed."""
    if not (question.draws and isinstance(cohort, ArrayTable)) or cohort.secret:
        return cohort
    if not own:
        raise ProtocolError("the question is answered by chance, and this cohort has no seed of its own")
    return replace(cohort, secret=HKDF(SHA256(), 32, None, _INFO).derive(own))


def key_of(cohort: Any, question: Question, purpose: bytes) -> bytes:
    """The key of what a cohort draws for a question: asked again, it is answered alike."""
    if not cohort.secret:
        raise ProtocolError("the question is answered by chance, and this cohort has no secret to draw by")
    return hmac.digest(cohort.secret, purpose + hashlib.sha256(questions.encode(question)).digest(), "sha256")
