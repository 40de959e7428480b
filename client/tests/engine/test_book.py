"""The cohort's book: what was answered is known whatever happens, and no question goes beyond it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from books import SIZES, answerer_of, asked, started_again

from unpooled.algorithms import ALGORITHMS
from unpooled.algorithms.presence import Presence
from unpooled.cohort import ArrayCohort, Samples
from unpooled.genotype_model import ADDITIVE
from unpooled.leaving import most_bytes_of
from unpooled.plan import Covariate, Plan
from unpooled.protocol.messages import Roster
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Book, BookLost, knows_of_a_release, open_book
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Distrust, Terms

PANEL = bytes(32)
AGE = (Covariate("age"),)
GENOTYPES = (("case", "complete", "founder"), ("control", "complete", "founder"))


def terms_of(**changes: Any) -> Terms:
    given = {"test": "logistic", "files": ("assoc", "glm"), "missing": "mean", "covariates": AGE} | changes
    plan = Plan(phenotype="asthma", cohorts=3, compensator_key=bytes(32), **given)  # type: ignore[arg-type]
    roster = Roster(tuple((name, bytes(31) + name.encode()) for name in "GOT"))
    return Terms("s", "T", plan, plan.hash(), roster, roster.hash(), False)


@pytest.fixture
def answerer() -> Answerer:
    return answerer_of(terms_of())


@pytest.fixture
def cohort() -> ArrayCohort:
    random = np.random.default_rng(1)
    n, yes = 60, np.ones(60, bool)
    sex = random.integers(1, 3, n).astype(np.uint8)
    samples = Samples(random.integers(0, 2, n).astype(float), sex, yes, yes, random.normal(size=(n, 1)))
    copies = random.choice(np.array([-1, 0, 1, 2], np.int8), (900, n), p=[0.1, 0.4, 0.3, 0.2])
    return ArrayCohort(samples, copies, np.zeros(900, bool))


def question(name: str, **fields: Any) -> Any:
    """A question of a logistic regression about two variants, the second of which lacks calls."""
    kind: Any = next(kind for kind in ALGORITHMS["logistic"].asks if kind.name.endswith(f"/{name}"))
    if name == "genotypes":
        return kind(**{"start": 0, "stop": 2, "groups": GENOTYPES, "most": 9} | fields)
    columns = {"people": 100, "centre": np.zeros(1), "exponent": np.zeros(1, np.int64), "cohorts": 3}
    if name == "null":
        one = {
            "chromosome": "diploid",
            "with_sex": False,
            "beta": np.zeros(2),
            "iteration": 0,
            "evaluation": 1,
        }
        return kind(**one | columns | fields)
    about = {"start": 0, "asked": np.array([1, 5], np.uint8), "chromosome": "diploid", "exact": False}
    about |= {"model": ADDITIVE, "interacting": ()}
    models = {"fill": np.ones((1, 1)), "with_sex": False, "beta": np.zeros(2)}
    if name == "evaluate":
        models |= {"beta": np.zeros((2, 3)), "iteration": 1, "evaluation": 1}
    return kind(**about | columns | models | fields)


def share(answerer: Answerer, step: Any, cohort: ArrayCohort, panel: bytes = PANEL) -> None:
    sent = asked(step)
    answerer.share(sent, answerer.question(sent), cohort, panel)


def refused(answerer: Answerer, step: Any, cohort: ArrayCohort, match: str, panel: bytes = PANEL) -> None:
    """So it is by this client, and by the same started again."""
    for one in (answerer, started_again(answerer)):
        with pytest.raises(Distrust, match=match):
            share(one, step, cohort, panel)


def test_the_same_again_is_answered_and_counted_once(answerer: Answerer, cohort: ArrayCohort) -> None:
    sent = asked(question("genotypes"))
    shares = []
    for one in (answerer, answerer, started_again(answerer)):
        shares.append(one.share(sent, one.question(sent), cohort, PANEL))
    assert len({each.nonce for each in shares}) == 3
    other = replace(sent, salt=os.urandom(32))
    for one in (answerer, started_again(answerer)):
        with pytest.raises(Distrust, match="something else in a round"):
            one.share(other, one.question(other), cohort, PANEL)


def test_each_variant_is_asked_by_each_kind_as_often_as_an_honest_study_does(
    answerer: Answerer, cohort: ArrayCohort
) -> None:
    share(answerer, question("genotypes"), cohort)
    share(answerer, question("start"), cohort)
    for _ in range(3):
        share(answerer, question("evaluate"), cohort)
    refused(answerer, question("genotypes"), cohort, "again")
    refused(answerer, question("genotypes", start=1, stop=3), cohort, "again")
    refused(answerer, question("start"), cohort, "again")
    share(answerer, question("genotypes", start=2, stop=3), cohort)


def test_a_search_ends(answerer: Answerer, cohort: ArrayCohort) -> None:
    for _ in range(100):
        share(answerer, question("null"), cohort, b"")
    refused(answerer, question("null"), cohort, "again", b"")


def test_the_panel_is_one(answerer: Answerer, cohort: ArrayCohort) -> None:
    share(answerer, question("genotypes"), cohort)
    refused(answerer, question("genotypes", start=2, stop=4), cohort, "another list", bytes(31) + b"1")


@pytest.mark.parametrize("chromosome", ["X", "X by plink2"])
def test_missing_calls_count_the_same_in_all_codings(
    answerer: Answerer, cohort: ArrayCohort, chromosome: str
) -> None:
    """In copies of one or of two, these are the same share; a woman without a call is told by any other."""
    first, second = {"X": (1.0, 2.0), "X by plink2": (2.0, 2.0)}, np.array([[0.25, 0.5]])
    other = {"X": "X by plink2", "X by plink2": "X"}[chromosome]
    wide = {"with_sex": True, "beta": np.zeros(3)}
    share(answerer, question("start", chromosome=chromosome, fill=second * first[chromosome], **wide), cohort)
    share(answerer, question("start", chromosome=other, fill=second * first[other], **wide), cohort)
    lie = second * first[other] + [[0.0, 0.25]]
    with_third = {"start": 2, "asked": np.array([1, 5], np.uint8)}
    share(
        answerer,
        question("start", chromosome=chromosome, fill=second * first[chromosome], **wide, **with_third),
        cohort,
    )
    refused(
        answerer, question("start", chromosome=other, fill=lie, **wide, **with_third), cohort, "missing calls"
    )


def test_groups_are_those_of_the_plan_and_of_the_chromosome(answerer: Answerer) -> None:
    apart = (("case", "complete", "founder", "male"),)
    assert answerer.question(asked(question("genotypes", groups=apart, chromosome="X")))
    for step in (
        question("genotypes", groups=apart),
        question("genotypes", groups=(("case", "complete", "founder", "female"),), chromosome="X"),
        question("genotypes", groups=(("case",),)),
        question("genotypes", groups=GENOTYPES, chromosome="X by plink2, sex known"),
    ):
        with pytest.raises(Distrust):
            answerer.question(asked(step))
    nonfounders = answerer_of(terms_of(nonfounders=True))
    with pytest.raises(Distrust):
        nonfounders.question(asked(question("genotypes")))


def test_no_more_is_answered_than_was_released(cohort: ArrayCohort) -> None:
    terms = terms_of(panel_mode="list", panel_digest=bytes(32))
    answerer, few = answerer_of(terms), ListOf(np.ones(900, bool))
    most = most_bytes_of(Presence, terms.plan, SIZES)
    assert most is not None
    share(answerer, Presence(0, 900), few, b"")
    refused(answerer, Presence(900, 1), few, "more than was released", b"")
    refused(answerer, Presence(-1, 1), few, "more than was released", b"")


class ListOf(ArrayCohort):
    def __init__(self, present: np.ndarray) -> None:
        self.present = present


def test_what_was_cut_off_did_not_leave(answerer: Answerer, cohort: ArrayCohort) -> None:
    share(answerer, question("genotypes"), cohort)
    whole = answerer.book.path.read_bytes()
    share(answerer, question("genotypes", start=2, stop=3), cohort)
    longer = answerer.book.path.read_bytes()
    for size in range(len(whole), len(longer)):
        answerer.book.path.write_bytes(longer[:size])
        again = started_again(answerer)
        assert answerer.book.path.read_bytes() == whole
        with pytest.raises(Distrust):
            share(again, question("genotypes"), cohort)
    share(again, question("genotypes", start=2, stop=3), cohort)


@pytest.mark.parametrize("damage", ["gone", "empty", "of another seed", "within"])
def test_without_its_book_nothing_is_answered(answerer: Answerer, cohort: ArrayCohort, damage: str) -> None:
    share(answerer, question("genotypes"), cohort)
    share(answerer, question("genotypes", start=2, stop=3), cohort)
    path = answerer.book.path
    if damage == "gone":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "of another seed":
        Book.begin(path, os.urandom(32))
    else:
        data = bytearray(path.read_bytes())
        data[60] ^= 1
        path.write_bytes(data)
    with pytest.raises(BookLost, match="--join-anew"):
        started_again(answerer)
    with pytest.raises(BookLost):
        knows_of_a_release(path, answerer.seed)


def test_a_book_knows_whether_a_sum_was_released(answerer: Answerer, cohort: ArrayCohort) -> None:
    path, seed = answerer.book.path, answerer.seed
    assert not knows_of_a_release(path, seed)
    share(answerer, question("genotypes"), cohort)
    assert not knows_of_a_release(path, seed)
    share(answerer, question("start"), cohort)
    assert knows_of_a_release(path, seed)


def test_a_book_is_small(tmp_path: Path, cohort: ArrayCohort) -> None:
    """At most 8 bytes a variant and 1 MB: a logistic fit of 20,000 variants that all lack calls."""
    variants = 20_000
    terms, seed, folder = terms_of(chunk_size=variants), os.urandom(32), StateFolder(tmp_path)
    Book.begin(folder.book, seed)
    sizes = {"variants": variants, "variants_autosomal": variants}
    answerer = Answerer(terms, seed, open_book(folder, seed, terms.plan, sizes), witness=os.urandom(32))
    copies = np.zeros((variants, len(cohort.samples)), np.int8)
    wide = ArrayCohort(cohort.samples, copies, np.zeros(variants, bool))
    random = np.random.default_rng(3)
    fill = random.random((variants, 1))
    share(answerer, question("genotypes", stop=variants), wide)
    share(answerer, question("start", asked=np.full(variants, 5, np.uint8), fill=fill), wide)
    left = np.arange(variants)
    for evaluation in range(1, 30):
        flags = np.zeros(variants, np.uint8)
        flags[left] = 5
        share(
            answerer,
            question(
                "evaluate", asked=flags, fill=fill[left], beta=np.zeros((len(left), 3)), evaluation=evaluation
            ),
            wide,
        )
        left = left[random.random(len(left)) < 0.6]
        if not len(left):
            break
    assert folder.book.stat().st_size < 8 * variants
