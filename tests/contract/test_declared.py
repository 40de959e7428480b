"""Contract of every registered algorithm: what is declared, agreed to and written is what happens."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.asking import question as questions
from unpooled.asking.in_one_process import deriving
from unpooled.asking.question import Question, Real
from unpooled.described.facts import plan_facts
from unpooled.described.file_list import result_files
from unpooled.described.what_leaves import LIST, PLAN_DIGEST, SINGLE_VALUES, Form, most_bytes_of, what_leaves
from unpooled.methods import ALGORITHMS, FITS, METHODS, TESTS, check, questions_of
from unpooled.methods.algorithm import Method
from unpooled.methods.components.questions import ASKS_FIRST, KeepScores
from unpooled.methods.loco import stacking
from unpooled.methods.loco.questions import ASKS, Residual
from unpooled.methods.loco.views import BeforePredictions, on_view
from unpooled.methods.phenotypes import tables_of
from unpooled.methods.shared.privacy import Promise
from unpooled.methods.tables.bends import Bends
from unpooled.plan.common_options import LOCO, PHENOTYPES
from unpooled.plan.file_names import LONGEST_STEM, is_plain
from unpooled.plan.result_files import ENCODING_FILE, PARAMETERS_FILE
from unpooled.plan.templates import Template
from unpooled.protocol import codec

from ..one_more.one_more_test import ONE_MORE
from .options import OPTIONS
from .runs import run, sizes_of, small
from .studies import EVERY, STUDIES, nothing_said

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    **{name: f"{name}.md" for name in TESTS},
    **dict.fromkeys(FITS, "learning.md"),
    **dict.fromkeys(("prune", "ld-matrix"), "ld.md"),
    "pca": "components.md",
    "panel": "panel.md",
    "encode": "encodings.md",
}
"""Documentation pages by algorithm; other methods of tables share normalization.md."""
LEAVES = {"pca": "components"}
"""Name under which the documentation lists what leaves a cohort, if it is not the algorithm's."""

of_each_study = pytest.mark.parametrize("name", EVERY)
of_each_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def plain(value: Any) -> bool:
    """Tell whether a value is one that a question may be made of: no plan, nothing of the server's."""
    if isinstance(value, tuple):
        return all(map(plain, value))
    if isinstance(value, Question | Bends | Promise | Residual):
        return all(plain(getattr(value, field.name)) for field in codec.sent(type(value)))
    return value is None or isinstance(value, bool | int | float | str | bytes | np.ndarray)


def test_every_algorithm_has_a_study_here() -> None:
    assert {small(name).plan.test for name in EVERY} == ALGORITHMS.keys()


@of_each_study
def test_questions_travel_and_hold_nothing_else(name: str) -> None:
    plan = small(name).plan
    for question in run(name).questions:
        message = questions.encode(question)
        received = questions.decode(message, questions_of(plan), plan)
        assert type(received) is type(question) and questions.encode(received) == message
        for field in codec.sent(type(question)):
            assert plain(getattr(question, field.name)), field.name


@of_each_study
def test_cohorts_are_told_the_sums_that_are_declared_and_no_others(name: str) -> None:
    plan, told = small(name).plan, run(name).kinds_told
    for kind in set(map(type, run(name).questions)):
        assert (kind in told) != bool(kind.only_server(plan)), kind.name


@of_each_study
def test_cohorts_send_what_is_declared(name: str) -> None:
    """The first question of each kind; shapes, counts and bounds of all were looked at in its run."""
    one, met = small(name), set[type[Question]]()
    cohorts = list(one.cohorts)
    for question in run(name).questions:
        scheme = one.plan.scheme(question.ring_bits)
        cohorts = [deriving(question, cohort) for cohort in cohorts]
        for cohort in cohorts if type(question) not in met else ():
            answer = questions.answer(question, cohort)
            assert answer.keys() == {array.name for array in question.sends}
            for array in question.sends:
                assert answer[array.name].shape == questions.shape(question, array), array.name
                kind = "f" if isinstance(array, Real) else "iu"
                assert answer[array.name].dtype.kind in kind, array.name
            share = questions.pack(question, answer, scheme, one.plan.cohorts, bytes(32))
            assert len(share) == questions.words(question, scheme)
        met.add(type(question))


