"""Rules: enrol a study, release or compare each round's sum of masks once, forget. Knows no HTTP.

What a caller can never get from here: the mask of one cohort, the sum over fewer than all enrolled cohorts,
two different sums for one round, or, of a round that is compared, the sum itself. What is promised is on disk
before an answer leaves.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from unpooled.errors import ProtocolError, UnpooledError
from unpooled.protocol import codec, codes, masking, messages, oprf, sealing, two_party, witness
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.masking import NONCE_BYTES, MaskContext
from unpooled.protocol.messages import (
    SHUFFLE_BYTES,
    CodeRequest,
    Enrolment,
    OpeningRequest,
    ReleaseRequest,
    Witnesses,
)
from unpooled.protocol.sealing import SealingKey, fingerprint, open_box
from unpooled.protocol.showing import Transcript
from unpooled.protocol.two_party import Lengths
from unpooled_compensator.sessions import Session, Sessions, Side
from unpooled_compensator.store import NoStudy, Store

# This program's own floor, whatever a caller or the library says: of two, each knows the other's number.
MIN_COHORTS = 3
# What follows bounds the time and the memory that one message of the caller takes.
MAX_COHORTS = 1000
MAX_NAME = 200  # characters of a cohort's name
MAX_WORDS = 64 * 2**20  # of one release
MAX_POINTS = 2**16  # of one column of a cohort
MAX_COLUMNS = 10_000  # of a schema
# Summed at a time: memory does not grow with the release.
BLOCK_WORDS = 2**16
HASH_BYTES = 32

_STUDY = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")


LEAST_FREE = 64 << 20
"""Bytes of disk: a study takes megabytes."""


class Refused(UnpooledError):
    """A request that breaks a rule. `code` is for programs, the text and `remedy` for people."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy = code, message, remedy


