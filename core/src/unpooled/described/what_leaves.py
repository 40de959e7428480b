"""The data that leave a cohort's computer, and what each party gets of it: read before accepting, and
afterwards.

Made from the declarations of the plan's questions, the same from which the uploads are built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from unpooled.asking.question import Bits, Foreseen, Question, check_words, shape, words
from unpooled.asking.sizes import LIST_BYTES, VARIANTS, Sizes
from unpooled.described.shapes import shape_in_words
from unpooled.errors import listed
from unpooled.methods import algorithm, questions_of, with_chunks
from unpooled.plan import common_options
from unpooled.plan.common_options import BITS, OPENS
from unpooled.plan.plan import NONE, Plan
from unpooled.plan.result_files import ENCODING_FILE, PARAMETERS_FILE
from unpooled.protocol import bodies, oprf, two_party
from unpooled.protocol.encrypted import carrier
from unpooled.protocol.masking import Scheme
from unpooled.protocol.pairs import key_bytes
from unpooled.protocol.pairs import most_sealed_bytes as most_sealed_bytes_of_pairs
from unpooled.protocol.sealing import SIGNATURE_BYTES, most_sealed_bytes
from unpooled.protocol.stages import Doing

BY_SUM = "nobody; the server reads the sum over all cohorts"
EVERYONE_BY_SUM = "nobody; the server and all cohorts read the sum over all cohorts"
BY_NOBODY = "nobody; and nobody reads this sum"
OPERATOR = "whoever runs server and compensator"
SERVER = "the server"
SINGLE_VALUES = "Values of single people"
COHORT_SUMS = common_options.COHORT_SUMS.label
KNOWN_FROM_SUMS = "the server; those in the results, everyone; not whose they are, nor from which cohort"

DEALING = "randomness for comparing"
"""Name of the quantity that is dealt for a kind of question whose sums are compared."""
DECRYPTION = "encryption, and a share of the decryption"
"""Name of the quantity by which a cohort helps to read a sum that is encrypted."""
SIGNING_KEY, SEED, DOING = "Public signing key", "Mask seed", "What the client is doing"
PARTS = "Parts of masks"
"""Name of the quantity that a cohort seals to each of the others, where there is no compensator."""
IN_PAIRS = (
    "Each two cohorts share masks, and there is no compensator: to read one cohort's numbers, the server and "
    "all other cohorts would have to work together"
)
IN_PAIRS_ENCRYPTED = (
    f"{IN_PAIRS}. What is masked is encrypted besides, and each sum is read with the help of every cohort: "
    "this is experimental, nobody outside has reviewed it, and it promises no more than the masks do"
)
TIMING, PROBLEM = "Seconds per phase", "Code of a problem"
CODES = "Blinded words"
"""Name of the words of a column that a cohort has coded."""
PLAN_DIGEST, LIST_DIGEST, LIST = ("Digest of the plan", "Digest of the list of variants", "List of variants")
"""Quantities that are no answers, as table and ledger call them."""

TO_SERVER, TO_COMPENSATOR, TO_SERVER_AND_COMPENSATOR = "server", "compensator", "server, compensator"
TO_COHORTS, TO_COORDINATOR = "server, all cohorts", "server, coordinator"
"""Recipients of a quantity; all of it goes by way of the server."""


class Form(StrEnum):
    """Form in which a quantity leaves the computer."""

    CLEAR = "in clear"
    MASKED = "masked"
    SEALED = "sealed"


@dataclass(frozen=True)
class Leaving:
    """One quantity that leaves the computer."""

    what: str
    detail: str
    form: str
    """in clear, masked, or sealed; of masks what they are, where they are not uniform."""
    readable_by: str
    to: str
    learns: str
    """Information that whoever reads it can learn from it."""
    shape: str
    """Its size, in words."""
    bytes: int | None
    """Bytes of one round, as the ledger counts them; None if they cannot be known beforehand."""
    rounds: int = 1
    """Number of times that it is sent."""
    exact: bool = True
    """True if `bytes` and `rounds` are exact; else they are upper bounds."""
    usual_rounds: int = 1
    """Number of times that it is usually sent, which in many studies is far below the maximum."""
    of_one: bool = False
    """True if whoever reads it may learn something of a single person."""


def what_leaves(plan: Plan, sizes: Sizes | None = None, *, one_operator: bool = False) -> tuple[Leaving, ...]:
    """Everything that a client sends in a study by this plan, in the order in which it is sent.

    `sizes` are of the cohort's own data, once they are known: `unpooled.asking.sizes`. `one_operator`: server
    and compensator are run by the same people. Without a compensator that means nothing.
    """
    return tuple(_lines(with_chunks(plan), sizes, one_operator and not plan.in_pairs))


def without_compensator(plan: Plan) -> str:
    """Say who would have to work together where there is no compensator."""
    return IN_PAIRS_ENCRYPTED if plan.is_encrypted else IN_PAIRS


def most_bytes(leaves: Iterable[Leaving]) -> int | None:
    """The most that can leave, without the messages about the state of the run; None if that is not known."""
    return _bytes((line, line.rounds) for line in leaves)


def usual_bytes(leaves: Iterable[Leaving]) -> int | None:
    """The most that leaves in as many rounds as there are as a rule; None if that is not known."""
    return _bytes((line, line.usual_rounds) for line in leaves)


def most_bytes_of(kind: type[Question], plan: Plan, sizes: Sizes | None) -> int | None:
    """The most that a cohort's answers to all questions of one kind take; None if that is not known."""
    if not kind.sends_under(plan):
        return 0
    foreseen = kind.foreseen(with_chunks(plan), sizes)
    if foreseen is None:
        return None
    scheme = plan.scheme(kind.ring_bits)
    each = sum(words(question, scheme) for question in foreseen.questions)
    return foreseen.rounds * scheme.word_bytes * each


