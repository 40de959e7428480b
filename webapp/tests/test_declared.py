"""The list of declared words, which the browser's catalogues translate, is the one that the code makes."""

from __future__ import annotations

import json
from pathlib import Path

from unpooled.algorithms import ALGORITHMS
from unpooled.protocol.problems import Problem
from unpooled_webapp.declared import declared_words
from unpooled_webapp.management.commands.declared import as_json

FILE = Path(__file__).parents[2] / "frontend/locales/declared.json"


def test_the_committed_list_is_current() -> None:
    assert FILE.read_text() == as_json(), "run: unpooled manage declared frontend/locales/declared.json"


def test_it_has_what_people_choose_and_what_is_refused() -> None:
    words = set(json.loads(FILE.read_text()))
    for method in ALGORITHMS.values():
        assert {method.title, *(option.label for option in method.all_options)} <= words
    assert {text for problem in Problem for text in (problem.message, problem.remedy)} <= words
    assert "User name or password is wrong." in words


def test_nothing_in_it_depends_on_a_study() -> None:
    assert not [text for text in declared_words() if "example" in text]
