"""Outcome of a federation compared with PLINK: counts, the rules needed, and what no rule covers."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from dataclasses import dataclass, field

from . import known


@dataclass(frozen=True)
class Disagreement:
    """A line, or a file, that no rule of `known` covers."""

    file: str
    what: str
    variant: str
    ours: str
    theirs: str
    more: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """File and kind of disagreement, which stay the same while a case is cut down."""
        return self.file, self.what

    def __str__(self) -> str:
        return f"{self.file}: {self.what} {self.more}\n  ours   {self.ours}\n  theirs {self.theirs}"


@dataclass
class Outcome:
    """Outcome of one federation, or of many."""

    lines: int = 0
    identical: int = 0
    numbers: int = 0
    """Lines of regressions with a number in both."""
    exact: int = 0
    """Variants put before statsmodels in full precision."""
    rehearsed: int = 0
    """Federations that `unpooled rehearse` has run, too."""
    rules: Counter[str] = field(default_factory=Counter)
    """Number of uses of each rule of `known`: lines, or whole files."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Last lines of PLINK or the product where it refused."""
    disagreements: list[Disagreement] = field(default_factory=list)

    def refused(self, rule: str, said: str) -> None:
        self.rules[rule] += 1
        self.reasons[re.sub(r"\b[0-9]+\b", "N", said.splitlines()[-1])[:100]] += 1

    def __add__(self, other: Outcome) -> Outcome:
        names = [each.name for each in dataclasses.fields(Outcome)]
        return Outcome(*(getattr(self, name) + getattr(other, name) for name in names))

    def __str__(self) -> str:
        parts = [
            f"{self.lines:,} lines, {self.identical:,} identical; {self.numbers:,} with a number in both "
            f"regressions; {self.exact:,} variants beside statsmodels alone; {self.rehearsed} rehearsed"
        ]
        parts += [f"{times:9,}  {rule}: {known.RULES[rule]}" for rule, times in self.rules.most_common()]
        parts += [f"{times:9,}  said: {said}" for said, times in self.reasons.most_common()]
        return "\n".join(parts)
