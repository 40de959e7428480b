"""A dishonest server asks for more than an honest study does, in the middle of one: it gets no answer.

It is the honest one with relays before it. It asks all cohorts alike, and reads the sums of their answers
with the compensator's help, as an honest server does: so what it gets where it gets an answer is numbers.
Each attack succeeds on clients of which one check is taken away: one person's data, or what was not agreed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from unpooled import list_text
from unpooled.algorithms.chi_square import CountGenotypes
from unpooled.algorithms.regression.about_variants import FIRST
from unpooled.algorithms.regression.about_variants import INCOMPLETE as LACKS_CALLS
from unpooled.algorithms.regression.linear import SumWithGenotypes
from unpooled.algorithms.shared.coding import X2
from unpooled.algorithms.shared.genotype_table import DIPLOID, X
from unpooled_client.state.events import Exit

from ..federation import Federation
from ..launch import Function
from ..leaks import BOOK, FITTING, GROUPS, LIST
from .lying import Asking, NotAnswered
from .singled_out import (
    AUTOSOMAL,
    COHORTS,
    INCOMPLETE,
    LACKED,
    LACKED_ON_X,
    LACKED_ONCE,
    MAN,
    NONFOUNDER,
    PEOPLE,
    WOMAN,
    Pool,
    list_of,
    write,
)

CHI_SQUARE: dict[str, Any] = {"test": "chi-square", "nonfounders": True, "mind": 0.45}
LINEAR: dict[str, Any] = {
    "test": "linear",
    "trait": "quantitative",
    "missing": "mean",
    "files": ["assoc", "glm"],
}
LISTED = 5
BY_LIST: dict[str, Any] = {
    "test": "chi-square",
    "nonfounders": True,
    "panel_mode": "list",
    "panel_list": list_text.write(list_of(0, LISTED)),
}

AGAIN, NOT_ALLOWED = "asks again what was answered", "the accepted plan does not allow"


@dataclass(frozen=True)
class Attack:
    """What a server asks, and what it knows if that is answered."""

    plan: dict[str, Any]
    learns: Callable[[Asking], np.ndarray]
    truth: Callable[[Pool], np.ndarray]
    said: str
    """A part of what the client tells its person of the question."""
    stubs: dict[str, Function]
    """What a client lacks that answers it."""
    code: str = "question"
    """What the server is told."""


def genotypes(
    server: Asking, start: int, stop: int, *groups: tuple[str, ...], chromosome: str = DIPLOID
) -> np.ndarray:
    """How many people of these groups have two copies, one, none: int64 (variants, 3)."""
    most = COHORTS * PEOPLE
    counts = server.ask(CountGenotypes(start, stop, groups, most, chromosome))["genotypes"]
    return np.asarray(counts.sum(axis=1))


EVERYONE = (("case",), ("control",))


def copies_of_one(counts: np.ndarray) -> np.ndarray:
    """The genotypes of the one person who was counted: copies of the first allele."""
    assert (counts.sum(axis=1) == 1).all() and counts.min() == 0
    return np.asarray(2 - counts.argmax(axis=1))


def the_same_again(server: Asking) -> np.ndarray:
    genotypes(server, 0, 10, *EVERYONE)
    return genotypes(server, 0, 10, *EVERYONE)


def overlapping(server: Asking) -> np.ndarray:
    genotypes(server, 0, 10, *EVERYONE)
    return genotypes(server, 5, 15, *EVERYONE)


def men_apart(server: Asking) -> np.ndarray:
    return copies_of_one(genotypes(server, 0, 30, ("case", "male"), ("control", "male")))


def as_if_on_x(server: Asking) -> np.ndarray:
    groups = ("case", "male"), ("control", "male")
    return copies_of_one(genotypes(server, 0, AUTOSOMAL, *groups, chromosome=X))


def nonfounders_apart(server: Asking) -> np.ndarray:
    return copies_of_one(genotypes(server, 30, 60, ("case", "nonfounder"), ("control", "nonfounder")))


def another_panel(server: Asking) -> np.ndarray:
    """Beside few variants, half of which they lack, somebody is left out by the plan's limit (--mind)."""
    with_all = genotypes(server, 0, 20, *EVERYONE)
    server.make_them_begin_anew(list_of(0, LACKED.stop))
    return copies_of_one(with_all - genotypes(server, 0, 20, *EVERYONE))


def phenotype_sums(server: Asking, variant: int, chromosome: str, fill: list[float]) -> np.ndarray:
    """Sums of copies times phenotype of a variant, a missing call being so many copies: by sex, if apart."""
    asked = np.array([FIRST + LACKS_CALLS], np.uint8)
    asked_of = SumWithGenotypes(
        variant,
        asked,
        chromosome,
        exact=False,
        fill=np.array([fill]),
        people=COHORTS * PEOPLE,
        centre=np.zeros(1),
        exponent=np.zeros(1, np.int64),
        cohorts=COHORTS,
        model="additive",
        interacting=(),
    )
    return np.asarray(server.ask(asked_of)["genotype"][0, :, 0])


def second_filling(server: Asking) -> np.ndarray:
    none = phenotype_sums(server, LACKED_ONCE, DIPLOID, [0.0])
    return (phenotype_sums(server, LACKED_ONCE, DIPLOID, [2.0]) - none) / 2


