"""Answering a question: decode it, compute at this cohort, pack, mask; and deal where it is its turn.

A nonce is drawn each time that numbers are computed, so no two sets of numbers ever share a mask: what is
sent again is the same bytes, and what is computed again has a new nonce.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Question
from unpooled.errors import CodecError, ProtocolError
from unpooled.methods.presence import Presence
from unpooled.protocol import masking, messages, two_party, witness
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.problems import Problem
from unpooled.protocol.witness import Witnessed
from unpooled_client.study.book import Asked, Book, Dealt
from unpooled_client.study.cluster import Compute, compute_here
from unpooled_client.study.trust import SAME_RELEASE, TELL_BOTH, TELL_OPERATOR, Distrust, Terms

MAX_SHARE_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Share:
    """A masked answer, ready to be sent: it says nothing about the numbers in it."""

    round: int
    nonce: bytes
    data: bytes = field(repr=False)
    title: str
    progress: str
    """The title with the iteration, where there is one."""
    arrays: tuple[str, ...]
    start: int
    """Panel index of the first variant that the question is about."""
    variants: int
    """Panel variants that the question covers, 0 where it is about something else."""
    seconds: float
    """Seconds of computing, packing and masking."""


@dataclass(frozen=True, eq=False)
class Dealing:
    """Random numbers by which server and compensator compare the sums of a round; nothing of the data."""

    round: int
    data: bytes = field(repr=False)
    title: str


def _not_followed(message: messages.Question) -> Question:
    raise Distrust(
        Problem.QUESTION, f"round {message.round} names a question and does not ask it.", TELL_OPERATOR
    )


@dataclass(frozen=True)
class Answerer:
    """Answers the questions of one study, under the terms that were accepted."""

    terms: Terms
    seed: bytes = field(repr=False)
    book: Book
    """Book of this seed."""
    compute: Compute = compute_here
    own: bytes = field(default=b"", repr=False)
    """The seed that nobody else has."""
    follow: Callable[[messages.Question], Question] = _not_followed
    """This cohort's own run of the study: finds what a message names."""
    witness: bytes = field(default=b"", repr=False)
    """Is the secret of cohorts and compensator, in memory only: it comes again with each look."""
    code_keys: bytes = b""

    def witnessing(self, sealed: bytes, code_keys: bytes = b"") -> Answerer:
        """Open what the server sends as sealed for this cohort; Distrust unless the compensator sealed it.

        It did so for these public keys of the codes of words, where there are any.
        """
        try:
            opened = witness.unsealed(sealed, self.seed, self.terms.purpose, code_keys)
        except ProtocolError as error:
            raise Distrust(
                Problem.QUESTION,
                f"questions came without the compensator's secret for this cohort: {error}.",
                TELL_BOTH,
            ) from error
        return replace(self, witness=opened, code_keys=code_keys)

    def witnessed(self, message: messages.Question, question: Question, panel: bytes) -> Witnessed:
        """Name what the second checks of a round follow from."""
        if not self.witness:
            raise AssertionError("no witness was opened")
        first, _ = self.terms.roster.members[0]
        asked = self._named(message, question, panel)
        return Witnessed(self.witness, message.round, asked, adds_pad=self.terms.cohort == first)

    def question(self, message: messages.Question) -> Question:
        """The question that a message names, or with which a list of variants is agreed on; else Distrust."""
        question = self.follow(message) if message.place else self._decoded(message)
        scheme = self.terms.plan.scheme(question.ring_bits)
        words = questions.words(question, scheme)
        if not scheme.check_words <= words <= MAX_SHARE_BYTES // scheme.word_bytes:
            raise Distrust(
                Problem.QUESTION,
                f"round {message.round} asks for {words:,} numbers at once.",
                TELL_OPERATOR,
            )
        if question.opens:
            _check_compared(message.round, scheme.label, question.opens.circuit, words)
        return question

    def _decoded(self, message: messages.Question) -> Question:
        """The question in a message; Distrust unless it is about a list, for no other is sent."""
        plan = self.terms.plan
        try:
            return questions.decode(message.question, [Presence] if plan.panel_mode == "list" else [])
        except CodecError as error:
            raise Distrust(
                Problem.QUESTION,
                f"round {message.round} asks for something that {plan.test} does not have: {error}.",
                SAME_RELEASE,
            ) from error

    def enter(self, message: messages.Question, question: Question, panel: bytes) -> None:
        """Write the question into the book, before anything of the answer leaves.

        The same again changes nothing. Distrust where the book says that it must not be answered.
        """
        scheme = self.terms.plan.scheme(question.ring_bits)
        asked = self._named(message, question, panel)
        size = questions.words(question, scheme) * scheme.word_bytes
        self.book.enter(Asked(message.round, asked, question, panel, size, message.place))

    def share(
        self, message: messages.Question, question: Question, cohort: Cohort, panel: bytes = b""
    ) -> Share:
        """This cohort's masked answer to the question of a message.

        `panel` is the digest of the agreed variants that `cohort` is aligned with, empty before.
        Raises BoundError for numbers that cannot be summed safely, and Distrust as
        `enter` does.
        """
        started = time.perf_counter()
        scheme = self.terms.plan.scheme(question.ring_bits)
        self.enter(message, question, panel)
        nonce = os.urandom(masking.NONCE_BYTES)
        context = self._context(message, question, panel, nonce)
        packed = self._pack(message, question, cohort, panel)
        data = scheme.to_bytes(scheme.add(packed, masking.mask(self.seed, context)))
        if len(data) != context.words * scheme.word_bytes:
            raise ProtocolError(f"{question.title}: a share of {len(data)} bytes; want {context.words} words")
        return Share(
            message.round,
            nonce,
            data,
            question.title,
            questions.at_turn(
                question.title, question.most_turns(self.terms.plan), question.turn, question.turn
            ),
            tuple(array.name for array in question.sends if math.prod(questions.shape(question, array))),
            int(getattr(question, "start", 0)),
            variants_of(question),
            time.perf_counter() - started,
        )

    def dealing(self, message: messages.Question, question: Question, panel: bytes = b"") -> Dealing | None:
        """Return this cohort's dealing for a round, the same whenever it is asked; None if another cohort
        deals.

        Raises Distrust as `share` does, which comes after it: the server takes them in this order.
        """
        terms = self.terms
        if question.opens is None or dealer_of(terms.roster, message.round) != terms.cohort:
            return None
        self.enter(message, question, panel)
        scheme, circuit = terms.plan.scheme(question.ring_bits), question.opens.circuit
        context = DealingContext(
            study=terms.study,
            plan_hash=terms.plan_hash,
            roster_hash=terms.roster_hash,
            dealer=terms.cohort,
            round=message.round,
            question=self._named(message, question, panel),
            scheme=scheme.label,
            circuit=circuit,
            words=questions.words(question, scheme),
        )
        data = two_party.deal(self.seed, self.own, context)
        self.book.deal(question, Dealt(message.round, circuit, hashlib.sha256(data).digest()))
        return Dealing(message.round, data, question.title)

    def _named(self, message: messages.Question, question: Question, panel: bytes) -> bytes:
        """Name a round's question as masks do: by its digest with the salt and the panel's digest."""
        encoded = message.question or questions.encode(question)
        return masking.question(message.salt, encoded, panel)

    def _context(
        self, message: messages.Question, question: Question, panel: bytes, nonce: bytes
    ) -> MaskContext:
        terms = self.terms
        scheme = terms.plan.scheme(question.ring_bits)
        return masking.context_of(
            question.opens.circuit if question.opens else None,
            study=terms.study,
            plan_hash=terms.plan_hash,
            roster_hash=terms.roster_hash,
            cohort=terms.cohort,
            round=message.round,
            question=self._named(message, question, panel),
            scheme=scheme.label,
            words=questions.words(question, scheme),
            nonce=nonce,
        )

    def _pack(
        self, message: messages.Question, question: Question, cohort: Cohort, panel: bytes
    ) -> np.ndarray:
        plan, arrays = self.terms.plan, self.compute(question, cohort)
        scheme, columns = plan.scheme(question.ring_bits), question.columns_under(plan)
        witnessed = self.witnessed(message, question, panel)
        return questions.pack(question, arrays, scheme, plan.cohorts, message.salt, columns, witnessed)


def _check_compared(round_: int, scheme: str, circuit: str, words: int) -> None:
    """Distrust where server and compensator could not compare what is asked for."""
    try:
        two_party.lengths(scheme, circuit, words)
    except ProtocolError as error:
        raise Distrust(
            Problem.QUESTION,
            f"round {round_} asks for what cannot be compared: {error}.",
            TELL_OPERATOR,
        ) from error


def variants_of(question: Question) -> int:
    """Count the panel's variants that a question covers; 0 if it does not go over a range of them."""
    start = getattr(question, "start", None)
    return question.reach - start if isinstance(start, int) else 0
