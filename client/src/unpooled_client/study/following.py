"""Following a study: this cohort runs the procedure itself, and answers what its own run asks.

The server names a place in the study. What is asked there follows from the plan, the agreed variants and the
sums so far. These the server tells, and the cohorts' own check shows that they are what cohorts have sent: so
nobody can choose a question. Sums are had as they are needed, and again after a restart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unpooled.asking import compared_sums
from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree, digest
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.errors import ProtocolError, Refuse
from unpooled.memory.spool import Shelf
from unpooled.methods import questions_of, whole, with_chunks
from unpooled.panel.panel import Panel
from unpooled.protocol import codec, masking, messages
from unpooled.protocol.messages import Shown, Told
from unpooled.protocol.problems import Problem
from unpooled.protocol.witness import Witnessed
from unpooled_client.study.resting import RestingPlaces
from unpooled_client.study.trust import SAME_RELEASE, TELL_BOTH, Distrust, Terms


@dataclass
class Following:
    """This cohort's own run of a study. May be used by several threads."""

    terms: Terms
    fetch: Callable[[str], Told]
    """Gets the sums of a place, given its label."""
    show: Callable[[str], Shown]
    """Gets the comparison at a place, likewise."""
    panel: Callable[[], Panel]
    """The agreed variants, once there are any."""
    witness: Callable[[], bytes]
    heard: Callable[[Question, str, Told], None]
    """Takes note of the sum of a place that was told, and is what cohorts have sent."""
    tell: Callable[[int, float], None] = lambda received, seconds: None
    """Hears how many bytes of sums have come since it was called, and how long following took."""
    places: RestingPlaces | None = None
    """Keeps large states for after a restart."""
    shelf: Shelf = field(default_factory=Shelf)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def _tree(self) -> Tree:
        plan = with_chunks(self.terms.plan)
        study = Study(plan, self.panel)
        resting = self.places.newest(study) if self.places else None
        return Tree(whole(study), questions_of(plan), self._sums, shelf=self.shelf, resting=resting)

    def question(self, message: messages.Question) -> Question:
        """The question that a message names; Distrust where this cohort's own run asks no such question."""
        try:
            # One thread runs the study at a time; what it asks is then answered side by side.
            with self.lock:
                self._since = time.perf_counter()
                question = self._tree.question(Place.of(message.place))
                if self.places and (resting := self._tree.resting):
                    self.places.keep(resting)
                self._count(0)
        except (ProtocolError, Refuse) as error:
            raise Distrust(
                Problem.QUESTION,
                f"round {message.round} is about the place {message.place[:40]} in the study, and this "
                f"cohort's own run of it does not come there: {str(error).rstrip('.')}.",
                TELL_BOTH,
            ) from error
        if digest(question) != message.digest:
            raise Distrust(
                Problem.QUESTION,
                f"round {message.round} asks for something else than this cohort's own run of the study "
                f"does ({question.title}).",
                SAME_RELEASE,
            )
        return question

    def keeps(self, message: messages.Question) -> bool:
        """Tell whether this cohort needs no sums any more from before the question that a message names."""
        place = Place.of(message.place)
        return self.places is not None and not place.path and self.places.has_both(place.number)

    def _sums(self, place: Place, question: Question) -> Arrays:
        """The sums that were asked for at a place; ProtocolError if they are not what cohorts have sent."""
        told = self.fetch(place.label)
        self._count(len(told.total))
        found = self._compared(question, told, place) if question.opens else self._verified(question, told)
        self.heard(question, place.label, told)
        return found

    def _verified(self, question: Question, told: Told) -> Arrays:
        plan = self.terms.plan
        witnessed = Witnessed(self.witness(), told.round, self._named(question, told))
        scheme = plan.scheme(question.ring_bits)
        return questions.verified(question, told.total, scheme, plan.cohorts, told.salt, witnessed)

    def _compared(self, question: Question, told: Told, place: Place) -> Arrays:
        """The bits that are told; ProtocolError if they are not those of what the cohorts have sent.

        Whoever dealt takes them as they are told: in the rest it would read the sums. If it is told others,
        it is led to other questions than the rest of the cohorts, and its masks do not cancel.
        """
        bits, terms = _bits(question, told.total), self.terms
        context = terms.dealing(question, told.round, self._named(question, told))
        if context.dealer == terms.cohort:
            return bits
        shown, scheme = self.show(place.label), terms.plan.scheme(question.ring_bits)
        self._count(len(shown.total) + len(shown.dealing) + sum(map(len, shown.answers)))
        names = [name for name, _ in terms.roster.members]
        found = compared_sums.shown_bits(question, shown, scheme, names, context, self.witness())
        if any(not np.array_equal(bits[name], found[name]) for name in bits):
            raise ProtocolError(f"{question.title}: the server tells other bits than its comparison gives")
        return bits

    def _named(self, question: Question, told: Told) -> bytes:
        """The digest of a question in the round of which the server tells."""
        panel = b"" if self.terms.plan.of_tables else self.panel().digest
        return masking.question(told.salt, questions.encode(question), panel)

    def _count(self, received: int) -> None:
        now = time.perf_counter()
        self.tell(received, now - self._since)
        self._since = now


def _bits(question: Question, told: bytes) -> Arrays:
    """The bits that are told of a comparison. ProtocolError if they are of another form."""
    found = codec.decode(told)
    want = questions.shape(question, question.opens) if question.opens else ()
    match found:
        case (np.ndarray(dtype=np.bool_, shape=shape),) if shape == want:
            return dict(zip(questions.returns(question), found, strict=True))
    raise ProtocolError(f"{question.title}: what the server tells of the comparison is not bits")
