"""Answering a question: decode the step, compute at this cohort, pack, mask.

A nonce is drawn each time that numbers are computed, so no two sets of numbers ever share a mask: what is
sent again is the same bytes, and what is computed again has a new nonce.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field

import numpy as np

from unpooled import step as steps
from unpooled.algorithms import steps_of
from unpooled.cohort import Cohort
from unpooled.errors import CodecError, ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Question
from unpooled.protocol.problems import Problem
from unpooled.step import Step
from unpooled_client.book import Asked, Book
from unpooled_client.cluster import Compute, compute_here
from unpooled_client.trust import Distrust, Terms

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
    """Of computing, packing and masking."""


@dataclass(frozen=True)
class Answerer:
    """Answers the questions of one study, under the terms that were accepted."""

    terms: Terms
    seed: bytes = field(repr=False)
    book: Book
    """Of this seed."""
    compute: Compute = compute_here

    def step(self, question: Question) -> Step:
        """The step that is asked for; Distrust unless the plan has it."""
        plan = self.terms.plan
        try:
            step = steps.decode(question.step, steps_of(plan))
            scheme = plan.scheme(step.ring_bits)
            words = steps.words(step, scheme)
        except CodecError as error:
            raise Distrust(
                Problem.QUESTION,
                f"round {question.round} asks for something that {plan.test} does not have: {error}.",
                "Nothing was sent for it. Server and client must be of the same version.",
            ) from error
        if not step.agrees(plan):
            raise Distrust(
                Problem.QUESTION,
                f"round {question.round} asks for what the accepted plan does not allow ({step.title}).",
                "Nothing was sent for it. Tell the coordinator and the server's operator.",
            )
        if not scheme.check_words <= words <= MAX_SHARE_BYTES // scheme.word_bytes:
            raise Distrust(
                Problem.QUESTION,
                f"round {question.round} asks for {words:,} numbers at once.",
                "Nothing was sent for it. Tell the server's operator.",
            )
        return step

    def share(self, question: Question, step: Step, cohort: Cohort, panel: bytes = b"") -> Share:
        """This cohort's masked answer to a question, of which `step` was decoded.

        `panel` is the digest of the agreed variants that `cohort` is aligned with, empty before.
        Raises BoundError for numbers that cannot be summed safely, and Distrust where no honest study asks
        this beside what was answered before.
        """
        started = time.perf_counter()
        scheme = self.terms.plan.scheme(step.ring_bits)
        asked = masking.question(question.salt, question.step, panel)
        size = steps.words(step, scheme) * scheme.word_bytes
        self.book.enter(Asked(question.round, asked, step, question.step, panel, size))
        nonce = os.urandom(masking.NONCE_BYTES)
        context = self._context(question, step, panel, nonce)
        packed = self._pack(question, step, cohort)
        data = scheme.to_bytes(scheme.add(packed, masking.mask(self.seed, context)))
        if len(data) != context.words * scheme.word_bytes:
            raise ProtocolError(f"{step.title}: a share of {len(data)} bytes; want {context.words} words")
        return Share(
            question.round,
            nonce,
            data,
            step.title,
            steps.at_turn(step.title, self.terms.plan, step.turn, step.turn),
            tuple(array.name for array in step.sends if math.prod(steps.shape(step, array))),
            int(getattr(step, "start", 0)),
            variants_of(step),
            time.perf_counter() - started,
        )

    def _context(self, question: Question, step: Step, panel: bytes, nonce: bytes) -> MaskContext:
        terms = self.terms
        scheme = terms.plan.scheme(step.ring_bits)
        return MaskContext(
            study=terms.study,
            plan_hash=terms.plan_hash,
            roster_hash=terms.roster_hash,
            cohort=terms.cohort,
            round=question.round,
            question=masking.question(question.salt, question.step, panel),
            scheme=scheme.label,
            words=steps.words(step, scheme),
            nonce=nonce,
        )

    def _pack(self, question: Question, step: Step, cohort: Cohort) -> np.ndarray:
        plan, arrays = self.terms.plan, self.compute(step, cohort)
        scheme, columns = plan.scheme(step.ring_bits), step.columns_under(plan)
        return steps.pack(step, arrays, scheme, plan.cohorts, question.salt, columns)


def variants_of(step: Step) -> int:
    """How many of the panel's variants a step goes over, if it goes over a range of them."""
    start = getattr(step, "start", None)
    return step.reach - start if isinstance(start, int) else 0
