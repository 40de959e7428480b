"""Stubs that leak, or let pass, on purpose, put into a party by tests/launch.py: what a test must find."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np


def no_mask(original: Any, seed: bytes, context: Any) -> np.ndarray:
    """Replace `unpooled.protocol.masking.mask`: zeros."""
    return np.zeros_like(original(seed, context))


def no_mask_blocks(original: Any, seed: bytes, context: Any, block: int) -> Iterator[np.ndarray]:
    """Replace `unpooled.protocol.masking.mask_blocks`: zeros."""
    return map(np.zeros_like, original(seed, context, block))


def constant_check(original: Any, share: np.ndarray, scheme: Any, salt: bytes, shares: int = 1) -> int:
    """Replace `unpooled.asking.question.check_of`: no secret combination, but the number of shares."""
    return shares


def same_question(original: Any, *arguments: Any) -> bytes:
    """Replace `unpooled.protocol.masking.question`: it binds nothing."""
    return bytes(32)


def telling_nonce(original: Any, self: Any, cohort: Any) -> Any:
    """Replace the client's `Entered.share`: the nonce, which the compensator gets, is 16 counts."""
    counts = (next(iter(self.question.local(cohort).values())).ravel() & 255).astype(np.uint8).tobytes()
    random, os.urandom = os.urandom, lambda size: (counts + bytes(size))[:size]
    try:
        return original(self, cohort)
    finally:
        os.urandom = random


def false_dealing(original: Any, *arguments: Any) -> bytes:
    """Replace `unpooled.protocol.two_party.deal`: as many bytes, and of no use."""
    return os.urandom(len(original(*arguments)))


def flipped_dealing(original: Any, seed: bytes, own: bytes, context: Any) -> bytes:
    """Replace the same: the bit that tells whether enough people have the third value is inverted."""
    from unpooled.protocol import two_party

    dealing: bytes = original(seed, own, context)
    if context.circuit != "both-at-least":
        return dealing
    found, rows = two_party._of(context.scheme, context.circuit, context.words)
    layers = found.dealt(rows)[:-1]  # the last one has a bit for each row
    place = two_party.dealing.KEY_BYTES + sum(layer.bound_bytes for layer in layers)
    return dealing[:place] + bytes([dealing[place] ^ 1 << 2]) + dealing[place + 1 :]


def another_key(original: Any, *arguments: Any) -> bytes:
    """Replace the compensator's `compensator_key` of codes: a new key for each call."""
    from unpooled.protocol import oprf

    return oprf.random_key()


def hides_nothing(original: Any, self: Any, word: str) -> bytes:
    """Replace `Blinding._number`: one, so the point of a word goes out as it is."""
    return (1).to_bytes(32, "little")


def checks_nothing(original: Any, *arguments: Any) -> None:
    """Replace a check that raises: of a book, a file's name or origin, a cohort's signature."""


def leaves_out_variants(original: Any, lists: Any) -> Iterator[Any]:
    """Replace the server's `reconciled`: of what all have, those stay whose names say so."""
    for agreement in original(lists):
        chosen = [name.startswith(b"chosen") for name in agreement.panel.name.tolist()]
        yield replace(agreement, panel=agreement.panel.take(np.flatnonzero(chosen)))


def answers_what_is_sent(original: Any, self: Any, message: Any) -> Any:
    """Replace the client's `Answerer._decoded`: a question need not be one of its own run."""
    from unpooled.asking import question as questions
    from unpooled.methods import questions_of

    return questions.decode(message.question, questions_of(self.terms.plan), self.terms.plan)


def accepts_what_is_changed(original: Any, self: Any, asked: Any) -> None:
    """Replace the client's `Engine.accept_unseen`: `--yes` covers whatever comes."""
    self.accept(asked)


def takes_any_plan(original: Any, study: Any, saved: Any) -> Any:
    """Replace the client's `agreed_plan`: the server's plan need not be the accepted one."""
    return study.plan


def has_everything(original: Any, *arguments: Any) -> Any:
    """Replace the server's `_quantities`: any text is the name of one."""

    class Everything:
        def __contains__(self, name: object) -> bool:
            return True

    return Everything()


def reads_all(original: Any, answer: Any, most: int) -> bytes:
    """Replace the server's `_content` of a compensator's answer: however long, and decompressed."""
    content: bytes = answer.read()
    return content


# By the place whose function each stands in for, in groups. As text, like the places in launch.py.
def jumps(original: Any) -> Any:
    """Replace Django's `timezone.now`: so many days later as the file `clock` in the platform's home says."""
    with contextlib.suppress(FileNotFoundError):
        return original() + timedelta(days=int(Path(os.environ["UNPOOLED_HOME"], "clock").read_text()))
    return original()


MASKS = {"unpooled.protocol.masking:mask": no_mask, "unpooled.protocol.masking:mask_blocks": no_mask_blocks}


def tells_each_another_part(original: Any, self: Any, cohort: str, seed: bytes, *more: Any) -> Any:
    """Replace `unpooled.protocol.pairs:Meeting.seal`: each other cohort gets another part of the witness."""
    boxes = []
    for number in range(len(self.others(cohort))):
        changed = replace(self)
        object.__setattr__(changed, "_part", lambda _, *names: type(self)._part(self, seed, *names))
        boxes.append(original(changed, cohort, bytes([number]) * 32, *more)[number])
    return tuple(boxes)


NONCE = {"unpooled_client.study.rounds:Entered.share": telling_nonce}
CODE_KEY = {"unpooled.protocol.codes:compensator_key": another_key}
OPEN_WORDS = {"unpooled.protocol.codes:Blinding._number": hides_nothing}
CHECK = {"unpooled.asking.question:check_of": constant_check}
UNBOUND = {"unpooled.protocol.masking:question": same_question}
DEALING = {"unpooled.protocol.two_party:deal": false_dealing}
FLIPPED = {"unpooled.protocol.two_party:deal": flipped_dealing}
CHOSEN = {"unpooled_server.services.panels:reconciled": leaves_out_variants}
SENT = {"unpooled_client.study.rounds:Answerer._decoded": answers_what_is_sent}
BOOK = {"unpooled_client.study.book:Book._require_allowed": checks_nothing}
# Without the first, the book still knows how much was released: the answers about a short list.
LIST = {"unpooled_client.study.reading:_check_listed": checks_nothing} | BOOK
CONSENT = {"unpooled_client.study.engine:Engine.accept_unseen": accepts_what_is_changed}
NAMES = {"unpooled_client.study.delivery:check_offered": checks_nothing}
ORIGIN = {"unpooled_client.state.written:Written.refuse_foreign": checks_nothing}
AGREEMENT = {"unpooled_client.study.delivery:agreed_plan": takes_any_plan}
PARTS = {"unpooled.protocol.pairs:Meeting.seal": tells_each_another_part}
GUARDS = {
    "unpooled_server.services.uploads:require_admitted": checks_nothing,
    "unpooled_server.services.joining:_verify": checks_nothing,
    "unpooled_server.services.joining:_quantities": has_everything,
    "unpooled_server.services.panels:hand_over": checks_nothing,
}
UNHURRIED = {
    "unpooled_webapp.http_worker:Worker.murder_pending": checks_nothing,
    "unpooled_compensator.patience:PatientProtocol._give_up_after": checks_nothing,
}
CONTENT = {"unpooled_server.compensator_client:_content": reads_all}
CLOCK = {"django.utils.timezone:now": jumps}
EVERYWHERE = {
    place
    for stubs in list(vars().values())
    if isinstance(stubs, dict)
    for place in stubs
    if isinstance(place, str) and ":" in place
}
"""Every place with a stub."""
