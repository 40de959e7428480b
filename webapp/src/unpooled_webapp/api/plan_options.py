"""The declared options in the API: as fields of a plan, and as what a form for them is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers

from unpooled.methods import ALGORITHMS
from unpooled.plan import options
from unpooled.plan.common_options import ENCRYPTED, TRUST
from unpooled.protocol.encrypted import worker

Field = serializers.Field[Any, Any, Any, Any]


class PlanCovariate(serializers.Serializer[Any]):
    """A covariate: a number, or one of several levels."""

    name = serializers.CharField(max_length=200)
    levels = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="of a categorical covariate all levels, the reference first",
    )


_FIELDS: dict[type[options.Option[Any]], Callable[..., Field]] = {
    options.Number: lambda option, **said: serializers.FloatField(**_bounds(option), **said),
    options.Whole: lambda option, **said: serializers.IntegerField(**_bounds(option), **said),
    options.Switch: lambda option, **said: serializers.BooleanField(**said),
    options.Text: lambda option, **said: serializers.CharField(allow_blank=True, **said),
    options.Lines: lambda option, **said: serializers.CharField(
        allow_blank=True, trim_whitespace=False, **said
    ),
    options.Choice: lambda option, **said: serializers.ChoiceField(
        [each.value for each in option.answers], **said
    ),
    options.Numbers: lambda option, **said: serializers.ListField(
        child=serializers.FloatField(**_bounds(option)), **said
    ),
    options.Wholes: lambda option, **said: serializers.ListField(child=serializers.IntegerField(), **said),
    options.Words: lambda option, **said: serializers.ListField(child=_word(option), **said),
    options.Covariates: lambda option, **said: PlanCovariate(many=True, **said),
}
IS_NOT_ENCRYPTED = (
    "Encryption besides masks (experimental) is not offered: this server names no interpreter with OpenFHE."
)
KINDS = [kind.kind for kind in _FIELDS]


def fields() -> dict[str, Field]:
    """A field for each option that any method has."""
    listed = {option.name: option for method in ALGORITHMS.values() for option in method.all_options}
    return {
        name: _FIELDS[type(option)](option, required=False, help_text=_help(option))
        for name, option in listed.items()
    }


def _help(option: options.Option[Any]) -> str:
    return f"{option.name_and_flag}. {option.explained}".strip()


def _bounds(option: Any) -> dict[str, Any]:
    least = option.least if getattr(option, "none", None) is None else min(option.least, option.none)
    return {"min_value": least, "max_value": option.most}


def _word(option: options.Words) -> Field:
    return serializers.ChoiceField(option.among) if option.among else serializers.CharField()


def described(option: options.Option[Any]) -> dict[str, Any]:
    """Return the description from which a form's field is made."""
    answers, hint = getattr(option, "answers", ()), option.hint
    if option is TRUST and worker.problem():
        answers = [each for each in answers if each.value != ENCRYPTED]
        hint = IS_NOT_ENCRYPTED
    return {
        "name": option.name,
        "kind": option.kind,
        "title": option.label,
        "hint": hint,
        "flag": option.flag,
        "place": option.place,
        "needs": option.needs,
        "file": option.file,
        "wanted": option.wanted,
        "least": getattr(option, "least", None),
        "most": getattr(option, "most", None),
        "answers": [{"value": each.value, "title": each.label, "hint": each.hint} for each in answers],
        "among": getattr(option, "among", ()),
    }
