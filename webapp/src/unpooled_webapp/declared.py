"""The words that are declared on this side and shown by the browser, for its catalogues of translations.

Of what differs from study to study, numbers are `{{n1}}`, `{{n2}}`, … in it, words `{{v1}}`, `{{v2}}`, …, and
a study's state `{{s1}}`.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, count, product
from pathlib import Path
from types import ModuleType
from typing import Any

import unpooled_server
import unpooled_webapp
from unpooled.asking.question import at_turn
from unpooled.described.facts import HASH, NOT_SAID, plan_facts
from unpooled.described.file_list import about
from unpooled.described.parties import what_parties_get
from unpooled.described.shapes import plural
from unpooled.described.what_leaves import Form, what_leaves
from unpooled.methods import ALGORITHMS, FITS, compares
from unpooled.methods.algorithm import Method, TableMethod
from unpooled.methods.genes.options import ANNOTATIONS, MASKS, SET_LIST
from unpooled.methods.ld.options import REGION
from unpooled.methods.learning.design import MOST_COLUMNS
from unpooled.methods.learning.models import MODELS, OF_CLASSES
from unpooled.methods.learning.options import OUTPUTS, SOFTPLUS_OUTPUTS
from unpooled.methods.phenotypes import CountApart
from unpooled.methods.question_in_words import column_in_words
from unpooled.methods.regression.options import ROBUST as ROBUST_ERRORS
from unpooled.methods.shared.options import (
    COHORTS_APART,
    DOSAGE_FILES,
    DOSAGES,
    FEWEST_APART,
    FREQUENCY_FLAGS,
    RINT,
)
from unpooled.methods.shared.privacy_options import EPSILON
from unpooled.plan.common_options import (
    BITS,
    COHORTS,
    COMPONENTS,
    CONDITION,
    ENCRYPTED,
    EXACT,
    LOCO,
    MISSING,
    OPENS,
    SUMS,
    TRUST,
)
from unpooled.plan.encodings import KINDS, LOG, OF_NUMBERS, ONE_HOT, ROBUST, YEO_JOHNSON
from unpooled.plan.genotype_model import GENOTYPE_MODEL
from unpooled.plan.options import Choice, Covariates, Numbers, Option, Switch
from unpooled.plan.plan import NO_KEY, NONE, Plan
from unpooled.plan.result_files import CLUMPED, META
from unpooled.plan.schema import CATEGORY, IMAGE, OUTCOME, PATIENT, TEXT, TYPES, Column
from unpooled.protocol.messages import MIN_COHORTS
from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import Stage
from unpooled_server.errors import Refused
from unpooled_server.names import StudyState
from unpooled_server.reads import stages
from unpooled_server.services.joining import reopen
from unpooled_server.services.studies import not_invited
from unpooled_server.services.transitions import fail, move, note, pause, resume
from unpooled_webapp.api.plan_options import IS_NOT_ENCRYPTED
from unpooled_webapp.demonstration.example import NAME
from unpooled_webapp.demonstration.service import DESCRIPTION

BETWEEN, AFTER_TITLE = "; ", ": "
"""Separators of two declared texts: of what a sum tells and what masks leave; of a question and its array."""


def declared_words() -> list[str]:
    """Each once, in the order of the declarations; none with words where there is the same with numbers."""
    found = dict.fromkeys(text for text in _all() if text and not _is_name(text))
    return [text for text in found if "{{v" not in text or text.replace("{{v", "{{n") not in found]


def _is_name(text: str) -> bool:
    """Tell whether it is the ending of a file's name, such as `.frq`."""
    return text.startswith(".") and " " not in text


def _all() -> Iterator[str]:
    for method in ALGORITHMS.values():
        own = list(_of_method(method))
        yield from own
        for plan in _plans(method):
            told = method.told(plan)
            yield from (told, *_of_plan(plan, [*own, told]))
    yield CountApart.title
    for array in CountApart.sends:
        yield from _without_values(array.meaning, array.learns)
    yield from Form
    yield IS_NOT_ENCRYPTED
    yield from StudyState
    yield from (NAME, DESCRIPTION, HASH, NOT_SAID)
    yield from _of_columns()
    yield from _of_people_who_are_waited_for()
    for problem in Problem:
        yield from (problem.message, problem.remedy)
    for package in (unpooled_server, unpooled_webapp):
        yield from _said(package)


