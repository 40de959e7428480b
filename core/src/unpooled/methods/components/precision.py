"""Precision of each component: the tables of a study, and their part of its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse, listed
from unpooled.methods.components.krylov import standing_out
from unpooled.methods.components.options import STANDS_OUT, WORST_COVARIATE
from unpooled.methods.components.procedure import Components
from unpooled.pages.page import Html, facts, section, table
from unpooled.plan.common_options import COMPONENTS
from unpooled.plan.plan import component_titles as titles

VALUES, FIT = "components", "fit"
"""Result tables beside that of the variants: a row for each component, and one in all."""


def known(found: Components) -> Iterator[Rows]:
    """The rows of both tables."""
    yield Rows(
        VALUES,
        {
            "index": np.arange(len(found.values)),
            "eigenvalue": found.values,
            "following": np.append(found.values[1:], found.following),
            "error": found.error,
            "stands_out": standing_out(found.values, found.following, STANDS_OUT),
        },
    )
    yield Rows(
        FIT,
        {
            "index": np.zeros(1, np.int64),
            "rounds": np.array([found.rounds]),
            "block": np.array([found.block]),
        },
    )


def refuse_unsettled(error: np.ndarray, rounds: int) -> None:
    """Refuse covariates that may be other directions than the pool's components."""
    settled, names = error <= WORST_COVARIATE, np.array(titles(len(error)))
    if settled.all():
        return
    first = int(settled.argmin())
    raise Refuse(
        COMPONENTS.name,
        f"after {rounds} rounds the error of {listed(names[~settled].tolist())}, of {len(names)} components, "
        f"can be more than {WORST_COVARIATE:g}, as 1 - |cos|"
        + (f"; that of {listed(names[settled].tolist())} is smaller" if settled.any() else ""),
        (f"Choose {first} components: those before {names[first]} are settled" if first else "Choose fewer")
        + ", and the fewer there are, the more rounds the pool's people allow. Or invite further cohorts.",
    )


ABOUT = (
    f"Components stand out up to the last whose eigenvalue is at least {STANDS_OUT} times the next. They are "
    "those of the pooled genotypes to the plan's tolerance, unless the pool has too few people for the "
    "rounds that this takes. Among some with nearly the same eigenvalue directions may rotate: what these "
    "span is what they tell. Others are mostly chance, as they are in PLINK. The error is the most that "
    "1 - |cos| can be where the search has missed no larger eigenvalue."
)


def shown(tables: Mapping[str, Arrays]) -> Html:
    """The tables as a part of the report."""
    found = tables[VALUES]
    columns = ("eigenvalue", "following", "error", "stands_out")
    rows = [
        [title, f"{value:.6g}", f"{value / following:.3f}", f"{error:.1e}", "yes" if stands_out else "no"]
        for title, value, following, error, stands_out in zip(
            titles(len(found["eigenvalue"])), *(found[name].tolist() for name in columns), strict=True
        )
    ]
    heads = ["Component", "Eigenvalue", "Times the next", "Error at most", "Stands out"]
    rounds, block = (int(tables[FIT][name][0]) for name in ("rounds", "block"))
    return section(
        "Principal components",
        facts([("Rounds", f"{rounds:,}"), ("Directions of a round", f"{block:,}")]),
        table(ABOUT, heads, rows, numbers=(1, 2, 3)),
    )
