"""What people read before they agree has everything that a study will ask, and says what it may tell."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from unpooled.algorithms import FITS, METHODS, TESTS, questions_of
from unpooled.facts import plan_facts
from unpooled.leaving import LIST, PLAN_DIGEST, SINGLE_VALUES, Form, what_leaves
from unpooled.plan import ENCODING_FILE, PARAMETERS_FILE
from unpooled.question import Question

from .options import OPTIONS
from .runs import small
from .studies import EVERY

ONE_PERSON = re.compile(r"that person's|single people|single values")
_WITH_A_TABLE = {PARAMETERS_FILE, ENCODING_FILE}


@pytest.mark.parametrize("name", [*EVERY, *OPTIONS])
def test_the_consent_table_has_every_declared_array(name: str) -> None:
    plan = small(name).plan
    table = what_leaves(plan)
    sent = [(kind, array) for kind in questions_of(plan) for array in kind.sends_under(plan)]
    asked = Counter((f"{kind.title}: {array.name}", array.meaning, Form.MASKED) for kind, array in sent)
    assert asked <= Counter((line.what, line.detail, line.form) for line in table)
    in_clear = {line.what: line.detail for line in table if line.form == Form.CLEAR}
    assert (LIST in in_clear) == (plan.panel_mode == "names")
    if plan.of_tables:
        assert ("no other is written" in in_clear[PLAN_DIGEST]) == (not _WITH_A_TABLE & set(plan.files))


@pytest.mark.parametrize("method", METHODS)
def test_consent_and_privacy_page_say_which_single_values_become_known(method: str) -> None:
    """Sums over all tell none; whatever rests on thresholds tells some."""
    plan = small(method).plan
    tells = dict(plan_facts(plan).all).get(SINGLE_VALUES, "")
    lines = [line for line in what_leaves(plan) if line.what == SINGLE_VALUES]
    assert bool(tells) == bool(lines) == (method not in ("z-score", "encode", *FITS))
    assert all(tells in line.detail and "the server" in line.readable_by for line in lines)
    extremes = "the smallest and the largest" in tells
    assert extremes == (method in ("min-max", "yeo-johnson", "summary"))


@pytest.mark.parametrize("kind", sorted({kind for test in TESTS.values() for kind in test.asks}, key=str))
def test_what_may_be_of_one_person_is_declared_as_it_is_said(kind: type[Question]) -> None:
    for array in kind.sends:
        assert array.of_one == bool(ONE_PERSON.search(array.learns)), array.name
