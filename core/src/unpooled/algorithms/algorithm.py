"""What the registry holds of an algorithm: the same few parts for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from unpooled.algorithms import summary
from unpooled.panel import Panel
from unpooled.plan import OPTIONS, Plan
from unpooled.step import Arrays, Step

Writer = Callable[[BinaryIO, Panel, Arrays, Plan], None]
"""Writes one result file from the panel and the result columns, sorted by variant."""


@dataclass(frozen=True)
class Algorithm:
    """A federated algorithm. Forms, consent, progress and documentation are made from this."""

    name: str
    title: str
    method: str
    """What it computes, as a sentence for a paper."""
    traits: tuple[str, ...]
    steps: tuple[type[Step], ...]
    first: Callable[[Plan, Panel], Iterable[Step]]
    """The steps that a study begins with."""
    files: dict[str, Writer]
    """Result files by the name that a plan has for them, e.g. `assoc`."""
    usual_files: tuple[str, ...]
    """Those that a study writes unless its plan says otherwise."""
    options: frozenset[str] = frozenset()
    """Those of the plan's `OPTIONS` that this test heeds; a plan may set no others."""
    file_name: Callable[[str, Plan], str] = lambda file, plan: file
    """How the name of a result file ends, from its name in `files`: `assoc` may become `assoc.linear`."""
    table: str = summary.VARIANTS
    """The result table without which there are no results."""
    columns: Callable[[str, Mapping[str, Arrays]], Arrays] | None = None
    """The result columns that a file is written from, among the result tables; those of `table` if None."""
    summarise: Callable[[Mapping[str, Arrays]], summary.Summary | None] = summary.summarise
    """The result tables in a few numbers, for people."""
    tells: str = ""
    """What becomes known of single people's values beside sums, for the consent screen; empty if nothing."""
    rules: Callable[[Plan], Mapping[str, str]] = lambda plan: {}
    """What else is wrong with a plan of this test, by the plan's field."""

    def columns_for(self, file: str, tables: Mapping[str, Arrays]) -> Arrays:
        """The result columns that a file is written from."""
        return self.columns(file, tables) if self.columns else tables[self.table]

    def problems(self, plan: Plan) -> dict[str, str]:
        """What a plan asks of this test that it does not have, by the plan's field."""
        found = {}
        if plan.trait not in self.traits:
            found["trait"] = f"{self.title} is for the trait {' or '.join(self.traits)}"
        if unknown := [file for file in plan.files if file not in self.files]:
            found["files"] = (
                f"{self.title} has no file {', '.join(unknown)}; want some of {', '.join(self.files)}"
            )
        for option, default in OPTIONS.items():
            if option not in self.options and getattr(plan, option) != default:
                found[option] = f"{self.title} does not have this"
        return {**self.rules(plan), **found}
