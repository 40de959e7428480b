"""Whole studies in one process, and every byte of their files as plink1.9 writes them on the pooled data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pooled import Pool

from unpooled.asking.cohort import Samples
from unpooled.errors import Refuse
from unpooled.formats.plink import name_width
from unpooled.plan.result_files import FILES

from ..people import people as samples_of
from .reports import without_gc

MALE, FEMALE, UNKNOWN = 1, 2, 0
CASE, CONTROL, MISSING = 1.0, 0.0, np.nan


def study(pooled: Pool, *, cohorts: int = 3, seed: int = 0, **plan: object) -> dict[str, bytes]:
    """The files of a federated study."""
    return pooled.study((1,) * cohorts, seed, **plan)[0]


def plink(pooled: Pool, folder: Path, *flags: object) -> dict[str, bytes]:
    """Return the reports of plink1.9 on pooled data."""
    out = pooled.plink1(folder, "--assoc", "--freq", "--missing", "--hardy", *flags)
    found = {suffix: Path(f"{out}.{suffix}").read_bytes() for suffix in FILES}
    adjusted = Path(f"{out}.assoc.adjusted")
    return {**found, "adjusted": adjusted.read_bytes()} if adjusted.exists() else found


def same(ours: dict[str, bytes], plinks: dict[str, bytes]) -> None:
    """Every file of ours is PLINK's; otherwise show the first line that is not."""
    for suffix in ours:
        text, theirs = map(without_gc, (ours[suffix], plinks[suffix]))
        lines = zip(text.splitlines(), theirs.splitlines(), strict=False)
        for number, (our_line, plinks_line) in enumerate(lines, start=1):
            assert our_line == plinks_line, f".{suffix} line {number}"
        assert text == theirs, f".{suffix}: number or ends of lines"


def people(
    n: int,
    random: np.random.Generator,
    *,
    founders: float = 0.7,
    sexes: Sequence[int] = (MALE, FEMALE, UNKNOWN),
    phenotypes: Sequence[float] = (CASE, CONTROL, MISSING),
) -> Samples:
    status, sex = random.choice(phenotypes, n), random.choice(sexes, n).astype(np.uint8)
    return samples_of(status, sex=sex, founder=random.random(n) < founders)


def variants(count: int, autosomes: int = 22) -> list[tuple[int, int, bytes, bytes, bytes]]:
    """So many on each kind of chromosome: unplaced, first and last autosome, X, Y, XY, MT."""
    chromosomes = (0, 1, *range(autosomes, autosomes + 5))
    alleles = [(b"A", b"G"), (b"T", b"C"), (b"G", b"A")]
    return [(c, 1 + 7 * k, b"rs%d_%d" % (c, k), *alleles[k % 3]) for c in chromosomes for k in range(count)]


def draw(m: int, n: int, random: np.random.Generator, missing: float = 0.05) -> np.ndarray:
    """Genotypes of all frequencies; on every chromosome all three occur, in men too."""
    copies = random.binomial(2, np.broadcast_to(random.random((m, 1)) ** 2, (m, n)))
    return np.where(random.random((m, n)) < missing, -1, copies).astype(np.int8)


def ordinary(seed: int = 0, n: int = 150, missing: float = 0.05, autosomes: int = 22, **kind: object) -> Pool:
    random = np.random.default_rng(seed)
    rows = variants(30, autosomes)
    samples = people(n, random, **kind)  # type: ignore[arg-type]
    return Pool(samples, rows, draw(len(rows), n, random, missing), autosomes)


KINDS: dict[str, dict[str, object]] = {
    "ordinary": {},
    "many people": {"n": 2001},
    "two people": {"n": 2, "phenotypes": (CASE, CONTROL), "seed": 3},
    "few calls": {"missing": 0.97},
    "no calls": {"missing": 2.0},
    "no missing calls": {"missing": 0.0},
    "no founders": {"founders": 0.0},
    "founders only": {"founders": 1.0},
    "no men": {"sexes": (FEMALE,)},
    "men only": {"sexes": (MALE,)},
    "unknown sex": {"sexes": (UNKNOWN,)},
    "cases only": {"phenotypes": (CASE,)},
    "no controls": {"phenotypes": (CASE, MISSING)},
    "no cases": {"phenotypes": (CONTROL, MISSING)},
    "19 autosomes": {"autosomes": 19},
    "95 autosomes": {"autosomes": 95},
}


ONE_CLASS = {"cases only": "controls", "no controls": "controls", "no cases": "cases"}
"""Kinds of which a test of cases against controls is refused; the other reports are to be had."""


