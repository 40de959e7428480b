"""Purposes of studies. Each method declares its own; form, templates and documentation follow."""

from __future__ import annotations

from enum import Enum


class Purpose(Enum):
    """A purpose: its title, and what a method of this kind answers."""

    ASSOCIATION = "Association", "Which variants go with a trait."
    STRUCTURE = "Structure", "How people and variants are related."
    SCORE = "Score", "A trait predicted from all variants at once."
    TABLE = "Table", "Columns described, scaled or encoded."
    MODEL = "Model", "An outcome predicted from a table or images."

    def __init__(self, title: str, hint: str) -> None:
        self.title = title
        self.hint = hint
