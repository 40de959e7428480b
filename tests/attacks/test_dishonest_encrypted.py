"""A server hands out other shares than the cohorts', where these are encrypted, or wants help twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unpooled.plan.common_options import ENCRYPTED
from unpooled.protocol.encrypted import worker
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book
from unpooled_client.study.trust import Distrust
from unpooled_client.study.unsent import Unsent

from ..federation import SMALL_CHUNK, Federation
from ..plinks import needed
from ..relay import Message, with_body
from .lying import SHARES, Lying

ALL = "GET /api/v1/cohort/shares/"
HELPS = "PUT /api/v1/cohort/helps/"


def one_three_times(body: bytes) -> bytes:
    return body[: len(body) // 3] * 3


def in_another_order(body: bytes) -> bytes:
    return body[len(body) // 3 :] + body[: len(body) // 3]


def one_alone(body: bytes) -> bytes:
    return body[: len(body) // 3]


def test_no_help_is_had_for_other_sums(
    running: Federation, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    lying = Lying(running.study(small, chunk_size=SMALL_CHUNK, trust=ENCRYPTED))
    victim, relay = lying.trial.cohorts[0], lying.relays[0]

    def told(lie: Callable[[bytes], bytes]) -> Callable[[Message, Message], Message]:
        def change(request: Message, answer: Message) -> Message:
            is_asked = request.line.startswith(ALL) and answer.body
            return with_body(answer, lie(answer.body)) if is_asked else answer

        return change

    first, *others = (one_three_times, in_another_order, one_alone)
    relay.change = told(first)
    lying.trial.start()
    for lie in (first, *others):
        relay.change = told(lie)
        if lie is not first:
            victim.party.start()
        lying.trial.until(lambda: victim.party.has_ended, "the victim ends")
        assert victim.party.wait() == Exit.REFUSED, victim.party.said()
        assert "hands out other shares than the cohorts" in victim.party.said(), lie
        assert relay.found(SHARES) and not relay.found(HELPS)
    relay.change = lambda request, answer: answer
    victim.party.start()
    lying.trial.until_over()
    assert victim.results() == undisturbed
    lying.close()
    lying.trial.stop()


def test_help_is_given_once_in_a_round(tmp_path: Path) -> None:
    """A second one for the same shares would have other noise; the mean of many would have little."""
    folder, seed, made = StateFolder(tmp_path), bytes(32), list[bytes]()

    def start() -> Unsent:
        return Unsent(folder.unsent, Book(folder.book, seed, lambda kind: None))

    def make() -> bytes:
        made.append(bytes([len(made)]))
        return made[-1]

    Book.begin(folder.book, seed)
    first = start().help(1, b"shares", make)
    assert start().help(1, b"shares", make) == first and made == [first]  # after a crash, too
    with pytest.raises(Distrust, match="by other shares"):
        start().help(1, b"others", make)
    start().erase(1)
    for shares in (b"shares", b"others"):
        with pytest.raises(Distrust, match="after it had it"):
            start().help(1, shares, make)
    assert made == [first]