def _bytes(leaves: Iterable[tuple[Leaving, int]]) -> int | None:
    total = 0
    for line, rounds in leaves:
        if line.to != TO_COORDINATOR:
            if line.bytes is None:
                return None
            total += line.bytes * rounds
    return total


def _lines(plan: Plan, sizes: Sizes | None, one_operator: bool) -> Iterator[Leaving]:
    yield from _keys(plan, one_operator)
    yield from _agreed(plan, sizes)
    for kind in questions_of(plan):
        yield from _sent_by(kind, plan, sizes, one_operator)
    yield from _told_by_sums(plan, one_operator)
    yield from _about_the_run()


def _keys(plan: Plan, one_operator: bool) -> Iterator[Leaving]:
    yield Leaving(
        SIGNING_KEY,
        "made for this study; shows who this cohort is",
        Form.CLEAR,
        f"{SERVER}, all cohorts",
        TO_COHORTS,
        "that whoever has this key is this cohort; nothing about its data",
        f"{key_bytes(in_pairs=plan.in_pairs):,} bytes, in hexadecimal digits",
        len(bodies.joining(bytes(key_bytes(in_pairs=plan.in_pairs)))),
    )
    if plan.in_pairs:
        yield _parts(plan)
        return
    yield Leaving(
        SEED,
        "32 random bytes, sealed to the compensator; the server passes it on unread. Beside it the hashes of "
        "plan and roster, and this cohort's signature",
        Form.SEALED,
        "the compensator",
        TO_COMPENSATOR,
        "the masks of this cohort; "
        + (
            "with the masked numbers, which the same people have, its numbers"
            if one_operator
            else "without the masked numbers, which the compensator never gets, they say nothing"
        ),
        "the sealed seed, two hashes and a signature, in hexadecimal digits",
        len(bodies.acceptance(bytes(32), bytes(32), bytes(most_sealed_bytes()), bytes(SIGNATURE_BYTES))),
        exact=False,
    )


def _parts(plan: Plan) -> Leaving:
    """Describe what is sealed to the other cohorts."""
    return Leaving(
        PARTS,
        "random bytes for each other cohort, sealed to it; the server passes them on unread. Beside them the "
        "hashes of plan and roster, and this cohort's signatures",
        Form.SEALED,
        "the cohort that it is sealed to",
        TO_COHORTS,
        "the mask that the two share; without those that this cohort shares with all others, it says nothing "
        "about this cohort's numbers",
        f"{plan.cohorts - 1:,} sealed boxes with a signature each, and two hashes"
        + ", and this cohort's part of a public key" * plan.is_encrypted,
        most_sealed_bytes_of_pairs(plan.cohorts, int(plan.is_encrypted)),
        exact=False,
    )


def _told_by_sums(plan: Plan, one_operator: bool) -> Iterator[Leaving]:
    if tells := algorithm(plan.test).told(plan):
        is_compared = OPENS.of(plan) == BITS or tells != algorithm(plan.test).tells
        yield Leaving(
            SINGLE_VALUES,
            f"by {'what is told of ' if is_compared else ''}the sums above: {tells}",
            masked(plan),
            KNOWN_FROM_SUMS,
            TO_SERVER,
            "values that occur in the pool",
            "no numbers of their own",
            0,
            of_one=True,
        )
    if plan.shows_cohort_sums:
        yield Leaving(
            COHORT_SUMS,
            "by the sums above, if a covariate tells cohorts apart, which this plan allows: what is summed "
            "over one of its levels is then summed over one cohort, and no mask hides it",
            masked(plan),
            OPERATOR if one_operator else SERVER,
            TO_SERVER,
            "this cohort's frequency of each allele, and its means of phenotype and covariates",
            "no numbers of their own",
            0,
        )


