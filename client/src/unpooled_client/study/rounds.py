"""Answering a question: decode it, compute at this cohort, pack, mask; and deal where it is its turn.

A nonce is drawn each time that numbers are computed, so no two sets of numbers ever share a mask: what is
sent again is the same bytes, and what is computed again has a new nonce. Masks of pairs have none: there
`unpooled_client.study.unsent` sees to it that a round has one share.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort
from unpooled.asking.draws import drawing
from unpooled.asking.question import Arrays, Question
from unpooled.errors import CodecError, ProtocolError
from unpooled.methods.presence import Presence
from unpooled.protocol import masking, messages, two_party, witness
from unpooled.protocol.dealing import dealer_of
from unpooled.protocol.encrypted import carrier
from unpooled.protocol.encrypted.carrier import Carrier, Encrypting
from unpooled.protocol.masking import MaskContext, Scheme
from unpooled.protocol.messages import Sealed
from unpooled.protocol.pairs import PairContext, Pairs
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import SigningKey
from unpooled.protocol.showing import set_third_check
from unpooled.protocol.witness import Witnessed
from unpooled_client.study.book import Asked, Book, Dealt
from unpooled_client.study.trust import SAME_RELEASE, TELL_BOTH, TELL_OPERATOR, Distrust, Terms
from unpooled_client.study.unsent import Unsent

MAX_SHARE_BYTES = 1 << 30
"""A larger share is asked by no honest server, and would take the memory of this computer."""

Compute: TypeAlias = Callable[[Question, Cohort], Arrays]
"""Computes what a question asks of a cohort: here, or at the workers of a cluster."""


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
    compute: Compute = questions.answer
    own: bytes = field(default=b"", repr=False)
    """The seed that nobody else has."""
    follow: Callable[[messages.Question], Question] = _not_followed
    """This cohort's own run of the study: finds what a message names."""
    witness: bytes = field(default=b"", repr=False)
    """Is the secret of cohorts and compensator, in memory only: it comes again with each look."""
    code_keys: bytes = b""
    pairs: Pairs | None = None
    """Are the secrets shared with each other cohort where there is no compensator, in memory only."""
    carrier: Carrier | None = None
    """Encrypts what is masked, if the plan says so."""
    unsent: Unsent | None = None
    """Keeps shares that have no nonce, as those under masks of pairs."""

    def paired(self, sealed: Sealed, signer: SigningKey, secret: bytes = b"") -> Answerer:
        """Open what the others have sealed to this cohort; Distrust unless each did so for these terms.

        `secret` is this cohort's key, where shares are encrypted.
        """
        terms, parts = self.terms, sealed.key_parts
        try:
            if len(parts) != terms.plan.cohorts * terms.plan.is_encrypted:
                raise ProtocolError(f"there are {len(parts)} parts of a key")
            pairs = terms.meeting.unseal(terms.cohort, self.seed, signer, sealed.boxes, parts)
        except ProtocolError as error:
            raise Distrust(
                Problem.QUESTION, f"the other cohorts' parts of masks are not to be used: {error}.", TELL_BOTH
            ) from error
        encrypts = Encrypting(terms.meeting, terms.cohort, signer, secret, parts) if parts else None
        return replace(self, witness=pairs.witness, pairs=pairs, carrier=encrypts)

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

    def question(self, message: messages.Question) -> Question:
        """The question that a message names, or with which a list of variants is agreed on; else Distrust."""
        question = self.follow(message) if message.place else self._decoded(message)
        scheme = self.terms.plan.scheme(question.ring_bits)
        words = questions.words(question, scheme)
        # Before anything is computed or entered: it must hold the check, and fit into memory.
        if not scheme.check_words <= words <= MAX_SHARE_BYTES // scheme.word_bytes:
            raise Distrust(
                Problem.QUESTION, f"round {message.round} asks for {words:,} numbers at once.", TELL_OPERATOR
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

    def enter(self, message: messages.Question, question: Question, panel: bytes = b"") -> Entered:
        """Write the question into the book, before anything of the answer leaves.

        `panel` is the digest of the agreed variants, empty before. The same again changes nothing. Distrust
        where the book says that it must not be answered.
        """
        named = masking.question(message.salt, message.question or questions.encode(question), panel)
        entered = Entered(self, message, question, named)
        size = entered.words * entered.scheme.word_bytes
        self.book.enter(Asked(message.round, named, question, panel, size, message.place))
        return entered


@dataclass(frozen=True, eq=False)
class Entered:
    """A question that stands in the book: what answers it may leave."""

    answerer: Answerer
    message: messages.Question
    question: Question
    named: bytes
    """The round's question as masks name it: its digest with the salt and the panel's digest."""

    @property
    def scheme(self) -> Scheme:
        return self.answerer.terms.plan.scheme(self.question.ring_bits)

    @property
    def words(self) -> int:
        return questions.words(self.question, self.scheme)

    @property
    def witnessed(self) -> Witnessed:
        """Return the secret and the round, from which the second checks follow."""
        terms, secret = self.answerer.terms, self.answerer.witness
        if not secret:
            raise AssertionError("no witness was opened")
        # One cohort adds the pad, else the sums would have it several times.
        first, _ = terms.roster.members[0]
        return Witnessed(secret, self.message.round, self.named, adds_pad=terms.cohort == first)

    def context(self, nonce: bytes) -> MaskContext:
        """Return what binds the mask of the share with this nonce."""
        circuit = self.question.opens.circuit if self.question.opens else None
        return masking.context_of(circuit, cohort=self.answerer.terms.cohort, nonce=nonce, **self._bound)

    @property
    def _bound(self) -> dict[str, Any]:
        """Names that bind both masks and dealings."""
        return self.answerer.terms.bound(self.question, self.message.round, self.named)

    @property
    def _deals(self) -> bool:
        """Tell whether it is this cohort's turn to deal for a comparison, which it does before it answers."""
        terms = self.answerer.terms
        return bool(self.question.opens) and dealer_of(terms.roster, self.message.round) == terms.cohort

    def _packed(self, cohort: Cohort) -> np.ndarray:
        """Compute this cohort's answer, not masked yet."""
        question, plan, scheme = self.question, self.answerer.terms.plan, self.scheme
        cohort = drawing(cohort, question, self.answerer.own)
        arrays, columns = self.answerer.compute(question, cohort), question.columns_under(plan)
        salt = self.message.salt
        return questions.pack(question, arrays, scheme, plan.cohorts, salt, columns, self.witnessed)

    def _masked(self, cohort: Cohort) -> tuple[bytes, bytes]:
        """Compute and mask this cohort's answer: its nonce, and its bytes."""
        own, scheme = self.answerer, self.scheme
        if own.pairs is None or own.unsent is None:
            nonce = os.urandom(masking.NONCE_BYTES)
            context = self.context(nonce)
            masked = scheme.add(self._packed(cohort), masking.mask(own.seed, context))
            if self.question.opens:
                dealt = own.book.dealt[self.message.round].digest if self._deals else b""
                set_third_check(masked, own.witness, context, dealt)
            return nonce, scheme.to_bytes(masked)
        number, title = self.message.round, self.question.title
        data = own.unsent.kept(number, title)
        if data is None:
            pair = PairContext(**self._bound)
            data = scheme.to_bytes(scheme.add(self._packed(cohort), own.pairs.mask(pair)))
            if own.carrier:
                data = own.carrier.upload(data, pair)
            own.unsent.keep(number, title, data)
        # The server tells uploads apart by their nonces: of these there is one, so they are named after it.
        return hashlib.sha256(data).digest()[: masking.NONCE_BYTES], data

    @property
    def share_bytes(self) -> int:
        """The exact length of what leaves for this cohort's share."""
        if self.answerer.carrier:
            return carrier.upload_bytes(self.scheme.label, self.words)
        return self.words * self.scheme.word_bytes

    def help(self, shares: bytes) -> bytes:
        """This cohort's help in reading the sum of all cohorts' shares; Distrust if these are not theirs."""
        own, size = self.answerer, self.share_bytes
        if own.carrier is None or own.unsent is None:
            raise AssertionError("nothing is encrypted")
        each = [shares[at : at + size] for at in range(0, len(shares), size)]
        made = functools.partial(own.carrier.help, each, PairContext(**self._bound))
        try:
            return own.unsent.help(self.message.round, shares, made)
        except ProtocolError as error:
            problem = f"the server hands out other shares than the cohorts': {error}."
            raise Distrust(Problem.QUESTION, problem, TELL_BOTH) from error

    def dealing(self) -> Dealing | None:
        """Return this cohort's dealing, the same whenever it is asked; None if it is another's turn."""
        own, question, number = self.answerer, self.question, self.message.round
        if not self._deals:
            return None
        context = own.terms.dealing(question, number, self.named)
        data = two_party.deal(own.seed, own.own, context)
        own.book.deal(question, Dealt(number, context.circuit, hashlib.sha256(data).digest()))
        return Dealing(number, data, question.title)

    def share(self, cohort: Cohort) -> Share:
        """Return this cohort's masked answer. `cohort` is aligned with the panel that was entered.

        Raises BoundError for numbers that cannot be summed safely.
        """
        started = time.perf_counter()
        question, plan = self.question, self.answerer.terms.plan
        nonce, data = self._masked(cohort)
        if len(data) != self.share_bytes:
            raise ProtocolError(f"{question.title}: a share of {len(data)} bytes; want {self.words} words")
        return Share(
            self.message.round,
            nonce,
            data,
            question.title,
            questions.at_turn(question.title, question.most_turns(plan), question.turn, question.turn),
            tuple(array.name for array in question.sends if math.prod(questions.shape(question, array))),
            int(getattr(question, "start", 0)),
            variants_of(question),
            time.perf_counter() - started,
        )


def _check_compared(round_: int, scheme: str, circuit: str, words: int) -> None:
    """Distrust where server and compensator could not compare what is asked for."""
    try:
        two_party.lengths(scheme, circuit, words)
    except ProtocolError as error:
        raise Distrust(
            Problem.QUESTION, f"round {round_} asks for what cannot be compared: {error}.", TELL_OPERATOR
        ) from error


def variants_of(question: Question) -> int:
    """Count the panel's variants that a question covers; 0 if it does not go over a range of them."""
    start = getattr(question, "start", None)
    return question.reach - start if isinstance(start, int) else 0