def _of_method(method: Method) -> Iterator[str]:
    yield from (method.title, method.purpose.title, method.purpose.hint)
    yield from (method.unlike_pool, method.tells, method.tells_by_bits)
    for file in method.files:
        yield from (about(file, method).label, about(file, method).hint)
    for option in method.all_options:
        yield from _of_option(option)
    for question in method.asks:
        yield question.title
        for noun in question.each.values():
            yield from _without_values(plural("1", noun), plural("2", noun))
    for template in method.templates:
        yield from (template.title, template.hint)


def _of_columns() -> Iterator[str]:
    """Yield what facts about columns say in parentheses, but not the names of encodings and values."""
    yield from (*TYPES, OUTCOME, PATIENT, "scaled", "of any words", "of {{values}}")
    yield "of {{v1}} values with SHA-256 {{v2}}"
    columns = (
        Column(_EXAMPLE, role=PATIENT, type=TEXT),
        Column(_EXAMPLE, type=TEXT),
        Column(_EXAMPLE, type=CATEGORY, encoding=ONE_HOT, most=2),
        Column(_EXAMPLE, low=0.0),
        Column(_EXAMPLE, high=1.0),
        Column(_EXAMPLE, low=0.0, high=1.0),
        Column(_EXAMPLE, encoding=LOG),
    )
    for column in columns:
        said = column_in_words(column, is_read=column.is_category)
        parts = re.split(", |(?<!for): |[()]", said)
        yield from _without_values(*(part for part in parts if part not in (*KINDS, *OF_NUMBERS)))


def _of_option(option: Option[Any]) -> Iterator[str]:
    yield from (option.label, option.hint)
    if not isinstance(option, (Choice, Covariates, Switch)):  # a form gives these no wrong value
        yield option.wanted
    yield from _patterns(option.fact.replace("{}", "{{v1}}"))
    if isinstance(option, Switch) and option.is_always_said:
        yield option.off
    if isinstance(option, Choice):
        for answer in option.answers:
            yield from (answer.label, answer.hint, answer.fact)


_EXAMPLE = "example"
_DIGEST = {"none": "", "names": "", "list": "00" * 32}


def _plans(method: Method) -> Iterator[Plan]:
    """Plans of a method that between them say all that does not depend on values."""
    modes = (NONE,) if isinstance(method, TableMethod) else ("names", "list")
    opened: list[dict[str, Any]] = (
        [{OPENS.name: opens} for opens in (SUMS, BITS)] if OPENS in method.options else [{}]
    )
    if DOSAGES in method.options:
        files = [file for file in DOSAGE_FILES if file in method.files] or list(method.usual_files)
        opened.append({DOSAGES.name: True, "files": files, "cohorts": FEWEST_APART})
        if GENOTYPE_MODEL in method.options:
            opened[-1][CONDITION.name] = [_EXAMPLE]
            opened.append({DOSAGES.name: True, GENOTYPE_MODEL.name: "dominant", "files": ["glm"]})
    if CLUMPED in method.files:
        opened.append({"files": [CLUMPED]})
    if META in method.files:
        opened.append({CONDITION.name: [_EXAMPLE], "files": [META], "cohorts": FEWEST_APART})
    if COHORTS_APART in method.options:
        opened.append({COHORTS_APART.name: True, "cohorts": FEWEST_APART})
    if ROBUST_ERRORS in method.options:
        opened.append({ROBUST_ERRORS.name: True})
    if OUTPUTS in method.options:
        opened.append({OUTPUTS.name: SOFTPLUS_OUTPUTS})
    if EPSILON in method.options:
        opened.append({EPSILON.name: 3.0})
    if not method.is_compared:
        opened += [{TRUST.name: trust} for trust in (COHORTS, ENCRYPTED)]
    for mode, masking, more, opens in product(modes, ("modular", "gaussian"), (False, True), opened):
        is_compared = method.is_compared or opens == {OPENS.name: BITS} or EPSILON.name in opens
        of_exact_sums = {COHORTS_APART.name, ROBUST_ERRORS.name} & opens.keys()
        if masking != "modular" and (is_compared or method.name in FITS or of_exact_sums):
            continue
        if masking != "modular" and TRUST.name in opens:
            continue
        covariates = [{"name": f"{_EXAMPLE}-{column}"} for column in range(1 + more)]
        columns = _columns_of(method, covariates) if isinstance(method, TableMethod) else []
        plan = Plan.from_json(
            {"phenotype": _EXAMPLE, **method.usual()}
            | {"test": method.name, "cohorts": MIN_COHORTS, "compensator_key": NO_KEY.hex()}
            | {"panel_mode": mode, "panel_digest": _DIGEST[mode], "masking": masking}
            | {"nonfounders": more, "allow_no_sex": more}
            | ({MISSING.name: EXACT} if more and MISSING in method.options else {})
            | {"schema": columns}
            | dict(_example_values(method, covariates[1:], masking))
            | opens
        )
        if not (plan.in_pairs and compares(plan)):
            yield plan


