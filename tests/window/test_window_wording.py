"""No sentence in the window names an option of the command line, whatever the engine says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import unpooled_client
from unpooled_client.window.form import DataForm, option_of
from unpooled_client.window.wording import FIELDS, in_window, name_and_option

SOURCES = Path(unpooled_client.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z0-9]|unpooled-client [a-z]")


def sentences() -> list[str]:
    """Every text of the engine's that has an option in it, docstrings apart."""
    found = []
    for folder in ("data", "study", "network", "state", "words", "compare"):
        for file in (SOURCES / folder).rglob("*.py"):
            tree = ast.parse(file.read_text("utf-8"))
            said = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            texts = (text for text in said if isinstance(text, str) and OPTION.search(text))
            found += [text for text in texts if " " in text.strip() and "\n\n" not in text]
    return found


def test_an_option_stands_small_beside_its_name() -> None:
    assert name_and_option("Least frequency (--maf)") == ("Least frequency", "--maf")
    assert name_and_option("Cohorts (all)") == ("Cohorts (all)", "")


def test_there_are_such_sentences() -> None:
    assert len(sentences()) > 30


@pytest.mark.parametrize("text", sentences())
def test_an_option_is_called_what_its_field_is_called(text: str) -> None:
    told = re.sub(r"`[^`]*`?", "", in_window(text))  # commands of other programs
    assert not OPTION.search(told), told


def test_every_field_of_the_form_has_its_name() -> None:
    assert {option_of(name) for name in DataForm.__dataclass_fields__} <= FIELDS.keys()


@pytest.mark.parametrize(
    "said, shown",
    [
        ("Is it the right column (--pheno-name, --mpheno)?", "Is it the right column (“Phenotype column”)?"),
        ("use --one-class.", "use “This cohort has only cases, or only controls”."),
        ("the --keep file has no line", "“Only the samples in” has no line"),
        ("Give --table FILE.", "Give the table."),
        ("`unpooled-client doctor` says more.", "“Test the connection” says more."),
        ("Start with: unpooled-client join --wait --state DIR", "Start with: the step Join"),
        ("Write it with `plink2 --make-bed`.", "Write it with `plink2 --make-bed`."),
        (
            "Choose another with --out.",
            "Choose another with the folder for the results.",
        ),
    ],
)
def test_sentences_stay_sentences(said: str, shown: str) -> None:
    assert in_window(said) == shown