class Compensator:
    """The whole service but its HTTP. `known_keys`, if given, returns the fingerprints that may enrol."""

    def __init__(
        self, store: Store, key: SealingKey, known_keys: Callable[[], Collection[str]] | None = None
    ) -> None:
        self._store, self._key, self._known_keys = store, key, known_keys
        self._sessions = Sessions()

    @property
    def public_key(self) -> bytes:
        return self._key.public

    @property
    def directory(self) -> Path:
        """The folder of the state."""
        return self._store.path.parent

    def check_health(self) -> None:
        """Raises sqlite3.Error if the state cannot be read."""
        self._store.is_empty()

    def check_room(self) -> None:
        """OSError if what is promised may soon find no place on the disk."""
        if (free := shutil.disk_usage(self.directory).free) < LEAST_FREE:
            raise OSError(f"{self.directory}: {free} bytes are free; want {LEAST_FREE}")

    def studies(self) -> int:
        """Count the studies that have enrolled and are not over."""
        return self._store.studies()

    def enrol(self, enrolment: Enrolment) -> tuple[bool, Witnesses]:
        """Takes all boxes of a study: whether they are new, and the witness, sealed for each cohort.

        The same set again is fine, and gets the same. Another one takes its place until the first answer: a
        plan may still change, and all cohorts accept again.
        """
        enrolment = replace(enrolment, boxes=tuple(sorted(enrolment.boxes, key=lambda box: box.cohort)))
        content = codec.encode(enrolment)
        is_new = not self._is_enrolled(enrolment.study, content)
        # The list of known keys may be shorter by now: what has enrolled stays so.
        if is_new:
            self._check_enrolment(enrolment)
        try:
            seeds = self._open_boxes(enrolment)
        except ProtocolError as error:
            raise Refused(
                "invalid_box",
                f"Not a valid set of boxes: {error}.",
                "Every cohort seals its seed for this study, plan, roster and compensator, and signs it.",
            ) from None  # a box's content stays out of tracebacks
        if is_new:
            self._add(enrolment.study, content)
        return is_new, self._witnesses(enrolment, seeds)

    def _is_enrolled(self, study: str, content: bytes) -> bool:
        try:
            stored = self._store.enrolment(study)
        except NoStudy:
            return False
        if stored is None:
            raise _over()
        return stored == content

    def _add(self, study: str, content: bytes) -> None:
        _require_kept(
            self._store.add_enrolment(study, content),
            content,
            "other_boxes",
            "This study has enrolled another set of boxes, and was answered with it.",
            "From then on it stays. Duplicate the study to change its cohorts or its plan.",
        )

    def _witnesses(self, enrolment: Enrolment, seeds: Sequence[bytes]) -> Witnesses:
        """Seal the study's witness for each of its cohorts, with both keys of codes if it has any."""
        own = _own_code_key(enrolment, seeds)
        keys, made = enrolment.code_key + own, _witness(enrolment, seeds)
        return Witnesses(
            tuple(
                (box.cohort, witness.seal(made, seed, enrolment.purpose(box.cohort, self._key.public), keys))
                for box, seed in zip(enrolment.boxes, seeds, strict=True)
            ),
            own,
        )

    def _check_enrolment(self, enrolment: Enrolment) -> None:
        names = [name for name, _ in enrolment.roster.members]
        _check_study(enrolment.study)
        _check(len(enrolment.plan_hash) == HASH_BYTES, "the plan's hash has 32 bytes")
        _check(len(enrolment.code_key) in (0, oprf.POINT_BYTES), "the server's key of codes is a point")
        _check(all(0 < len(name) <= MAX_NAME for name in names), f"a name has 1 to {MAX_NAME} characters")
        _check(all(len(key) == 32 for _, key in enrolment.roster.members), "a signing key has 32 bytes")
        _check(len(names) <= MAX_COHORTS, f"a study has at most {MAX_COHORTS} cohorts")
        if len(names) < MIN_COHORTS:
            raise Refused(
                "too_few_cohorts",
                f"Got {len(names)} cohorts; want {MIN_COHORTS} at least.",
                "With fewer, a sum tells a cohort the numbers of the other. Invite more cohorts.",
            )
        if [box.cohort for box in enrolment.boxes] != sorted(names):
            raise Refused(
                "wrong_boxes",
                "The boxes are not exactly one for each member of the roster.",
                "Send all boxes of the study in one message, after every cohort has accepted.",
            )
        self._check_known(enrolment)

    def _check_known(self, enrolment: Enrolment) -> None:
        if self._known_keys is None:
            return
        known = self._known_keys()
        strangers = [name for name, key in enrolment.roster.members if fingerprint(key) not in known]
        if strangers:
            raise Refused(
                "unknown_key",
                f"The operator does not know the signing key of {', '.join(strangers)[:400]}.",
                "Ask the compensator's operator to add the fingerprint to the list of known keys.",
            )

    def _open_boxes(self, enrolment: Enrolment) -> list[bytes]:
        """The seeds, in the order of the roster; ProtocolError. They live only as long as a request."""
        keys, own = dict(enrolment.roster.members), self._key
        return [
            open_box(box, enrolment.purpose(box.cohort, own.public), keys[box.cohort], own)
            for box in enrolment.boxes
        ]

    def release(self, request: ReleaseRequest) -> Iterator[bytes]:
        """The sum of the masks of one round, in pieces. The first request for a round is its only one."""
        _check_request(request)
        enrolment = self._enrolment(request.study)
        _check_cohorts(request, enrolment)
        # Before anything is promised: boxes that cannot be opened must not use up the round.
        seeds = self._open_boxes(enrolment)
        self._take_round(request, enrolment, messages.digest(request))
        return _sum_of_masks(request, enrolment, seeds)

    def lengths(self, request: OpeningRequest) -> Lengths:
        """Return the lengths of a comparison's messages: known before any of them is read."""
        _check_request(request)
        _check(len(request.shuffle) == SHUFFLE_BYTES, f"the order of rows follows from {SHUFFLE_BYTES} bytes")
        try:
            return two_party.lengths(request.scheme, request.circuit, request.words)
        except ProtocolError as error:
            raise _invalid(str(error)) from None

    def open(self, request: OpeningRequest, openings: bytes) -> bytes:
        """Begins to compare a round's sum: the answer to the first openings. They are the round's only ones.

        The same again gets the same answer, also after a crash.
        """
        lengths = self.lengths(request)
        _check_length(openings, lengths.server[0])
        enrolment = self._enrolment(request.study)
        _check_cohorts(request, enrolment)
        self._take_round(request, enrolment, hashlib.sha256(messages.digest(request) + openings).digest())
        key = request.study, request.round
        begin = functools.partial(self._compare, request, enrolment)
        return self._answer(key, self._sessions.found_or(key, Session(lengths, begin)), 1, openings)

    def turn_bytes(self, study: str, round_: int, number: int) -> int:
        """Return the length of this turn's openings, from turn 2; Refused if it is not their turn."""
        return self._session(study, round_, number).lengths.server[number - 1]

    def turn(self, study: str, round_: int, number: int, openings: bytes) -> bytes:
        """Continues a comparison: the answer to the openings of turn `number`, from 2: its only ones."""
        session = self._session(study, round_, number)
        _check_length(openings, session.lengths.server[number - 1])
        content = hashlib.sha256(openings).digest()
        _require_kept(
            self._store.add_turn(study, round_, number, content),
            content,
            "other_openings",
            f"Turn {number} of round {round_} had other openings.",
            "Repeat the comparison with exactly the messages of the first time.",
        )
        return self._answer((study, round_), session, number, openings)

    def _session(self, study: str, round_: int, number: int) -> Session:
        _check_study(study)
        self._enrolment(study)
        session = self._sessions.found((study, round_))
        last = len(session.lengths.server) if session else 0
        if session and not 2 <= number <= last:
            raise Refused(
                "other_turn",
                f"Got turn {number} of round {round_}; want one from 2 to {last}.",
                "Send the turns one after the other.",
            )
        # A session that has not come so far was begun again, by another worker of the caller, after the one
        # that answered the turns before had ended.
        if session is None or number > len(session.answers) + 1:
            raise Refused(
                "begin_again",
                f"Turn {number} of round {round_} is not the next of a comparison that is in memory.",
                "Send its request and all its openings again, from the first on.",
            )
        return session

    def _answer(self, key: tuple[str, int], session: Session, number: int, openings: bytes) -> bytes:
        with session.lock:
            try:
                answer = session.answer(number, openings)
            except BaseException:
                self._sessions.drop(key)  # it cannot continue; it can begin again
                raise
            if session.is_over:
                self._sessions.drop(key)
        return answer

    def _compare(self, request: OpeningRequest, enrolment: Enrolment) -> Side:
        """This side of a comparison. The dealer's seed is in memory until it has ended."""
        seeds = self._open_boxes(enrolment)
        masks = b"".join(_sum_of_masks(request, enrolment, seeds))
        context = DealingContext(
            study=request.study,
            plan_hash=enrolment.plan_hash,
            roster_hash=enrolment.roster.hash(),
            dealer=dealer_of(enrolment.roster, request.round),
            round=request.round,
            question=request.question,
            scheme=request.scheme,
            circuit=request.circuit,
            words=request.words,
        )
        [seed] = [
            seed for (name, _), seed in zip(request.uploads, seeds, strict=True) if name == context.dealer
        ]
        vector = masking.scheme(request.scheme).from_bytes(masks, request.words)
        transcript = Transcript(_witness(enrolment, seeds), request)
        return two_party.compensator_side(vector, seed, request.shuffle, context, transcript)

    def _take_round(self, request: ReleaseRequest, enrolment: Enrolment, content: bytes) -> None:
        """Record for what a round is answered; Refused if that was something else."""
        _require_kept(
            self._store.add_release(request.study, request.round, content, codec.encode(enrolment)),
            content,
            "other_request",
            f"Round {request.round} was answered for another request.",
            "A round has one release or one comparison. Ask for exactly what was asked first, or ask the "
            "cohorts anew.",
        )

    def codes(self, request: CodeRequest) -> bytes:
        """A cohort's points times both keys of this study, with a proof and a tag that the cohort checks.

        A column's first batch is its only one. Who has not multiplied the cohort's own points gets nothing:
        else the server could have the codes of words that it guesses.
        """
        _check_code_request(request)
        enrolment = self._enrolment(request.study)
        about = self._signed(request, enrolment)
        between = codes.proven("server", enrolment.code_key, about, request.points, request.multiplied)
        seeds = self._open_boxes(enrolment)
        content = hashlib.sha256(request.points).digest()
        place = request.study, request.cohort, request.column
        _require_kept(
            self._store.add_codes(*place, content, codec.encode(enrolment)),
            content,
            "other_request",
            f"Column {request.column} of {request.cohort[:MAX_NAME]} has other points.",
            "A cohort asks for the codes of a column once. Send exactly what was sent first.",
        )
        part = codes.answered(codes.compensator_key(seeds, request.study), about, between)
        of_cohort = dict(zip((box.cohort for box in enrolment.boxes), seeds, strict=True))
        return part + codes.tagged(of_cohort[request.cohort], about, request.multiplied + part)

    def _signed(self, request: CodeRequest, enrolment: Enrolment) -> bytes:
        """Return what the cohort has signed; Refused if it has not."""
        public_key = dict(enrolment.roster.members).get(request.cohort)
        if public_key is None:
            raise Refused("other_cohorts", "This cohort has not enrolled.", "Ask for an enrolled cohort.")
        purpose = enrolment.purpose(request.cohort, self._key.public)
        signed = messages.signed_points(purpose, request.column, request.points)
        if not sealing.is_signed(public_key, request.signature, signed):
            raise Refused(
                "invalid_signature",
                "The points carry no valid signature of their cohort.",
                "The cohort signs them with its key of the roster, for this study, plan and column.",
            )
        return signed

    def _enrolment(self, study: str) -> Enrolment:
        try:
            stored = self._store.enrolment(study)
        except NoStudy:
            raise Refused(
                "unknown_study", "No such study has enrolled.", "Enrol the study's boxes first."
            ) from None
        if stored is None:
            raise _over()
        enrolment: Enrolment = messages.decode(stored, Enrolment)
        return enrolment

    def forget(self, study: str) -> None:
        """Deletes a study's boxes and refuses it from now on; also one that never enrolled, or ended before.

        So an enrolment that arrives late, after its study was aborted, does not stay.
        """
        _check_study(study)
        self._store.end(study)
        self._sessions.drop_study(study)


