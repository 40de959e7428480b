"""A whole study in one process, through the real encodings and real masks; and one cohort's own estimates.

`run` is for notebooks and tests: it does what the server, the compensator and the clients otherwise do across
a network. `run_alone` is what a cohort finds in its own data, beside a study.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from unpooled.asking import compared_sums
from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort, Table
from unpooled.asking.draws import drawing
from unpooled.asking.driver import Place, Tree, digest
from unpooled.asking.in_one_process import Alone, deriving, tables
from unpooled.asking.procedure import Call, Study
from unpooled.asking.question import Arrays, Question
from unpooled.errors import ProtocolError
from unpooled.methods import algorithm, presence, questions_of, whole, with_chunks
from unpooled.panel.panel import Panel
from unpooled.plan.plan import OwnPlan, Plan
from unpooled.protocol import masking, two_party, witness
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import Roster
from unpooled.protocol.pairs import Meeting, PairContext, Pairs
from unpooled.protocol.sealing import SigningKey, member_key
from unpooled.protocol.showing import set_third_check
from unpooled.protocol.witness import Witnessed

if TYPE_CHECKING:
    from unpooled.protocol.encrypted.carrier import Carrier

IN_PROCESS = "in process"
"""The study in every context here."""


def run(plan: Plan, panel: Panel, cohorts: Sequence[Cohort | Table]) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of a study over cohorts that are aligned with the panel.

    In a study of tables the cohorts are tables, and the panel is that of no variants.
    """
    plan = with_chunks(plan)
    ready = algorithm(plan.test).ready(cohorts, panel, plan)
    return _tables(whole(Study(plan, lambda: panel)), ready, questions_of(plan))


def reports(plan: Plan, panel: Panel, tables: Mapping[str, Arrays]) -> dict[str, bytes]:
    """The result files of a study of one phenotype, by the names that its plan calls them."""
    return {file: written(file, plan, panel, tables) for file in plan.files}


def written(file: str, plan: Plan, panel: Panel, tables: Mapping[str, Arrays]) -> bytes:
    """Write one result file of a study of one phenotype."""
    method = algorithm(plan.test)
    made = io.BytesIO()
    # A platform counts what goes through, and has no more of a file than this either.
    out = cast(BinaryIO, SimpleNamespace(write=made.write))
    method.files[file](out, panel, method.columns_for(file, tables), plan)
    return made.getvalue()


def present(plan: Plan, listed: int, cohorts: Sequence[Cohort]) -> np.ndarray:
    """Count the cohorts that have each of the `listed` variants of a coordinator's list: int64 (m,).

    The cohorts are beside the list: `unpooled.methods.presence.Listed`.
    """
    plan = with_chunks(plan)
    asked = presence.presence(Study(plan, lambda: Panel.of([])), listed)
    return _tables(asked, cohorts, [presence.Presence])[presence.TABLE]["cohorts"]


def run_alone(plan: Plan, panel: Panel, cohort: Cohort | Table) -> dict[str, dict[str, np.ndarray]]:
    """The result tables of one cohort as it is: what the study's method finds in its data alone.

    Nothing is masked, and no floor applies: neither of cohorts, nor of people at a level or with a value. So
    these results are for whoever has the data anyway, and must not leave that computer.
    """
    plan = with_chunks(OwnPlan(**{**vars(plan), "cohorts": 1, "masking": "modular"}))
    (cohort,) = algorithm(plan.test).ready([cohort], panel, plan)
    return tables(whole(Study(plan, lambda: panel)), Alone(plan, cohort, questions_of(plan)))


def _tables(
    call: Call[None], cohorts: Sequence[Cohort | Table], kinds: Sequence[type[Question]]
) -> dict[str, dict[str, np.ndarray]]:
    return tables(call, _Federation(call, cohorts, kinds))


