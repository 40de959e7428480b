"""Kinds of questions that are made of others while a program runs, and how their questions are pickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, cast

from unpooled.asking.question import Question


class Made(Question):
    """Mixin of the questions of such a kind."""

    made_by: ClassVar[tuple[Callable[..., type[Question]], tuple[Any, ...]]]
    """Function that makes the kind, and its arguments, of which the first is the kind that it is made of."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the question for a cohort's own cluster: its kind cannot be imported by name."""
        values = {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}
        return _again, (_recipe(type(self)), values)


def _recipe(kind: type[Question]) -> Any:
    if "made_by" not in vars(kind):
        return kind
    make, (of, *others) = cast(type[Made], kind).made_by
    return make, _recipe(of), *others


def _again(recipe: Any, values: dict[str, Any]) -> Question:
    return cast(Question, _kind(recipe)(**values))


def _kind(recipe: Any) -> Any:
    if isinstance(recipe, type):
        return recipe
    make, of, *others = recipe
    return make(_kind(of), *others)
