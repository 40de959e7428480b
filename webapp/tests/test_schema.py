"""The committed description of the API is the one that the code makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
