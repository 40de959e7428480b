"""Shared base of linear and logistic regression's questions about single variants.

They name the variants of a chunk that are still to be fitted, say how copies and missing calls are counted,
and how covariates (and in a linear regression the phenotype) are standardised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.question import Sent, UnderPlan
from unpooled.methods.regression.options import is_exact
from unpooled.methods.shared.allele_coding import called_words, sexes
from unpooled.methods.shared.chunks import Chunk, OfAsked, flags
from unpooled.methods.shared.copies import Copies, DosageCopies, copies_of
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.standardise import Columns, column_names
from unpooled.plan.genotype_model import Terms, terms_of
from unpooled.plan.plan import Plan

NOT_ASKED, FIRST, SECOND, INCOMPLETE, TIED = 0, 1, 2, 4, 8
"""Flags of what is asked of a variant: nothing; copies of the panel's first allele, or of its second; and,
added to these, that it has missing calls, and that A1 is still to be settled, until when the first allele is
counted.
"""


class OfPeople:
    """Sums over at most `people` people; 64 bits."""

    ring_bits: ClassVar[int] = 64
    people: int

    @property
    def bound(self) -> int:
        return 4 * max(self.people, 1)


@dataclass(frozen=True, eq=False)
class AboutVariants(OfPeople, OfAsked, UnderPlan):
    """A question about some variants of a chunk."""

    most_rounds: ClassVar[int] = 1
    """Largest number of times it is asked about a variant."""
    each: ClassVar[dict[str, str]] = {
        "tied": "tie",
        "variants": "variant",
        "incomplete": "variant with missing calls",
        "sexes": "sex",
        "columns": "column",
    }

    start: int
    asked: np.ndarray
    """Flags, as above, of each variant of the chunk: uint8."""
    chromosome: str
    fill: np.ndarray
    """Value that replaces a missing call under the rule `mean`, for each variant with missing calls, each of
    the `sexes`, and each column of the model: from 0 to 2, or to 1 where there is one copy. float64 (lacking,
    s k).
    """
    people: int
    centre: np.ndarray
    exponent: np.ndarray

    @property
    def exact(self) -> bool:
        """The rule for missing calls."""
        return is_exact(self.plan)

    @property
    def lacking(self) -> int:
        return int(np.count_nonzero(self.asked & INCOMPLETE))

    @property
    def incomplete(self) -> int:
        """Number of variants for which sums over the people without a call are sent."""
        return self.lacking if self.exact else 0

    @property
    def tied(self) -> int:
        return int(np.count_nonzero(self.asked & TIED))

    @property
    def sexes(self) -> int:
        return len(sexes(self.chromosome))

    @property
    def terms(self) -> Terms:
        """The columns that a genotype becomes: of all but models on X without sex."""
        return terms_of(self.plan)

    @property
    def fillings(self) -> int:
        """Number of values that replace the missing calls of one variant."""
        return self.sexes * len(self.terms.coded)

    @property
    def is_tied(self) -> np.ndarray:
        """Mark the variants of which A1 is still to be settled: bool (m,)."""
        return self.flagged(TIED)

    def flagged(self, flag: int) -> np.ndarray:
        """Mark the variants asked about that have a flag: bool (m,)."""
        return np.asarray((self.asked[self.asked > 0] & flag) > 0)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        sent = super().sends_under(plan)
        return tuple(array for array in sent if is_exact(plan) or array.name != "missing")

    @classmethod
    def foreseen_fields(cls, plan: Plan, chunk: Chunk) -> dict[str, Any]:
        """The fields of a question about all variants of a chunk, where all lack calls and all are ties."""
        count, columns = chunk.variants, len(column_names(plan))
        fillings = len(sexes(chunk.chromosome)) * len(terms_of(plan).coded)
        asked = np.full(count, FIRST + INCOMPLETE + TIED, np.uint8)
        fill = np.zeros((0 if is_exact(plan) else count, fillings))
        return cls.fields_under(
            plan, chunk, 0, Columns(np.zeros(columns), np.zeros(columns, np.int64)), asked, fill
        )

    @classmethod
    def about(
        cls,
        plan: Plan,
        chunk: Chunk,
        people: int,
        columns: Columns,
        variants: np.ndarray,
        lacking: np.ndarray,
        fill: np.ndarray,
        counts_first: np.ndarray | bool,
        tied: np.ndarray,
        **more: Any,
    ) -> Self:
        """Build the question about m variants of a chunk, by panel index.

        bool (m,): which are `lacking` calls, are counted by their first allele, are ties. `fill`, (m, s k),
        are the values that replace missing calls.
        """
        # INCOMPLETE decides the shape of the answer: only of these are sums over missing calls sent.
        wanted = np.where(counts_first, FIRST, SECOND) + INCOMPLETE * lacking + TIED * tied
        asked, fill = flags(chunk, variants, wanted), fill[lacking & (not is_exact(plan))]
        return cls(**cls.fields_under(plan, chunk, people, columns, asked, fill), **more)

    @staticmethod
    def fields_under(
        plan: Plan, chunk: Chunk, people: int, columns: Columns, asked: np.ndarray, fill: np.ndarray
    ) -> dict[str, Any]:
        """Return the fields that all such questions have."""
        return {
            "plan": plan,
            "start": chunk.start,
            "asked": asked,
            "chromosome": chunk.chromosome,
            "fill": fill,
            "people": people,
            "centre": columns.centre,
            "exponent": columns.exponent,
        }

    def parts(self, cohort: Cohort) -> Iterator[AboutVariants]:
        places, lacking = np.flatnonzero(self.asked), np.cumsum(self.flagged(INCOMPLETE))
        for part in blocks(len(places), len(cohort.samples)):
            if part.stop - part.start == len(places):
                yield self
                return
            low, high = int(places[part.start]), int(places[part.stop - 1]) + 1
            lacks = slice(int(lacking[part.start - 1]) if part.start else 0, int(lacking[part.stop - 1]))
            fill = self.fill if self.exact else self.fill[lacks]
            yield replace(
                self, start=self.start + low, asked=self.asked[low:high], fill=fill, **self.fields_of(part)
            )

    def fields_of(self, part: slice) -> dict[str, Any]:
        """Return the fields that describe single variants, for some of those asked about."""
        return {}

    def copies_of(self, cohort: Cohort) -> Copies:
        """Read the copies of the variants asked about, counted as the plan requires."""
        found = copies_of(cohort, self.items, dosed=DOSAGES.of(self.plan))
        found = replace(found, second=found.second ^ self.flagged(SECOND))
        if isinstance(found, DosageCopies):
            return found
        words = called_words(found.values, cohort.samples, self.chromosome, self.exact)
        return replace(found, values=words)

    def first_of_ties(self, second: np.ndarray) -> np.ndarray:
        """1 where this cohort's files call the first allele of a tie A1; `second` as of `copies_of`.

        Of a tie copies of the first allele are counted: where `second`, that is the file's A2.
        """
        return np.asarray(1 - second[self.is_tied].astype(np.int64))