def second_filling_of_clients_that_began_anew(server: Asking) -> np.ndarray:
    none = phenotype_sums(server, LACKED_ONCE, DIPLOID, [0.0])
    server.make_them_begin_anew()
    return (phenotype_sums(server, LACKED_ONCE, DIPLOID, [2.0]) - none) / 2


def second_filling_of_clients_that_were_killed(server: Asking) -> np.ndarray:
    none = phenotype_sums(server, LACKED_ONCE, DIPLOID, [0.0])
    server.restart()
    return (phenotype_sums(server, LACKED_ONCE, DIPLOID, [2.0]) - none) / 2


def other_filling_in_another_coding(server: Asking) -> np.ndarray:
    """On X, men apart; both codings count the copies of women from 0 to 2."""
    none = phenotype_sums(server, LACKED_ON_X, X, [0.0, 0.0])
    return (phenotype_sums(server, LACKED_ON_X, X2, [0.0, 2.0]) - none)[1:] / 2


def beyond_the_list(server: Asking) -> np.ndarray:
    """Of variants that the coordinator's list does not have."""
    server.make_them_begin_anew(list_of(0, AUTOSOMAL))
    return genotypes(server, LISTED, AUTOSOMAL, *EVERYONE)


def phenotype_of_one(pool: Pool) -> np.ndarray:
    return pool.phenotype[[WOMAN]]


ATTACKS: dict[str, Attack] = {
    "the same again": Attack(CHI_SQUARE, the_same_again, lambda pool: pool.counts(slice(10)), AGAIN, BOOK),
    "overlapping": Attack(CHI_SQUARE, overlapping, lambda pool: pool.counts(slice(5, 15)), AGAIN, BOOK),
    "men apart": Attack(CHI_SQUARE, men_apart, lambda pool: pool.copies[:30, MAN], NOT_ALLOWED, GROUPS),
    "nonfounders apart": Attack(
        CHI_SQUARE, nonfounders_apart, lambda pool: pool.copies[30:60, NONFOUNDER], NOT_ALLOWED, GROUPS
    ),
    "as if on X": Attack(
        CHI_SQUARE,
        as_if_on_x,
        lambda pool: pool.copies[:AUTOSOMAL, MAN],
        "as if they were on another chromosome",
        FITTING,
    ),
    "another panel": Attack(
        CHI_SQUARE,
        another_panel,
        lambda pool: pool.copies[:20, INCOMPLETE],
        "asks about another list of variants than before",
        BOOK,
    ),
    "a second filling": Attack(LINEAR, second_filling, phenotype_of_one, AGAIN, BOOK),
    "a second filling, begun anew": Attack(
        LINEAR, second_filling_of_clients_that_began_anew, phenotype_of_one, AGAIN, BOOK
    ),
    "a second filling, killed": Attack(
        LINEAR, second_filling_of_clients_that_were_killed, phenotype_of_one, AGAIN, BOOK
    ),
    "another filling in another coding": Attack(
        LINEAR, other_filling_in_another_coding, phenotype_of_one, "counts missing calls differently", BOOK
    ),
    "beyond the list": Attack(
        BY_LIST,
        beyond_the_list,
        lambda pool: pool.counts(slice(LISTED, AUTOSOMAL)),
        "variants that the list of its plan does not have",
        LIST,
        "panel",
    ),
}


@pytest.fixture(scope="module")
def begun(
    running: Federation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[dict[str, Any]], tuple[Asking, Pool]]]:
    """A study by a plan of which a first sum was released, and its pool; one for all attacks on it."""
    made: dict[str, tuple[Asking, Pool]] = {}

    def begin(plan: dict[str, Any]) -> tuple[Asking, Pool]:
        if (key := str(plan)) not in made:
            pool = write(tmp_path_factory.mktemp("pool"), quantitative=plan is LINEAR)
            made[key] = Asking(running.study(pool.prefixes, **plan)), pool
        return made[key]

    yield begin
    for server, _ in made.values():
        server.trial.stop()
        server.close()


Begin = Callable[[dict[str, Any]], tuple[Asking, Pool]]


@pytest.mark.parametrize("name", ATTACKS)
def test_what_no_honest_study_asks_is_not_answered(begun: Begin, name: str) -> None:
    """One client that is as it should be suffices: the others answer everything."""
    attack = ATTACKS[name]
    server, _ = begun(attack.plan)
    server.run({}, others=attack.stubs | BOOK)
    with pytest.raises(NotAnswered):
        attack.learns(server)
    assert server.victim.party.wait() == Exit.REFUSED
    last = server.victim.events()[-1]
    assert attack.said in last["message"]
    assert "Tell the coordinator" in last["message"] + last["remedy"]
    (told,) = server.relays[0].found("POST /api/v1/cohort/problem ")[-1:]
    assert json.loads(told.request.body) == {"code": attack.code, "name": ""}
    assert server.trial.state == "paused"


@pytest.mark.parametrize("name", ATTACKS)
def test_weakened_clients_answer_it(begun: Begin, name: str) -> None:
    attack = ATTACKS[name]
    server, pool = begun(attack.plan)
    server.run(attack.stubs, others=attack.stubs | BOOK)
    np.testing.assert_allclose(attack.learns(server), attack.truth(pool), atol=1e-6)
