"""Features: what several methods for variants can do beside their own, each declared once.

A method has a feature by naming it among its options, at its place in the form. Its questions, its result
file and its rule come with that, and what it does with the rows of the method's procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Arrays, Question
from unpooled.methods.algorithm import AboutFile, VariantMethod, Writer
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan

T = TypeVar("T")
Tables = Mapping[str, Arrays]


@dataclass(frozen=True)
class FeatureFile:
    """The result file of a feature, which a plan asks for like any other."""

    name: str
    behind: str
    """The file that it follows in a list."""
    about: AboutFile
    write: Writer
    columns: Callable[[Tables], Arrays]
    """The columns that it is written from, among the result tables."""


@dataclass(frozen=True)
class Feature:
    """A part that several methods have beside their own."""

    options: tuple[Option[Any], ...]
    asks: tuple[type[Question], ...] = ()
    behind: type[Question] = Question
    """These are asked behind the last kind of this sort that the method has."""
    file: FeatureFile | None = None
    rule: Callable[[Plan], dict[str, str]] = lambda plan: {}
    """Further problems of a plan, by its field."""
    around: Callable[[Procedure[[], Any]], Procedure[[], Any]] = lambda method: method
    """Function from a method's procedure to the one that a study with this feature runs."""


def variant_method(
    *,
    options: Iterable[Option[Any] | Feature],
    asks: Sequence[type[Question]],
    files: Mapping[str, Writer],
    procedure: Procedure[[], Any],
    columns: Callable[[str, Tables], Arrays],
    rules: Callable[[Plan], dict[str, str]] = lambda plan: {},
    **others: Any,
) -> VariantMethod:
    """Declare a method for variants with the features among its options."""
    # The method's own options are features of nothing else: so the form keeps the order in which it lists.
    features = [each if isinstance(each, Feature) else Feature((each,)) for each in options]
    written = [*files.items()]
    for feature in features:
        asks = _put(asks, feature.asks, [issubclass(kind, feature.behind) for kind in asks])
        if file := feature.file:
            written = _put(written, [(file.name, file.write)], [name == file.behind for name, _ in written])
        procedure = feature.around(procedure)
    own = {file.name: file for feature in features if (file := feature.file)}

    def problems(plan: Plan) -> dict[str, str]:
        found = rules(plan)
        for feature in features:
            found |= feature.rule(plan)
        return found

    return VariantMethod(
        options=tuple(option for feature in features for option in feature.options),
        asks=tuple(asks),
        files=dict(written),
        about_files={name: file.about for name, file in own.items()},
        procedure=procedure,
        columns=lambda file, tables: own[file].columns(tables) if file in own else columns(file, tables),
        rules=problems,
        **others,
    )


def _put(listed: Sequence[T], more: Sequence[T], is_before: Sequence[bool]) -> list[T]:
    """Put some more into a list, behind the last that is marked."""
    place = max(place for place, marked in enumerate(is_before, 1) if marked)
    return [*listed[:place], *more, *listed[place:]]