@pytest.mark.parametrize("flags", [(), ("--nonfounders",)], ids=["founders", "nonfounders"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_plinks(kind: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    pooled = ordinary(**KINDS[kind])  # type: ignore[arg-type]
    files = FILES
    if kind in ONE_CLASS:
        with pytest.raises(Refuse, match=f"there are no {ONE_CLASS[kind]} in the pool") as caught:
            study(pooled)
        assert caught.value.field == "phenotype"
        files = tuple(file for file in FILES if file != "assoc")
    plinks = plink(pooled, tmp_path, *flags)
    ours = study(pooled, nonfounders=bool(flags), chunk_size=50, files=files)
    same(ours, {name: plinks[name] for name in ours})


FILTERS: tuple[dict[str, float], ...] = (
    {"maf": 0.1},
    {"geno": 0.05},
    {"hwe": 0.3},
    {"maf": 0.05, "geno": 0.06, "hwe": 0.05},
)


@pytest.mark.parametrize("nonfounders", [False, True], ids=["founders", "nonfounders"])
@pytest.mark.parametrize("filters", FILTERS, ids=" ".join)
def test_filters(filters: dict[str, float], nonfounders: bool, tmp_path: Path) -> None:
    """The test is of the variants that pass; the other files have, as PLINK's, more lines."""
    pooled = ordinary(9, n=400)
    random = np.random.default_rng(1)  # IDs of any length: the width of a column is by all of them
    named = [(c, at, name + b"x" * random.integers(9), *pair) for c, at, name, *pair in pooled.variants]
    pooled = replace(pooled, variants=named)
    flags = [word for name, value in filters.items() for word in (f"--{name}", str(value))]
    ours = study(pooled, nonfounders=nonfounders, chunk_size=50, **filters)
    assert 50 < ours["assoc"].count(b"\n") < len(pooled.variants)
    same(ours, plink(pooled, tmp_path, *flags, *["--nonfounders"] * nonfounders))
    (assoc,) = study(pooled, nonfounders=nonfounders, files=("assoc",), **filters).values()
    assert assoc == ours["assoc"]


def test_odd_alleles(tmp_path: Path) -> None:
    pairs = [
        (b"0", b"G"), (b"0", b"0"), (b"G", b"0"), (b"<DEL>", b"A"), (b"ACGTACGTACGT", b"A"),
        (b"CTTTT", b"CTTTTT"), (b"1", b"2"), (b"A", b"*"),
    ]  # fmt: skip
    random = np.random.default_rng(1)
    rows = [(1, 1 + k, b"v%d" % k, *pairs[k % len(pairs)]) for k in range(80)]
    copies = draw(len(rows), 90, random)
    unseen = np.array([a1 == b"0" for *_, a1, _ in rows])
    copies[unseen] = np.minimum(copies[unseen], 0)  # no call has an allele that was never seen
    unseen = np.array([a2 == b"0" for *_, a2 in rows])
    copies[unseen] = np.where(copies[unseen] < 0, -1, 2)
    pooled = Pool(people(90, random), rows, copies)
    same(study(pooled), plink(pooled, tmp_path))


def test_ids_of_any_length(tmp_path: Path) -> None:
    for lengths in ((1, 2, 1), (1, 5, 6, 7, 8, 3, 10, 11), (30, 4, 2), (4, 5), tuple(range(1, 40))):
        # In canonical order by position, so the IDs come in the order of these lengths.
        rows = [(1, 1 + k, b"x" * length, b"A", b"C") for k, length in enumerate(lengths)]
        random = np.random.default_rng(2)
        pooled = Pool(people(20, random), rows, draw(len(rows), 20, random))
        same(study(pooled), plink(pooled, tmp_path))


def test_positions_of_any_length(tmp_path: Path) -> None:
    positions = [0, 9, 10, 99_999_999, 100_000_000, 1_234_567_890, 2**31 - 2]
    rows = [(2, at, b"v%d" % at, b"A", b"C") for at in positions]
    random = np.random.default_rng(2)
    pooled = Pool(people(20, random), rows, draw(len(rows), 20, random))
    same(study(pooled), plink(pooled, tmp_path))


def graded(people_of_each: int, case_alleles: np.ndarray, control_alleles: np.ndarray) -> Pool:
    """Cases with so many copies of A1 in all, and as many controls with so many; everyone a founder."""

    def fill(alleles: np.ndarray) -> np.ndarray:
        person = np.arange(people_of_each)
        return np.clip(alleles[:, None] - 2 * person, 0, 2)

    copies = np.concatenate([fill(case_alleles), fill(control_alleles)], axis=1).astype(np.int8)
    phenotype = np.repeat([CASE, CONTROL], people_of_each)
    women = samples_of(phenotype, sex=np.full(len(phenotype), FEMALE, np.uint8))
    return Pool(women, [(1, 1 + k, b"v%d" % k, b"A", b"C") for k in range(len(copies))], copies)


@pytest.mark.parametrize("kind", ["ordinary", "many people", "no founders", "two people", "unknown sex"])
def test_adjusted(kind: str, tmp_path: Path) -> None:
    pooled = ordinary(**KINDS[kind])  # type: ignore[arg-type]
    same(study(pooled, files=("assoc", "adjusted")), plink(pooled, tmp_path, "--adjust"))


def test_halves_in_the_fifth_digit(tmp_path: Path) -> None:
    shares = np.arange(2001)  # of 4000 case alleles; with few control alleles, A1 stays the rarer one
    pooled = graded(2000, shares, np.zeros_like(shares))
    same(study(pooled, files=("assoc", "frq", "lmiss")), plink(pooled, tmp_path))


def test_p_values_down_to_0(tmp_path: Path) -> None:
    # Chi-square from 0 to 3000 in small steps, through the point at which PLINK prints P as 0.
    few = np.arange(0, 1501)
    fine = graded(1500, 2990 - 2 * few, few)
    same(study(fine, files=(*FILES, "adjusted")), plink(fine, tmp_path, "--adjust"))
    # And closely around that point.
    case, control = np.meshgrid(np.arange(1700, 1800), np.arange(300, 330))
    close = graded(1500, case.ravel(), control.ravel())
    same(study(close, files=("assoc",)), plink(close, tmp_path))


def test_width_of_the_name_column() -> None:
    assert name_width([]) == 4
    assert name_width([np.array([4, 1])]) == 4
    for pieces in ([[5, 7, 6]], [[5], [7, 6]], [[5, 7], [6]]):
        assert name_width(map(np.array, pieces)) == 7
    for pieces in ([[5, 8, 6]], [[5], [8, 6]], [[5, 8], [6]]):
        assert name_width(map(np.array, pieces)) == 10