def _own_code_key(enrolment: Enrolment, seeds: Sequence[bytes]) -> bytes:
    """The compensator's public key of codes, where the enrolment has the server's; else nothing."""
    return oprf.public_key(codes.compensator_key(seeds, enrolment.study)) if enrolment.code_key else b""


def _witness(enrolment: Enrolment, seeds: Sequence[bytes]) -> bytes:
    keys = enrolment.code_key + _own_code_key(enrolment, seeds)
    return witness.make(seeds, enrolment.study, enrolment.plan_hash, enrolment.roster.hash(), keys)


def _sum_of_masks(request: ReleaseRequest, enrolment: Enrolment, seeds: Sequence[bytes]) -> Iterator[bytes]:
    scheme = masking.scheme(request.scheme)
    masks = [
        masking.mask_blocks(seed, _mask_context(request, enrolment, cohort, nonce), BLOCK_WORDS)
        for seed, (cohort, nonce) in zip(seeds, request.uploads, strict=True)
    ]
    yield scheme.to_bytes(functools.reduce(scheme.add, map(next, masks)))  # what masks the check, one number
    for _ in range(scheme.check_words, request.words, BLOCK_WORDS):
        yield scheme.to_bytes(functools.reduce(scheme.add_words, map(next, masks)))


def _mask_context(request: ReleaseRequest, enrolment: Enrolment, cohort: str, nonce: bytes) -> MaskContext:
    """Names one upload. Masks of a round that is compared have another domain: no release contains them."""
    return masking.context_of(
        request.circuit if isinstance(request, OpeningRequest) else None,
        study=request.study,
        plan_hash=enrolment.plan_hash,
        roster_hash=enrolment.roster.hash(),
        cohort=cohort,
        round=request.round,
        question=request.question,
        scheme=request.scheme,
        words=request.words,
        nonce=nonce,
    )