@of_each_study
def test_columns_that_are_named_are_as_many_as_the_rows(name: str) -> None:
    plan = small(name).plan
    for question in run(name).questions:
        if named := question.columns_under(plan):
            assert {questions.shape(question, array)[0] for array in question.sends} == {len(named)}


@of_each_study
def test_what_is_foreseen_is_what_is_asked_or_more(name: str) -> None:
    one = small(name)
    known, of = sizes_of(one), one.plan
    for kind in questions_of(of):
        met = [question for question in run(name).questions if type(question) is kind]
        foreseen = kind.foreseen(of, known)
        assert foreseen is not None
        scheme, expected = of.scheme(kind.ring_bits), list(foreseen.questions)
        words = sum(questions.words(question, scheme) for question in met)
        most = foreseen.rounds * sum(questions.words(question, scheme) for question in expected)
        assert words <= most and len(met) <= foreseen.rounds * len(expected), kind.name
        if kind.sends_under(of):
            assert most_bytes_of(kind, of, known) == most * scheme.word_bytes
        else:
            assert not met, kind.name
        if foreseen.exact:
            assert (words, len(met)) == (most, foreseen.rounds * len(expected)), kind.name
        if foreseen.usual_rounds is not None:
            assert foreseen.usual_rounds <= foreseen.rounds


@of_each_study
def test_an_array_that_the_plan_does_not_have_is_empty(name: str) -> None:
    plan = small(name).plan
    for question in run(name).questions:
        sent = {array.name for array in question.sends_under(plan)}
        for array in question.sends:
            assert array.name in sent or math.prod(questions.shape(question, array)) == 0, array.name


@of_each_study
def test_kinds_come_in_the_order_in_which_they_are_listed(name: str) -> None:
    listed = questions_of(small(name).plan)
    met = list(dict.fromkeys(map(type, run(name).questions)))
    assert met == [kind for kind in listed if kind in met]


@of_each_algorithm
def test_every_kind_that_is_listed_is_asked_in_some_study(name: str) -> None:
    plans = {study: small(study).plan for study in STUDIES}
    studies = [study for study, plan in plans.items() if plan.test == name and not PHENOTYPES.of(plan)]
    beside = {study for study in studies if LOCO.of(plans[study])}
    met = {type(question) for study in studies if study not in beside for question in run(study).questions}
    asked_there = {type(question) for study in beside for question in run(study).questions}
    if name == "linear":
        assert {on_view(kind, BeforePredictions) for kind in (*ASKS, *stacking.ASKS)} <= asked_there
    if KeepScores in met:  # asked before a regression if its plan wants components
        assert set(ASKS_FIRST) <= met
        met -= set(ASKS_FIRST) - set(ALGORITHMS[name].asks)
    assert met == set(ALGORITHMS[name].asks)


def test_a_name_is_of_one_kind_of_questions() -> None:
    kinds: dict[str, type[Question]] = {}
    for algorithm in ALGORITHMS.values():
        for kind in algorithm.asks:
            assert kinds.setdefault(kind.name, kind) is kind


