"""Credible sets as a part of the report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.kernels.susie import COVERAGE
from unpooled.methods.regression.credible_sets import TABLE
from unpooled.methods.regression.locus_questions import MOST_LOCI
from unpooled.pages.page import Html, section, table, tag
from unpooled.panel.panel import Panel
from unpooled.pictures.drawing import shortened

_SHOWN = 20
_LONGEST_NAME = 40
_HEADS = ("Lead variant", "Set", "Variants", "Most probable", "PIP", "log₁₀ Bayes factor", "Smallest |r|")


def shown(tables: Mapping[str, Arrays], panel: Panel) -> Html:
    """Show the credible sets with the most evidence."""
    found = {name: column[:] for name, column in tables[TABLE].items()}
    first = _most_probable(found)
    order = first[np.argsort(-found["log10_bayes_factor"][first], kind="stable")]
    loci, without = len(np.unique(found["variant"])), int(np.count_nonzero(np.isnan(found["pip"])))
    told = [
        f"{len(order):,} credible sets around {loci:,} lead variants: one variant of each set has an effect, "
        f"with a probability of {100 * COVERAGE:g} % or more.",
        f"The {_SHOWN} with the most evidence are listed; the file has all." * (len(order) > _SHOWN),
        f"Of {without:,} loci nothing is known: fewer than two variants there can be summed." * (without > 0),
        f"No more than {MOST_LOCI} loci are looked at." * (loci == MOST_LOCI),
    ]
    rows = [_row(found, panel, k) for k in order[:_SHOWN].tolist()]
    listed = [table("Credible sets", _HEADS, rows, {1, 2, 4, 5, 6})] if rows else []
    return section("Credible sets", tag("p", " ".join(filter(None, told))), *listed)


def _most_probable(found: Arrays) -> np.ndarray:
    """The row of the most probable variant of each set: int64 (sets,)."""
    inside = np.flatnonzero(found["credible_set"])
    inside = inside[np.argsort(-found["pip"][inside], kind="stable")]
    keys = np.stack([found["variant"][inside], found["credible_set"][inside]])
    return np.asarray(inside[np.sort(np.unique(keys, axis=1, return_index=True)[1])])


def _row(found: Arrays, panel: Panel, k: int) -> tuple[str, ...]:
    lead, number = found["variant"][k], found["credible_set"][k]
    size = np.count_nonzero((found["variant"] == lead) & (found["credible_set"] == number))
    return (
        variant_name(panel, lead),
        str(number),
        f"{size:,}",
        variant_name(panel, found["other"][k]),
        f"{found['pip'][k]:.3g}",
        f"{found['log10_bayes_factor'][k]:.3g}",
        f"{found['purity'][k]:.3g}",
    )


def variant_name(panel: Panel, variant: int) -> str:
    return shortened(panel.name[variant].decode("utf-8", "replace"), _LONGEST_NAME)
