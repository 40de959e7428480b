"""Programs that were written for the release before go on for one more."""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields

import pytest

from unpooled import renamed
from unpooled.methods import ALGORITHMS


@pytest.mark.parametrize("old", renamed.MOVED)
def test_a_module_that_has_moved_is_found_under_its_old_name_with_a_warning(old: str) -> None:
    sys.modules.pop(f"unpooled.{old}", None)
    with pytest.warns(DeprecationWarning, match=f"unpooled.{old} is unpooled.{renamed.MOVED[old]}"):
        found = importlib.import_module(f"unpooled.{old}")
    assert found is importlib.import_module(f"unpooled.{renamed.MOVED[old]}")


def test_a_module_inside_a_package_that_has_moved_is_found_too() -> None:
    with pytest.warns(DeprecationWarning):
        from unpooled.algorithms.learning.stored import refitted  # type: ignore[import-not-found]
    from unpooled.methods.learning.stored import refitted as now

    assert refitted is now


@pytest.mark.parametrize(
    ("package", "name"), [(at, name) for at in renamed.NAMES for name in renamed.NAMES[at]]
)
def test_a_module_that_became_a_package_still_has_its_names(package: str, name: str) -> None:
    module, now = importlib.import_module(package), f"{package}.{package.rpartition('.')[2]}"
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} is in {now}"):
        found = getattr(module, name)
    assert found is getattr(importlib.import_module(now), name)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        module.absent  # noqa: B018


@pytest.mark.parametrize("name", ["summary", "chi-square"])
def test_what_was_called_algorithm_declares_a_method_of_either_kind(name: str) -> None:
    with pytest.warns(DeprecationWarning, match="VariantMethod or TableMethod"):
        from unpooled.methods.algorithm import Algorithm  # type: ignore[attr-defined]
    known = ALGORITHMS[name]
    given = {field.name: getattr(known, field.name) for field in fields(known)}
    made = Algorithm(**{**given, "name": f"{name}-of-before"})
    assert type(made) is type(known) and made.procedure is known.procedure


def test_of_what_never_was_python_says_so() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("unpooled.absent")
