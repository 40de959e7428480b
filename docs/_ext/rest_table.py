"""Prints the coordinator's REST API as a Markdown table, made from its schema. Run by `from_code`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

METHODS = ("get", "post", "put", "patch", "delete")


def rows() -> Iterator[str]:
    from drf_spectacular.generators import SchemaGenerator

    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    yield "| Request | What it does |"
    yield "| --- | --- |"
    for path, operations in schema["paths"].items():
        for method in METHODS:
            if method in operations:
                says = operations[method].get("description", "").split("\n\n")[0].replace("\n", " ")
                yield f"| `{method.upper()} {path.removeprefix('/api/v1')}` | {says} |"


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings", "UNPOOLED_HOME": home}
        import django

        django.setup()
        print("\n".join(rows()))


if __name__ == "__main__":
    main()
