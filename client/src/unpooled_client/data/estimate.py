"""How much memory and computing a study will take here: simple formulas with measured constants.

    memory   BASE + (PER_VARIANT + 3 · letters) · m + 2 · threads · chunk · n / 4 bytes
    time     m · (n · kernel / threads + EACH) seconds

for n people, m variants and `chunk` variants in a question, of which each thread has one at work and one on
its way. The longest ID has USUAL_ID + `letters`; a list of IDs has its room for each of them, and at the peak
there are three. BASE and PER_VARIANT are what docs/growth.md measures and promises. `kernel` is the time per
person and variant of docs/performance.md, one core of a server; EACH is what masking, sending and writing
take per variant, from the whole studies there (core-seconds of all parties less the kernels, per cohort and
variant, hence rather too much). Waiting for other cohorts, and for a slow network or disk, comes on top and
is not known here.
"""

from __future__ import annotations

from unpooled.plan import DEFAULT_CHUNK

BASE = 320e6
PER_VARIANT = 200
USUAL_ID = 25
EACH = {"chi-square": 6e-6, "linear": 10e-6, "logistic": 17e-6}


def kernel(test: str, covariates: int) -> float:
    """Seconds per person and variant of one core; `covariates` are columns.

    Sums with columns are looked up eight columns at a time. An evaluation of a logistic regression grows with
    its second derivatives; there is one in single precision and one in double, the rest are of few variants.
    """
    columns = covariates + 2
    if test == "linear":
        return 0.32e-9 * -(-columns // 8)
    if test == "logistic":
        operations = 40 + columns * (columns + 3) / 2
        return 0.33e-9 * -(-columns // 8) + (2.2e-9 + 3.1e-9) * operations / (40 + 6 * 9 / 2)
    return 0.02e-9  # counts of four groups


def memory(
    people: int, variants: int, threads: int, chunk: int = DEFAULT_CHUNK, longest_id: int = USUAL_ID
) -> float:
    """Bytes at the peak."""
    each = PER_VARIANT + 3 * max(0, longest_id - USUAL_ID)
    return BASE + each * variants + 2 * threads * min(chunk, variants) * people / 4


def seconds(test: str, people: int, variants: int, covariates: int, threads: int) -> float:
    """Of computing, masking and sending, while nobody is waited for."""
    return variants * (people * kernel(test, covariates) / threads + EACH[test])


def described(
    people: int, variants: int, covariates: int, tests: tuple[str, ...], threads: int, longest_id: int
) -> dict[str, str]:
    """The estimate in words, for some tests."""
    took = ", ".join(
        f"{test} about {duration(seconds(test, people, variants, covariates, threads))}" for test in tests
    )
    return {
        "memory": f"about {memory(people, variants, threads, longest_id=longest_id) / 1e9:.1f} GB",
        "computing": f"{took}, with {threads} core{'' if threads == 1 else 's'}",
        "not counted": "waiting for other cohorts and for the network",
    }


def duration(time: float) -> str:
    """Seconds as a person says them, and no more exactly than they are known."""
    for unit, size in (("h", 3600), ("min", 60)):
        if time >= 1.5 * size:
            return f"{time / size:.0f} {unit}"
    return f"{max(1, round(time))} s"
