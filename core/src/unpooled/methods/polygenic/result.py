"""Results of the fits: the weights of the variants, and how well each share of variance predicts."""

from __future__ import annotations

import json
import math
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.kernels.fixed_order import total
from unpooled.methods.polygenic.base import OF_SOME, Base
from unpooled.methods.polygenic.counts import LEFT_OUT
from unpooled.methods.polygenic.questions import shares_of
from unpooled.methods.shared.gradients import dot
from unpooled.methods.shared.summary import VARIANTS
from unpooled.pages.page import Html, facts, joined, section, table
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan

PATH, FIT = "shares of variance", "fit"
"""Result tables beside that of the variants, whose columns are

    weight        of a copy of A1, in the phenotype's unit
    a1_freq       frequency of A1 in the pool

PATH has a row for each share of variance, and FIT one in all."""
CARD_FILE, PERFORMANCE_FILE = "card", "performance"


@dataclass(frozen=True, eq=False)
class Scored:
    """A fit without some people."""

    weights: np.ndarray
    """float64 (m,): of each variant in deviations; of a standardised phenotype"""
    deviation: float
    """Standard deviation of the score, approximately, among the people that it is fitted to."""
    of_columns: np.ndarray
    """float64 (q,): what is predicted by one and the covariates beside it"""


def score(base: Base, penalty: float, weights: np.ndarray) -> Scored:
    """The score that is made of the solution to a penalty.

    From (X'MX + k I) b = X'My the sum of its squares is b'(X'My - k b).
    """
    squares = dot(weights, base.target(OF_SOME) - penalty * weights)
    deviation = math.sqrt(max(squares, 0) / max(base.people[OF_SOME], 1)) or 1.0
    explained = total(base.crossed_of(OF_SOME)[:, :-1] * weights[:, None], axis=0)
    left = base.products_of(OF_SOME)[:-1, -1] - explained
    return Scored(weights, deviation, base.on_columns(OF_SOME, left))


@dataclass(frozen=True, eq=False)
class Tested:
    """Performance of a score in the people left out."""

    error: float
    """Mean squared, of the standardised phenotype."""
    explained: float
    """Share of the squared error without the score that it takes away."""
    r_squared: float
    """Squared correlation of score and phenotype, both without what the covariates explain."""


def tested(base: Base, scored: Scored, squares: float, products: np.ndarray) -> Tested:
    """Compute a score's performance from sums over the people left out.

    `squares` and `products`, float64 (q + 1,), are of the score in deviations: with itself, and with one,
    covariates and phenotype.
    """
    own = base.products[LEFT_OUT]
    cc, cy, yy = own[:-1, :-1], own[:-1, -1], own[-1, -1]
    of_score, with_y = scored.deviation * products[:-1], scored.deviation * products[-1]
    of_itself = scored.deviation**2 * squares

    def error(g: np.ndarray) -> float:
        return float(yy - 2 * g @ cy + g @ cc @ g)

    g = scored.of_columns
    with_score = error(g) + 2 * (g @ of_score - with_y) + of_itself
    alone = base.on_columns(OF_SOME, base.products_of(OF_SOME)[:-1, -1])
    inverse = np.linalg.pinv(cc, hermitian=True)
    together = with_y - of_score @ inverse @ cy
    apart = (of_itself - of_score @ inverse @ of_score) * (yy - cy @ inverse @ cy)
    return Tested(
        with_score / own[0, 0],
        1 - with_score / error(alone),
        float(together**2 / apart) if apart > 0 else math.nan,
    )


def rows_of(
    base: Base, shares: np.ndarray, scores: Sequence[Scored], sums: Arrays, solutions: np.ndarray, rounds: int
) -> Iterator[Rows]:
    """All result tables. `solutions`, float64 (shares, m), are those of the fit to everyone."""
    found = [
        tested(base, each, float(squares), products)
        for each, squares, products in zip(scores, sums["squares"], sums["products"], strict=True)
    ]
    errors = np.array([each.error for each in found])
    chosen = int(np.argmin(errors))
    unit = float(np.ldexp(1.0, int(base.design.exponent[-1])))
    weight = solutions[chosen] * base.scale * unit
    yield Rows(
        VARIANTS,
        {
            "variant": base.variants.astype(np.uint32),
            "first_is_a1": base.first_is_a1,
            "weight": np.where(base.first_is_a1, weight, -weight),
            "a1_freq": np.where(base.first_is_a1, base.mean / 2, 1 - base.mean / 2),
        },
    )
    order = np.argsort(shares)
    yield Rows(
        PATH,
        {
            "index": np.arange(len(shares)),
            "share": shares[order],
            "error": errors[order] * unit**2,
            "explained": np.array([each.explained for each in found])[order],
            "r_squared": np.array([each.r_squared for each in found])[order],
            "chosen": order == chosen,
        },
    )
    counts = base.products[:, 0, 0].round().astype(np.int64)
    yield Rows(
        FIT,
        {
            "index": np.zeros(1, np.int64),
            "people": counts.sum(keepdims=True),
            "left_out": counts[LEFT_OUT:],
            "rounds": np.array([rounds]),
        },
    )


def columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """Return the columns of all tables, named with their table except for those of the variants."""
    others = {f"{name}.{key}": tables[name][key][:] for name in (PATH, FIT) for key in tables[name]}
    return ChainMap(others, tables[VARIANTS])  # type: ignore[arg-type]  # nothing is ever written to it


@dataclass(frozen=True)
class Performance:
    """The score that was chosen."""

    share: float
    r_squared: float
    explained: float
    people: int
    left_out: int
    rounds: int
    variants: int

    @classmethod
    def of(cls, columns: Arrays) -> Performance:
        chosen = int(np.flatnonzero(columns[f"{PATH}.chosen"])[0])
        share, r, part = (float(columns[f"{PATH}.{k}"][chosen]) for k in ("share", "r_squared", "explained"))
        people, left_out, rounds = (int(columns[f"{FIT}.{k}"][0]) for k in ("people", "left_out", "rounds"))
        return cls(share, r, part, people, left_out, rounds, len(columns["variant"]))

    @property
    def facts(self) -> Iterator[tuple[str, str]]:
        """Names and numbers, for people."""
        yield "Variants", f"{self.variants:,}"
        yield "People", f"{self.people:,}"
        yield "Held out to choose", f"{self.left_out:,}"
        yield "Share of variance", f"{self.share:g}"
        yield "R² in people left out", f"{self.r_squared:.4f}"
        yield "Error removed there", f"{100 * self.explained:.1f} %"
        yield "Rounds", f"{self.rounds:,}"


FORMAT, VERSION = "unpooled/polygenic", 1


def write_performance(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write how well each share of variance does, as JSON."""
    names = ("share", "error", "explained", "r_squared", "chosen")
    rows = zip(*(columns[f"{PATH}.{name}"].tolist() for name in names), strict=True)
    found = {
        "format": FORMAT,
        "version": VERSION,
        "phenotype": plan.phenotype,
        "trait": plan.trait,
        **asdict(Performance.of(columns)),
        "shares": [_finite(dict(zip(names, row, strict=True))) for row in rows],
    }
    out.write(json.dumps(_finite(found), indent=1, ensure_ascii=False).encode() + b"\n")


def _finite(found: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: what cannot be computed is null there."""
    return {name: None if value != value else value for name, value in found.items()}


ABOUT = (
    "R² is the squared correlation of score and phenotype, both without what the covariates explain, among "
    "people that this fit had not seen. The score itself was then fitted to everyone with the share of the "
    "least error: on new people of the same kind expect about as much, on people of other ancestry less."
)


def _told(columns: Arrays, plan: Plan) -> str:
    """Say what the numbers mean, and which shares were tried and have none."""
    unsolved = sorted({*shares_of(plan)} - {*columns[f"{PATH}.share"].tolist()})
    left_out = f" Not solved in the rounds that the number of people allows: {', '.join(map(str, unsolved))}."
    return ABOUT + (left_out if unsolved else "")


def shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The result as a part of the report."""
    columns = columns_of("", tables)
    rows = [
        [f"{share:g}", f"{r:.4f}", f"{100 * part:.1f}", "chosen" if chosen else ""]
        for share, r, part, chosen in zip(
            *(columns[f"{PATH}.{name}"].tolist() for name in ("share", "r_squared", "explained", "chosen")),
            strict=True,
        )
    ]
    heads = ["Share of variance", "R²", "Error removed, %", ""]
    return joined(
        [
            section("Polygenic score", facts(Performance.of(columns).facts)),
            section("Shares of variance", table(_told(columns, plan), heads, rows, numbers=(0, 1, 2))),
        ]
    )


_NOT_FOR = (
    "Decisions about a single person without a person who answers for them. A score is one of many causes.",
    "People of another ancestry, age or country than these cohorts'. Test it on such people first.",
    "Variants with other alleles, or of another genome build, than the file names.",
)


def write_card(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the model card, as Markdown."""
    out.write(("\n".join(_lines(Performance.of(columns), _told(columns, plan), plan)) + "\n").encode())


def _lines(found: Performance, told: str, plan: Plan) -> Iterator[str]:
    yield from (f"# Polygenic score of {plan.phenotype}", "")
    yield f"Predicts **{plan.phenotype}** from {found.variants:,} variants, as copies of the effect allele."
    yield "Ridge regression on all variants at once, covariates taken away: best linear unbiased prediction."
    yield from ("", "## People", "")
    yield f"- {found.people:,} people of {plan.cohorts:,} cohorts; genome build {plan.build}."
    yield f"- Covariates: {', '.join(plan.covariate_columns) or 'none'}."
    yield "- Fitted to sums over all cohorts, without pooling genotypes; none is of fewer than ten carriers."
    yield from ("", "## Performance", "")
    yield from (f"- {name}: {value}." for name, value in found.facts)
    yield f"- {told}"
    yield from ("", "## Not for", "", *(f"- {line}" for line in _NOT_FOR))
