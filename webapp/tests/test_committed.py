"""Committed files that the code makes: the API's description, migrations, declared words, pills."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

from unpooled.methods import ALGORITHMS
from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import Stage
from unpooled_webapp.api import urls
from unpooled_webapp.management.commands.declared import as_json

SCHEMA = Path(__file__).parents[1] / "openapi.yaml"


def schema() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def test_the_committed_schema_is_current() -> None:
    made = OpenApiYamlRenderer().render(schema(), renderer_context={}).decode()
    assert SCHEMA.read_text() == made, "run: unpooled manage spectacular --file webapp/openapi.yaml"


def test_the_schema_is_valid_and_describes_every_address() -> None:
    found = schema()
    validate_schema(found)  # type: ignore[no-untyped-call]
    assert len(found["paths"]) == len(urls.urlpatterns)
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], f"{method} {path} has no description"


@pytest.mark.django_db
def test_the_migrations_make_the_models() -> None:
    """Most tests have tables that are made from the models; makemigrations exits where these are others."""
    call_command("makemigrations", check=True, dry_run=True)


WORDS = Path(__file__).parents[2] / "frontend/locales/declared.json"


def test_the_committed_list_is_current() -> None:
    assert WORDS.read_text() == as_json(), "run: unpooled manage declared frontend/locales/declared.json"


def test_it_has_what_people_choose_and_what_is_refused() -> None:
    words = set(json.loads(WORDS.read_text()))
    for method in ALGORITHMS.values():
        assert {method.title, *(option.label for option in method.all_options)} <= words
    assert {text for problem in Problem for text in (problem.message, problem.remedy)} <= words
    assert "User name or password is wrong." in words


def test_nothing_in_it_depends_on_a_study() -> None:
    assert not [text for text in json.loads(WORDS.read_text()) if "example" in text]


STATES = Path(__file__).parents[2] / "frontend/src/words/states.ts"


def test_pills_have_the_servers_words() -> None:
    block = STATES.read_text().split("STAGE: Record<Stage, Said>")[1].partition("};")[0]
    found = dict(re.findall(r'(\w+): \{ word: message\("([^"]+)"\)', block))
    assert found == {stage.value: stage.word for stage in Stage}