class _Federation:
    """Cohorts, their seeds, and the sums that a server and a compensator would form.

    The cohorts run the study, too, on the sums that they are told, and answer what their own run asks.
    """

    def __init__(
        self, call: Call[None], cohorts: Sequence[Cohort | Table], kinds: Sequence[type[Question]]
    ) -> None:
        self.plan, self.cohorts, self.kinds = call.study.plan, list(cohorts), kinds
        self.told: dict[Place, Arrays] = {}
        self.followed = Tree(call, kinds, lambda place, question: self.told.pop(place))
        self.seeds = [os.urandom(masking.SEED_BYTES) for _ in cohorts]
        self.own_seeds = [os.urandom(masking.SEED_BYTES) for _ in cohorts]
        signers, in_pairs = [SigningKey.generate() for _ in cohorts], self.plan.in_pairs
        joined = [signer.both if in_pairs else signer.public for signer in signers]
        self.roster = Roster(tuple((f"cohort {k:04}", member_key(keys)) for k, keys in enumerate(joined)))
        self.plan_hash, self.roster_hash = self.plan.hash(), self.roster.hash()
        self.carriers: list[Carrier] = []
        self.pairs = self._met(signers) if in_pairs else []
        self.witness = (
            self.pairs[0].witness
            if in_pairs
            else witness.make(self.seeds, IN_PROCESS, self.plan_hash, self.roster_hash)
        )
        self.round = 0

    def _met(self, signers: Sequence[SigningKey]) -> list[Pairs]:
        """Have each two cohorts agree on the key of their masks, as they do by way of a server."""
        meeting = Meeting(IN_PROCESS, self.plan_hash, self.roster)
        names = [name for name, _ in self.roster.members]
        own = list(zip(names, self.seeds, signers, strict=True))
        keys = {name: signer.sealing().public for name, _, signer in own}
        parts = self._encrypting(meeting, signers) if self.plan.is_encrypted else ()
        part = dict(zip(names, parts, strict=False))
        sealed = {name: meeting.seal(name, seed, key, keys, part.get(name, b"")) for name, seed, key in own}
        return [
            meeting.unseal(name, seed, key, meeting.addressed(name, sealed), parts) for name, seed, key in own
        ]

    def _encrypting(self, meeting: Meeting, signers: Sequence[SigningKey]) -> Sequence[bytes]:
        """Have each cohort make its part of a key: these parts."""
        from unpooled.protocol.encrypted.carrier import Encrypting, Key  # few studies encrypt

        keys = [Key.generate(meeting) for _ in signers]
        parts = [key.part for key in keys]
        members = zip(meeting.roster.members, signers, keys, strict=True)
        self.carriers = [
            Encrypting(meeting, name, signer, key.secret, parts) for (name, _), signer, key in members
        ]
        return parts

    def total(self, place: Place, question: Question) -> Arrays:
        if digest(self.followed.question(place)) != digest(question):
            raise ProtocolError(f"{question.title}: the cohorts' own run of the study asks something else")
        sums, told = self._sum(question)
        if self.followed.is_told(place):
            self.told[place] = told()
        return sums

    def _sum(self, question: Question) -> tuple[Arrays, Callable[[], Arrays]]:
        """Sum up what the cohorts answer: for the server, and as a cohort reads it that is told.

        Each is its own: a procedure takes from it what it needs no longer.
        """
        self.round += 1
        message, salt = questions.encode(question), os.urandom(masking.SALT_BYTES)
        asked = questions.decode(message, self.kinds, self.plan)
        scheme = self.plan.scheme(question.ring_bits)
        words, k = questions.words(question, scheme), len(self.cohorts)
        named = masking.question(salt, message)
        witnessed = Witnessed(self.witness, self.round, named)
        masked, masks = scheme.zeros(words), scheme.zeros(words)
        dealer, compared, dealing = self.round % k, self._compared(asked, scheme.label, words, named), b""
        if compared:
            dealing = two_party.deal(self.seeds[dealer], self.own_seeds[dealer], compared)
        uploads, encrypted = list[tuple[str, bytes]](), list[bytes]()
        self.cohorts = [deriving(asked, cohort) for cohort in self.cohorts]
        for place, (cohort, seed) in enumerate(zip(self.cohorts, self.seeds, strict=True)):
            own, columns = replace(witnessed, adds_pad=place == 0), asked.columns_under(self.plan)
            answered = questions.answer(asked, drawing(cohort, asked, self.own_seeds[place]))
            share = questions.pack(asked, answered, scheme, k, salt, columns, own)
            name, _ = self.roster.members[place]
            own_mask, context = self._mask(place, seed, asked, name, scheme.label, words, named)
            sent = scheme.add(share, own_mask)
            if compared and isinstance(context, MaskContext):
                dealt = hashlib.sha256(dealing).digest() if place == dealer else b""
                set_third_check(sent, self.witness, context, dealt)
                uploads.append((name, context.nonce))
            upload = scheme.to_bytes(sent)
            masked = scheme.add(masked, scheme.from_bytes(upload, words))
            masks = scheme.add(masks, own_mask)
            if self.carriers and isinstance(context, PairContext):
                encrypted.append(self.carriers[place].upload(upload, context))
        if compared is None:
            total = (
                self._decrypted(encrypted, context)
                if encrypted and isinstance(context, PairContext)
                else scheme.subtract(masked, masks)
            )
            return questions.unpack(question, total, scheme, k, salt), lambda: questions.verified(
                asked, scheme.to_bytes(total), scheme, k, salt, witnessed
            )
        bits, shown = compared_sums.in_process(
            question,
            masked,
            masks,
            scheme,
            tuple(uploads),
            dealing,
            self.seeds[dealer],
            compared,
            self.witness,
        )
        names = [name for name, _ in uploads]
        return bits, lambda: compared_sums.shown_bits(asked, shown, scheme, names, compared, self.witness)

    def _decrypted(self, uploads: Sequence[bytes], context: PairContext) -> np.ndarray:
        """Return the sum of encrypted shares, which every cohort helps to read."""
        from unpooled.protocol.encrypted import carrier

        helps = [each.help(uploads, context) for each in self.carriers]
        return carrier.total(helps, context.scheme, context.words)

    def _compared(self, asked: Question, scheme: str, words: int, digest: bytes) -> DealingContext | None:
        """Name the dealing of this round; None if its sums are read."""
        if asked.opens is None:
            return None
        return DealingContext(
            study=IN_PROCESS,
            plan_hash=self.plan_hash,
            roster_hash=self.roster_hash,
            dealer=dealer_of(self.roster, self.round),
            round=self.round,
            question=digest,
            scheme=scheme,
            circuit=asked.opens.circuit,
            words=words,
        )

    def _mask(
        self, place: int, seed: bytes, asked: Question, cohort: str, scheme: str, words: int, digest: bytes
    ) -> tuple[np.ndarray, MaskContext | PairContext]:
        bound: dict[str, Any] = {
            "study": IN_PROCESS,
            "plan_hash": self.plan_hash,
            "roster_hash": self.roster_hash,
            "round": self.round,
            "question": digest,
            "scheme": scheme,
            "words": words,
        }
        if self.pairs:
            pair = PairContext(**bound)
            return self.pairs[place].mask(pair), pair
        circuit, nonce = asked.opens.circuit if asked.opens else None, os.urandom(masking.NONCE_BYTES)
        context = masking.context_of(circuit, cohort=cohort, nonce=nonce, **bound)
        return masking.mask(seed, context), context
