"""Estimates of the memory and time that a study takes here: simple formulas with measured constants.

    memory   BASE + (PER_VARIANT + 3 · letters) · m + 2 · threads · genotypes bytes
    time     m · (n · (person + dosed) / threads + each) seconds

for n people and m variants. Each thread has a question at work and one on its way, and reads `genotypes` of
AT_ONCE bytes at most for each; dosages take DOSAGE times the room of calls. The longest ID has USUAL_ID +
`letters`; a list of IDs has its room for each of them, and at the peak there are three; a long one is mapped.
BASE and PER_VARIANT are from what docs/growth.md measures; a .pgen takes PER_VARIANT_OF_PGEN besides. What
computing costs is declared with each algorithm; `dosed` counts for dosages alone. Waiting for other cohorts,
and for a slow network or disk, comes on top and is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable

from unpooled.asking.cohort import AT_ONCE
from unpooled.methods.algorithm import VariantMethod

BASE = 320e6
PER_VARIANT = 130
PER_VARIANT_BY_PLACE = 20  # IDs are nowhere then
PER_VARIANT_OF_PGEN = 9  # Pgenlib holds where its record begins, and of which kind it is
PER_POINT, PER_CODE = 3e-4, 1e-4  # seconds: a word's point is found and blinded; one is multiplied
DOSAGE = 8  # it has 16 bits, a call 2
USUAL_ID = 25


def memory(
    people: int,
    variants: int,
    threads: int,
    longest_id: int = USUAL_ID,
    *,
    of_pgen: bool = False,
    dosages: bool = False,
) -> float:
    """Bytes at the peak; `longest_id` is 0 where variants are called after their places."""
    each = PER_VARIANT + 3 * max(0, longest_id - USUAL_ID) if longest_id else PER_VARIANT_BY_PLACE
    each += PER_VARIANT_OF_PGEN if of_pgen else 0
    genotypes = min(AT_ONCE, variants * people / 4) * (DOSAGE if dosages else 1)
    return BASE + each * variants + 2 * threads * genotypes


def described(
    people: int,
    variants: int,
    covariates: int,
    tests: Iterable[VariantMethod],
    threads: int,
    longest_id: int,
    *,
    of_pgen: bool,
    dosages: bool,
) -> dict[str, str]:
    """The estimate in words, for some tests."""
    took = ", ".join(
        f"{test.name} about "
        f"{duration(test.cost.seconds(people, variants, covariates, threads, dosages=dosages))}"
        for test in tests
    )
    cores = f"{threads} core{'' if threads == 1 else 's'}"
    peak = memory(people, variants, threads, longest_id, of_pgen=of_pgen, dosages=dosages)
    return {
        "memory": f"about {peak / 1e9:.1f} GB",
        "computing": f"{took}, with {cores}" if took else "not known: it was never measured",
        "not counted": "waiting for other cohorts and for the network",
    }


def of_search(words: int, most: int) -> str:
    """Say how long the codes of so many different words take, of which a cohort may have `most`."""
    from unpooled.methods.tables.encoding.dictionary import CODE_BITS, MOST_CELLS, STEP_BITS

    looks = MOST_CELLS // max(1, words)  # how many continuations of each code fit one comparison
    rounds = -(-CODE_BITS // min(STEP_BITS, max(1, looks.bit_length() - 1)))
    own, compensators = most * PER_POINT + words * PER_CODE, most * PER_CODE
    return (
        f"about {duration(own)} here and {duration(compensators)} at the compensator, for each cohort; "
        f"then up to {rounds} comparisons"
    )


def duration(time: float) -> str:
    """Seconds as a person says them, and no more exactly than they are known."""
    for unit, size in (("h", 3600), ("min", 60)):
        if time >= 1.5 * size:
            return f"{time / size:.0f} {unit}"
    return f"{max(1, round(time))} s"
