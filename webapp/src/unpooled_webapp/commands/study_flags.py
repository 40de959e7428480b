"""Flags of `unpooled rehearse` that are made from the declared options of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

import click

from unpooled.methods import ALGORITHMS
from unpooled.methods.algorithm import Method
from unpooled.plan.common_options import COVARIATES, PHENOTYPES, TRUST
from unpooled.plan.options import Choice, Entries, Lines, Number, Option, Switch, Whole

CHOSEN_FROM_FILES = (COVARIATES, PHENOTYPES)
"""Options that follow from flags about files: --covar-name, --pheno-name and the like."""


def flags() -> list[click.Option]:
    """One for each option of any algorithm, but for those that are chosen from files."""
    options = _options(ALGORITHMS.values()).values()
    return [each for option in options for each in (flag(option), *_of_answers(option))]


def names(methods: Iterable[Method]) -> set[str]:
    """Return the names of the parameters that are about some algorithms."""
    return set(_options(methods)) - {TRUST.name}


def asked(given: dict[str, Any], method: Method) -> dict[str, Any]:
    """Return a plan's options: what was typed, and PLINK's own answer where nothing was."""
    named = _options(ALGORITHMS.values())
    typed = {name: given[name] for name in named if given[name] is not None and given[name] is not False}
    choices = [option for option in method.options if isinstance(option, Choice)]
    return {option.name: option.as_plink for option in choices if option.as_plink} | typed


def _options(methods: Iterable[Method]) -> dict[str, Option[Any]]:
    listed = {option.name: option for method in methods for option in (*method.options, TRUST)}
    return {name: option for name, option in listed.items() if option not in CHOSEN_FROM_FILES}


def _of_answers(option: Option[Any]) -> Iterator[click.Option]:
    """PLINK's own flag for one of a choice's answers."""
    for answer in option.answers if isinstance(option, Choice) else ():
        if answer.flag:
            shown = f"{answer.label}. {answer.hint}".strip()
            yield click.Option([answer.flag, option.name], flag_value=answer.value, help=shown)


def flag(option: Option[Any]) -> click.Option:
    """Make the flag of one option; its value is None where it was not given."""
    shown: dict[str, Any] = {"help": f"{option.label}. {option.explained}".strip()}
    match option:
        case Switch():
            shown |= {"is_flag": True}
        case Choice():
            answers = {answer.value: answer.label for answer in option.answers}
            shown |= {"type": click.Choice(list(answers))}
            meant = "; ".join(f"{value}: {label[0].lower()}{label[1:]}" for value, label in answers.items())
            shown["help"] = f"{option.label}. {meant}.  [{option.as_plink or option.usual or option.default}]"
        case Number():
            shown |= {"type": float, "metavar": "X"}
        case Whole():
            shown |= {"type": int, "metavar": "N"}
        case Lines():
            shown |= {"type": click.File(encoding="utf-8"), "callback": _lines, "metavar": "FILE"}
        case Entries():
            shown |= {"callback": _entries(option), "metavar": "X,…"}
    return click.Option([option.flag_here, option.name], **shown)


def _lines(context: click.Context, parameter: click.Parameter, file: TextIO | None) -> str | None:
    """Reads the lines of a file."""
    return None if file is None else file.read()


def _entries(option: Entries[Any]) -> Callable[..., list[Any] | None]:
    """Reads entries between commas."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> list[Any] | None:
        try:
            return None if value is None else list(option.read(value))
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return read