def _check_request(request: ReleaseRequest) -> None:
    _check_study(request.study)
    _check(request.round >= 0, "a round's number is not negative")
    _check(len(request.question) == HASH_BYTES, "a question's digest has 32 bytes")
    least = masking.scheme(request.scheme).check_words
    _check(least <= request.words <= MAX_WORDS, f"a release has {least} to {MAX_WORDS} words")
    _check(all(len(nonce) == NONCE_BYTES for _, nonce in request.uploads), "a nonce has 16 bytes")


def _check_code_request(request: CodeRequest) -> None:
    _check_study(request.study)
    most = MAX_POINTS * oprf.POINT_BYTES
    _check(0 < len(request.points) <= most, f"a column has 1 to {MAX_POINTS} points")
    _check(len(request.points) % oprf.POINT_BYTES == 0, f"a point has {oprf.POINT_BYTES} bytes")
    _check(0 <= request.column < MAX_COLUMNS, f"a plan has at most {MAX_COLUMNS} columns")


def _check_cohorts(request: ReleaseRequest, enrolment: Enrolment) -> None:
    if [cohort for cohort, _ in request.uploads] != [name for name, _ in enrolment.roster.members]:
        raise Refused(
            "other_cohorts",
            "The uploads are not exactly one from each enrolled cohort.",
            "Wait until every cohort of the study has answered the round.",
        )


def _check_study(study: str) -> None:
    _check(
        _STUDY.fullmatch(study) is not None,
        "a study's ID has 1 to 100 of A-Z a-z 0-9 . _ -, not first a sign",
    )


def _check_length(openings: bytes, want: int) -> None:
    _check(len(openings) == want, f"these openings have {want} bytes")


def _check(holds: bool, rule: str) -> None:
    if not holds:
        raise _invalid(rule)


def _invalid(rule: str) -> Refused:
    return Refused("invalid_message", f"Not a valid message: {rule}.", "Correct the message.")


def _require_kept(stored: bytes | None, content: bytes, code: str, message: str, remedy: str) -> None:
    """Refused unless what the store has kept, of all that ever came in this place, is this."""
    if stored is None:
        raise _over()
    if stored != content:
        raise Refused(code, message, remedy)


def _over() -> Refused:
    return Refused(
        "study_over", "This study is over; its seeds were deleted.", "Duplicate the study to run it again."
    )