@of_each_algorithm
def test_people_are_told_of_everything(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.title and algorithm.method.endswith(".")
    for kind in algorithm.asks:
        assert kind.title and kind.sends, kind.name
        assert len({array.name for array in kind.sends}) == len(kind.sends), kind.name
        for array in kind.sends:
            assert array.meaning.strip() and array.learns.strip(), array.name


@of_each_algorithm
def test_the_documentation_has_it(name: str) -> None:
    leaves = (DOCS / "what-each-party-learns.md").read_text(encoding="utf-8")
    assert f":::{{leaves-the-cohort}} {LEAVES.get(name, name)}\n" in leaves
    page = (DOCS / PAGES.get(name, "normalization.md")).read_text(encoding="utf-8")
    assert f"--test {name}" in page or f"--method {name}" in page or f"`{name}`" in page


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


STEMS = ["a", "Asthma_2.in-adults", "x" * LONGEST_STEM]
HOSTILE = ["../../x", "a\\b", "CON", "nul.txt", ".", "a:b", "größe", "身長" * 100, "a" * 200, "x ", "a*?<>|"]


@pytest.mark.parametrize("name", EVERY)
def test_every_file_has_a_writer_that_writes(name: str) -> None:
    one, found = small(name), run(name)
    assert set(one.plan.files) <= set(one.test.files) and set(one.test.usual_files) <= set(one.test.files)
    assert len(found.files) == sum(len(plan.files) for plan in one.plan.each)
    assert all(found.files.values())
    assert found.files.keys() < set(result_files(one.plan))
    for plan in one.plan.each:
        summary = one.test.summarise(tables_of(one.plan, found.tables, plan.phenotype))
        assert (summary is not None) == (one.plan.test in TESTS)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_file_is_written_in_some_study(name: str) -> None:
    studies = [small(study) for study in STUDIES if small(study).plan.test == name]
    assert {file for one in studies for file in one.plan.files} == set(ALGORITHMS[name].files)


@pytest.mark.parametrize("test", ALGORITHMS)
def test_every_name_is_plain_on_every_system(test: str) -> None:
    usual = nothing_said(test, files=list(ALGORITHMS[test].files))
    for stem, phenotype in itertools.product(STEMS, HOSTILE if usual.phenotype else [""]):
        names = result_files(replace(usual, file_stem=stem, phenotype=phenotype))
        assert len({name.casefold() for name in names}) == len(names)
        for name in names:
            assert name.startswith(f"{stem}.") and is_plain(name)
            assert not re.search(r'[\\/:*?"<>|\x00-\x1f\x7f\s]', name) and not name.endswith(".")
            assert len(name.encode()) <= 255 - 18  # so much longer is the name of a file in the making


OFFERED = [(template, method) for method in ALGORITHMS.values() for template in method.templates]
NAMES = [template.name for template, _ in OFFERED]


@pytest.mark.parametrize("test", [*ALGORITHMS, ONE_MORE.name])
def test_every_option_has_words(test: str) -> None:
    plan = nothing_said(test)
    for option in ALGORITHMS[test].all_options:
        assert option.label and option.wanted and option.label[0].isupper()
        assert option.problem(option.default, plan) == ""


@pytest.mark.parametrize(("template", "method"), OFFERED, ids=NAMES)
def test_a_template_is_a_plan_of_its_algorithm(template: Template, method: Method) -> None:
    plan = nothing_said(method.name, **template.plan)
    assert check(plan) is method
    assert plan.files == (template.files or method.usual_files)


@pytest.mark.parametrize(("template", "method"), OFFERED, ids=NAMES)
def test_it_sets_only_what_is_not_so_anyway(template: Template, method: Method) -> None:
    assert {option.name for option, value in template.options.items() if value == option.default} == set()
    assert set(template.options) <= set(method.options)
    assert template.files != method.usual_files


def test_each_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {"chi-square-qc", "logistic-components", "linear-components", "z-score"} <= set(NAMES)


def test_ten_components_are_what_the_cohorts_read_in_the_plan() -> None:
    ((template, method),) = [each for each in OFFERED if each[0].name == "logistic-components"]
    said = str(plan_facts(nothing_said(method.name, **template.plan)).model)
    assert template.covariates == tuple(f"PC{number}" for number in range(1, 11))
    assert ", ".join(template.covariates) in said
