"""A dishonest server asks for more than an honest study does, in the middle of one: it gets no answer.

It is the honest one with relays before it. It asks all cohorts alike, and reads the sums of their answers
with the compensator's help, as an honest server does: so what it gets where it gets an answer is numbers.
Each attack succeeds on clients of which one check is taken away: one person's data, or what was not agreed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from tests import list_text
from unpooled.methods.chi_square import CountGenotypes
from unpooled.methods.shared.genotype_table import DIPLOID
from unpooled.plan.common_options import COHORTS as EACH_TWO
from unpooled_client.state.events import Exit

from ..federation import Federation
from ..launch import Function
from ..leaks import BOOK, LIST, SENT
from .lying import Asking, NotAnswered
from .singled_out import (
    AUTOSOMAL,
    COHORTS,
    INCOMPLETE,
    LACKED,
    MAN,
    PEOPLE,
    Pool,
    list_of,
    write,
)

CHI_SQUARE: dict[str, Any] = {"test": "chi-square", "nonfounders": True, "mind": 0.45}
LISTED = 5
BY_LIST: dict[str, Any] = {
    "test": "chi-square",
    "nonfounders": True,
    "panel_mode": "list",
    "panel_list": list_text.write(list_of(0, LISTED)),
}


@dataclass(frozen=True)
class Attack:
    """Attack of a dishonest server: what it asks, and what it learns if that is answered."""

    plan: dict[str, Any]
    learns: Callable[[Asking], np.ndarray]
    truth: Callable[[Pool], np.ndarray]
    said: str
    """A part of what the client tells its person of the question."""
    stubs: dict[str, Function]
    """Checks that a client lacks if it answers the attack."""
    lacks: dict[str, Function] = field(default_factory=dict)
    """The checks that a client may lack and still refuse it."""
    code: str = "question"
    """Code of the problem that the server is told."""


def genotypes(
    server: Asking, start: int, stop: int, *groups: tuple[str, ...], chromosome: str = DIPLOID
) -> np.ndarray:
    """Count the people of these groups with two copies, one, none: int64 (variants, 3)."""
    most = COHORTS * PEOPLE
    counts = server.ask(CountGenotypes(start, stop, groups, most, chromosome))["genotypes"]
    return np.asarray(counts.sum(axis=1))


EVERYONE = (("case",), ("control",))


def copies_of_one(counts: np.ndarray) -> np.ndarray:
    """The genotypes of the one person who was counted: copies of the first allele."""
    assert (counts.sum(axis=1) == 1).all() and counts.min() == 0
    return np.asarray(2 - counts.argmax(axis=1))


def men_apart(server: Asking) -> np.ndarray:
    return copies_of_one(genotypes(server, 0, 30, ("case", "male"), ("control", "male")))


def another_panel(server: Asking) -> np.ndarray:
    """Ask again with a panel of few variants: whoever lacks half of them is left out by the plan's --mind."""
    with_all = genotypes(server, 0, 20, *EVERYONE)
    server.make_them_begin_anew(list_of(0, LACKED.stop))
    return copies_of_one(with_all - genotypes(server, 0, 20, *EVERYONE))


def beyond_the_list(server: Asking) -> np.ndarray:
    """Ask for variants that the coordinator's list does not have."""
    server.make_them_begin_anew(list_of(0, AUTOSOMAL))
    return genotypes(server, LISTED, AUTOSOMAL, *EVERYONE)


MEN_APART = Attack(
    CHI_SQUARE,
    men_apart,
    lambda pool: pool.copies[:30, MAN],
    "something that chi-square does not have",
    SENT,
)
ATTACKS: dict[str, Attack] = {
    "men apart": MEN_APART,
    "men apart, without a compensator": replace(MEN_APART, plan={**CHI_SQUARE, "trust": EACH_TWO}),
    "another panel": Attack(
        CHI_SQUARE,
        another_panel,
        lambda pool: pool.copies[:20, INCOMPLETE],
        "asks about another list of variants than before",
        SENT | BOOK,
        lacks=SENT,
    ),
    "beyond the list": Attack(
        BY_LIST,
        beyond_the_list,
        lambda pool: pool.counts(slice(LISTED, AUTOSOMAL)),
        "variants that the list of its plan does not have",
        SENT | LIST,
        code="panel",
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
            pool = write(tmp_path_factory.mktemp("pool"))
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
    server.run(attack.lacks, others=attack.stubs | BOOK)
    with pytest.raises(NotAnswered):
        attack.learns(server)
    assert server.victim.party.wait() == Exit.REFUSED
    last = server.victim.events()[-1]
    assert attack.said in last["message"]
    assert "tell the coordinator" in (last["message"] + last["remedy"]).lower()
    (told,) = server.relays[0].found("POST /api/v1/cohort/problem ")[-1:]
    assert json.loads(told.request.body) == {"code": attack.code, "name": ""}
    assert server.trial.state == "paused"


@pytest.mark.parametrize("name", ATTACKS)
def test_weakened_clients_answer_it(begun: Begin, name: str) -> None:
    attack = ATTACKS[name]
    server, pool = begun(attack.plan)
    server.run(attack.stubs, others=attack.stubs | BOOK)
    np.testing.assert_allclose(attack.learns(server), attack.truth(pool), atol=1e-6)
