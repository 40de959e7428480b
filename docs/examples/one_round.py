"""One round among three cohorts: what the server sees, what the compensator sees, and what comes of it."""

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.question import Count, Question, encode, pack, unpack, words
from unpooled.errors import ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext


@dataclass(frozen=True)
class CountCarriers(Question):
    name: ClassVar[str] = "example/carriers"
    title: ClassVar[str] = "Count carriers"
    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "carriers",
            ("variants",),
            bound=10_000,
            meaning="people with the allele",
            learns="how many people of the pool carry each allele",
        ),
    )

    variants: int


question = CountCarriers(variants=2)
scheme = masking.scheme("z32")
salt = os.urandom(masking.SALT_BYTES)  # drawn by the server for this round
seeds = [os.urandom(masking.SEED_BYTES) for _ in range(3)]  # one each; the compensator has all
counts = [(21, 340), (7, 55), (0, 128)]


def mask_of(cohort: int, asked: Question) -> np.ndarray:
    return masking.mask(
        seeds[cohort],
        MaskContext(
            study="5f1c",
            plan_hash=bytes(32),
            roster_hash=bytes(32),
            cohort=f"cohort {cohort}",
            round=1,
            question=masking.question(salt, encode(asked)),
            scheme=scheme.label,
            words=words(asked, scheme),
            nonce=bytes(15) + bytes([cohort]),  # 16 random bytes in a real upload
        ),
    )


def total(asked_of_the_third: Question) -> np.ndarray:
    masked, masks = scheme.zeros(words(question, scheme)), scheme.zeros(words(question, scheme))
    for cohort, count in enumerate(counts):
        asked = asked_of_the_third if cohort == 2 else question
        share = pack(asked, {"carriers": np.array(count)}, scheme, cohorts=3, salt=salt)
        upload = scheme.add(share, mask_of(cohort, asked))
        masked = scheme.add(masked, upload)  # the server adds what it was sent
        masks = scheme.add(masks, mask_of(cohort, question))  # the compensator adds what the question says
        own, sent = (vector[scheme.check_words :] for vector in (share, upload))
        print(f"cohort {cohort} answers {own}, sends {sent}, and its checks")
    return scheme.subtract(masked, masks)


print(
    "pooled:", unpack(question, total(asked_of_the_third=question), scheme, cohorts=3, salt=salt)["carriers"]
)


@dataclass(frozen=True)
class AskSomethingElse(CountCarriers):
    name: ClassVar[str] = "example/something else"


print("\nThe third cohort is asked something else:")
try:
    unpack(question, total(asked_of_the_third=AskSomethingElse(variants=2)), scheme, cohorts=3, salt=salt)
except ProtocolError as error:
    print("refused:", error)