def _columns_of(method: TableMethod, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Columns that the method is about."""
    levels = [_EXAMPLE, "other", "third"][: 1 + len(columns)]  # two classes, and several
    if method.name in FITS and MODELS[method.name].of_images:
        outcome = {"name": f"{_EXAMPLE}-outcome", "role": OUTCOME, "type": CATEGORY, "levels": levels}
        return [{"name": _EXAMPLE, "type": IMAGE, "encoding": "1x28x28"}, outcome]
    if method.name in FITS:
        many = MOST_COLUMNS if MODELS[method.name].is_wide and len(columns) > 1 else 1
        levels_of = [f"{_EXAMPLE}-{k}" for k in range(many)]
        words = {"name": f"{_EXAMPLE}-words", "type": CATEGORY, "encoding": ONE_HOT, "levels": levels_of}
        either = MODELS[method.name].is_network and len(columns) > 1  # a network takes numbers, and classes
        classes = {"type": CATEGORY, "levels": levels} if method.name in OF_CLASSES or either else {}
        limits: dict[str, Any] = {} if ROBUST in method.scalings else {"low": 0, "high": 1}
        scalings = (YEO_JOHNSON, ROBUST) if ROBUST in method.scalings else ("", "")
        scaled = [{**column, "encoding": of, **limits} for column, of in zip(columns, scalings, strict=False)]
        of_words = [words] if CATEGORY in method.column_type else []
        return [*scaled, *of_words, {"name": f"{_EXAMPLE}-outcome", "role": OUTCOME, **(classes or limits)}]
    if method.column_type == CATEGORY:
        return _words(columns)
    return [{**column, "low": 0, "high": 1} if EPSILON in method.options else column for column in columns]


def _words(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same columns as categories that are encoded by a target, and this."""
    words = {"type": CATEGORY, "encoding": f"target:{_EXAMPLE}", "levels": [_EXAMPLE]}
    found = [{**column, **words} for column in columns]
    if len(found) > 1:
        found[-1] |= {"levels": [], "most": 2}  # whose words are looked for
    return [*found, {"name": _EXAMPLE}]


def _example_values(
    method: Method, covariates: list[dict[str, str]], masking: str
) -> Iterator[tuple[str, Any]]:
    """Values of options whose own default says little."""
    for option in method.options:
        if isinstance(option, Numbers):
            yield option.name, [option.most]
        elif isinstance(option, Covariates):
            yield option.name, [{**covariate, "levels": [_EXAMPLE, "other"]} for covariate in covariates]
        elif option is COMPONENTS and covariates and masking == "modular":
            yield option.name, 2
        elif option is REGION:
            yield option.name, "1:1-1000000"
        elif option is SET_LIST:
            yield option.name, f"{_EXAMPLE} 1 1 {_EXAMPLE}"
        elif option is ANNOTATIONS:
            yield option.name, f"{_EXAMPLE} {_EXAMPLE} {_EXAMPLE}"
        elif option is MASKS:
            yield option.name, f"{_EXAMPLE} {_EXAMPLE}"
        elif option in (FREQUENCY_FLAGS, RINT, LOCO) and masking == "modular":
            yield option.name, True


def _of_plan(plan: Plan, known: list[str]) -> Iterator[str]:
    for title, said in plan_facts(plan).all:
        yield title
        if said.startswith(f"{_EXAMPLE} ("):
            yield said.removeprefix(_EXAMPLE).strip(" ()")
        if said not in known and any(part not in known for part in said.split(", ")):
            yield from _without_values(said)
    yield from _without_values(at_turn("", 1, 1, 1).removeprefix(AFTER_TITLE))
    for one_operator in (False, True):
        for line in what_leaves(plan, one_operator=one_operator):
            title, _, is_array = line.what.partition(AFTER_TITLE)
            yield from (title, re.sub(rf"\b{_EXAMPLE}\S*\b", "{{v1}}", line.detail), line.readable_by)
            yield from line.learns.rsplit(BETWEEN, 1) if is_array else (line.learns,)
            yield from _without_values(*_OF_A_SHAPE.split(line.shape), line.form)
    for party in what_parties_get(plan):
        yield from (party.name, *_without_values(party.gets, party.reads, party.never))


_OF_A_SHAPE = re.compile(" \u00d7 | \\+ |, (?=in (?:at most )?[0-9]|usually )|(?<=^at most )")
_NUMBER = re.compile(r"(?<![\w.])(?:(?<!\S)-)?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


def _without_values(*texts: str) -> Iterator[str]:
    """Texts that say nothing of this plan, with names in the place of their numbers: `{{n1}} of {{n2}}`."""
    for text in texts:
        first, *rest = _NUMBER.split(text)
        sentence = first + "".join(f"{{{{n{k}}}}}{part}" for k, part in enumerate(rest, 1))
        if _EXAMPLE not in text and re.search(r"[a-z]{2}", sentence):
            yield sentence


def _of_people_who_are_waited_for() -> Iterator[str]:
    yield from (stage.to for stage in Stage)
    yield from _without_values(*stages.WAITED_FOR, *stages.ASKED_OF_THE_COORDINATOR)
    yield from _without_values(*(not_invited(missing, MIN_COHORTS) for missing in (1, 2)))


_NOT_FOR_THE_BROWSER = {
    *("migrations", "cohort_api", "commands", "rehearsal", "__main__", "wsgi"),
    *("coding", "dealings", "helping", "uploads"),  # of cohorts' programs
}


def _said(package: ModuleType) -> Iterator[str]:
    """Message and remedy of each refusal, and what a study's log says of its course."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if _NOT_FOR_THE_BROWSER.intersection(module.name.split(".")):
            continue
        source = import_module(module.name)
        for node in ast.walk(ast.parse(Path(str(source.__file__)).read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = getattr(source, node.func.id, None)
                texts = node.args[1:3] if _is_refusal(called) else node.args if called in _LOGGED else []
                yield from _patterns(*chain.from_iterable(map(_texts, texts)))


_LOGGED = (note, move, fail, pause, resume, reopen)


def _is_refusal(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Refused)


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be, with `{{v1}}`, `{{v2}}`, … where values are put in."""
    if isinstance(node, ast.IfExp):
        yield from (*_texts(node.body), *_texts(node.orelse))
    elif isinstance(node, ast.NamedExpr):
        yield from _texts(node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        numbers = count(1)
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else f"{{{{{_kind(part)}{next(numbers)}}}}}"
            for part in node.values
        )


def _kind(part: ast.expr) -> str:
    """Return the letter for a value's place: s for a study's state, v for other words."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    return "s" if isinstance(value, ast.Attribute) and value.attr == "state" else "v"


def _patterns(*texts: str) -> Iterator[str]:
    """Yield the texts that say something besides their values."""
    yield from (text for text in texts if re.search(r"[a-z]{2}", re.sub(r"{{.+?}}", "", text)))