def _about_the_run() -> Iterator[Leaving]:
    yield Leaving(
        DOING,
        f"in the header of each message, which no ledger counts: {', '.join(Doing)}",
        Form.CLEAR,
        f"{SERVER}, the coordinator, all cohorts",
        TO_COORDINATOR,
        "at which step this cohort is, and roughly how long each takes",
        "one of these words",
        None,
    )
    yield Leaving(
        TIMING,
        "that the client is there, and how long it worked; never a value, an ID or the name of a file",
        Form.CLEAR,
        f"{SERVER}, the coordinator",
        TO_COORDINATOR,
        "how fast this computer is, and so roughly how much data it has",
        "whole seconds for each of a few phases, every half a minute or less often",
        None,
    )
    yield Leaving(
        PROBLEM,
        "only if the client must stop: a code from a fixed list, with the name of a quantity or a column",
        Form.CLEAR,
        f"{SERVER}, the coordinator",
        TO_COORDINATOR,
        "what kind of problem this cohort has, such as too few people, and in which column; no value",
        "two words",
        None,
    )


def _agreed(plan: Plan, sizes: Sizes | None) -> Iterator[Leaving]:
    """Yield what is sent so that the cohorts can agree on what the study is about."""
    if plan.panel_mode == NONE:
        yield _digest(
            PLAN_DIGEST,
            "says that this cohort's table is read and has the plan's columns; the table stays here, and "
            + _own_table(plan),
            "that this cohort has read its table",
        )
        yield from _coded(plan)
    elif plan.panel_mode == "list":
        yield _digest(
            LIST_DIGEST,
            "of the coordinator's list: says that this cohort has read it; its own variants stay here",
            "that this cohort has read the list",
        )
    else:
        yield _digest(
            LIST_DIGEST,
            "goes first, so that a list that equals another cohort's is never sent",
            "whether this cohort's list equals another's",
        )
        known = sizes is not None and LIST_BYTES in sizes and VARIANTS in sizes
        yield Leaving(
            LIST,
            "chromosome, position, ID and the two alleles in alphabetical order; an allele 0 shows that a "
            "variant does not vary in this cohort. If a list equals another cohort's, only its digest is "
            "sent",
            Form.CLEAR,
            SERVER,
            TO_SERVER,
            "which variants this cohort has, and which of them do not vary in it",
            f"at most {sizes[VARIANTS]:,} variants" if sizes and known else "some bytes per variant",
            sizes[LIST_BYTES] if sizes and known else None,
            exact=False,
        )


def _coded(plan: Plan) -> Iterator[Leaving]:
    """Yield what goes to server and compensator for the codes of words that the plan does not list."""
    columns = [plan.dictionaries[place] for place in plan.searched]
    most = sum(column.most for column in columns)
    if columns:
        yield Leaving(
            CODES,
            f"of {listed([column.title for column in columns])}: each different word as a random point, with "
            "others up to the number that the plan allows. Server and compensator multiply them, each by a "
            "key of its own, and prove that it is the same for all; this cohort gets a random number for "
            "each word, as every other cohort that has it",
            Form.MASKED,
            "nobody",
            TO_SERVER_AND_COMPENSATOR,
            "nothing: neither a word, nor how many there are",
            f"{most:,} points of {8 * oprf.POINT_BYTES} bits",
            most * oprf.POINT_BYTES,
        )


def _own_table(plan: Plan) -> str:
    """Say what becomes of the table that a cohort writes for itself."""
    if PARAMETERS_FILE in plan.files:
        return "so does the normalized one"
    return "so does the encoded one" if ENCODING_FILE in plan.files else "no other is written"


def _digest(what: str, detail: str, learns: str) -> Leaving:
    return Leaving(
        what,
        detail,
        Form.CLEAR,
        SERVER,
        TO_SERVER,
        learns,
        "32 bytes, in hexadecimal digits",
        len(bodies.digest(bytes(32))),
    )


