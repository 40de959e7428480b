"""`unpooled manage declared FILE`: the words that the browser's catalogues translate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from unpooled_webapp.declared import declared_words


def as_json() -> str:
    """The words as they lie in the file."""
    return json.dumps(declared_words(), ensure_ascii=False, indent=2) + "\n"


class Command(BaseCommand):
    help = "Write the words that are declared here and shown by the browser, for its translations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        file.write_text(as_json())
