"""The committed description of the API, and the migrations, are what the code makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

from unpooled_webapp.api import urls

FILE = Path(__file__).parents[1] / "openapi.yaml"


def schema() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def test_the_committed_schema_is_current() -> None:
    made = OpenApiYamlRenderer().render(schema(), renderer_context={}).decode()
    assert FILE.read_text() == made, "run: unpooled manage spectacular --file webapp/openapi.yaml"


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