def _sent_by(kind: type[Question], plan: Plan, sizes: Sizes | None, one_operator: bool) -> Iterator[Leaving]:
    """A line for each array of a kind. What an answer has beside, its checks, is with the first."""
    arrays = kind.sends_under(plan)
    foreseen = kind.foreseen(plan, sizes) if arrays else None
    asked = None if foreseen is None else [_shapes(question) for question in foreseen.questions]
    scheme = plan.scheme(kind.ring_bits)
    word = scheme.word_bytes
    own = "not what this cohort added"
    if plan.masking == "gaussian":
        own = "of what this cohort added, what the noise does not hide"
    if one_operator:
        own = "and all that this cohort added"
    readable_by = BY_NOBODY if kind.opens else BY_SUM if kind.only_server(plan) else EVERYONE_BY_SUM
    for array in arrays:
        shapes = None if asked is None else [shapes[array.name] for shapes in asked]
        check = check_words(kind, scheme) * (array is arrays[0])
        limit = "" if foreseen is None or foreseen.exact else "at most "
        rounds = foreseen.rounds if foreseen else 1
        usual = (foreseen and foreseen.usual_rounds) or rounds
        yield Leaving(
            f"{kind.title}: {array.name}",
            array.meaning,
            masked(plan),
            OPERATOR if one_operator else readable_by,
            TO_SERVER,
            f"{array.learns}; {own}",
            limit
            + shape_in_words(kind, array, shapes, 8 * word)
            + (f" + a check of {8 * word * check} bits" if check else "")
            + (f", in {limit}{rounds} rounds" if rounds > 1 else "")
            + (f", usually in {usual}" if usual != rounds else ""),
            None if shapes is None else word * sum(math.prod(shape) + check for shape in shapes),
            rounds,
            foreseen is not None and foreseen.exact,
            usual,
            array.of_one,
        )
    if plan.is_encrypted and arrays:
        yield _decrypted(kind, foreseen, scheme)
    if kind.opens and arrays:
        yield _dealt(kind, kind.opens, foreseen, scheme, is_told=not kind.only_server(plan))


def _decrypted(kind: type[Question], foreseen: Foreseen | None, scheme: Scheme) -> Leaving:
    """Describe the encryption of a share, and this cohort's help in reading the sum."""
    bytes_ = None
    if foreseen is not None:
        shares = [words(question, scheme) for question in foreseen.questions]
        bytes_ = sum(
            carrier.upload_bytes(scheme.label, share)
            + carrier.help_bytes(scheme.label, share)
            - share * scheme.word_bytes
            for share in shares
        )
    return Leaving(
        f"{kind.title}: {DECRYPTION}",
        "experimental: the numbers above leave encrypted under a key of which each cohort has a part. Each "
        "cohort is handed the others' uploads, adds them up, and sends its share of the sum's decryption",
        Form.MASKED,
        "nobody, without those of all other cohorts",
        TO_SERVER,
        "with those of all other cohorts the sum above",
        "8 bytes and more for each of these numbers",
        bytes_,
        foreseen.rounds if foreseen else 1,
        exact=False,
        usual_rounds=(foreseen and (foreseen.usual_rounds or foreseen.rounds)) or 1,
    )


def _dealt(
    kind: type[Question], opens: Bits, foreseen: Foreseen | None, scheme: Scheme, *, is_told: bool
) -> Leaving:
    """Describe what the cohort sends whose turn it is to deal, and what the comparison tells."""
    bytes_ = None
    if foreseen is not None:
        shares = [words(question, scheme) for question in foreseen.questions]
        bytes_ = sum(two_party.lengths(scheme.label, opens.circuit, share).dealing for share in shares)
    return Leaving(
        f"{kind.title}: {DEALING}",
        f"with it, server and compensator compare the sums above. They tell the server"
        f"{' and all cohorts' * is_told} {opens.learns}. The cohorts send such randomness in turn"
        + "; the others are shown it, with the masked sums, and find the same bits"
        * is_told,
        Form.CLEAR,
        f"{SERVER}, all cohorts" if is_told else SERVER,
        TO_SERVER,
        "by itself nothing; it is not made from data",
        "at most as many random bits as the comparison takes",
        bytes_,
        foreseen.rounds if foreseen else 1,
        exact=False,
        usual_rounds=1,
    )


def _shapes(question: Question) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a question's arrays: the question itself may be large, and there are many."""
    return {array.name: shape(question, array) for array in question.sends}


def masked(plan: Plan) -> str:
    """The form in which shares leave, as the consent screen names it."""
    if plan.masking == "gaussian":
        return (
            f"{Form.MASKED} with normal noise of variance {plan.variance:g}, "
            "which hides less than uniform masks"
        )
    return Form.MASKED
