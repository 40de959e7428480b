"""Shares of one round as they lie in files: masked, so only all of them together are of use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unpooled.asking import question as questions
from unpooled.asking.question import Question
from unpooled.methods import questions_of
from unpooled.plan.plan import Plan
from unpooled.protocol import masking
from unpooled_server.models import Asked, Round, Share
from unpooled_server.services.branches import Content
from unpooled_server.storage import store


def asked(current: Round, plan: Plan) -> Question:
    """The question of a round; LostFile once it is settled."""
    found = Asked.objects.filter(round=current).first()
    if found is None:
        raise store.LostFile("what was asked is gone")
    content = Content(bytes(found.message), found.file).read(current.study)
    return questions.decode(content, questions_of(plan), plan)


def total(current: Round, shares: Iterable[Share]) -> np.ndarray:
    """The sum of the masked shares of a round; LostFile."""
    scheme = masking.scheme(current.scheme)
    found = scheme.zeros(current.words)
    for share in shares:
        scheme.add_to(found, scheme.from_bytes(store.load_share(path(share), share.size), current.words))
    return found


def uploads(shares: Iterable[Share]) -> tuple[tuple[str, bytes], ...]:
    """Cohort and nonce of each share, as the compensator is asked about them."""
    return tuple(sorted((share.cohort.name, bytes.fromhex(share.nonce)) for share in shares))


def path(share: Share) -> Path:
    return store.share_path(share.study_id, share.round_id, share.cohort_id, share.nonce)


def drop(current: Round, shares: Iterable[Share]) -> None:
    """Delete the bytes of a round that is settled."""
    whole = [path(share) for share in shares]
    helps = [each.with_name(f"{each.name}.help") for each in whole if current.study.is_encrypted]
    dealing = [store.dealing_path(current.study_id, current.pk)] if current.circuit else []
    store.kept().delete([*whole, *helps, *dealing])
