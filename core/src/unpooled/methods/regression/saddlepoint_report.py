"""The saddlepoint test as a part of the report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.methods.regression.credible_report import variant_name
from unpooled.methods.regression.saddlepoint import TABLE
from unpooled.pages.page import Html, section, table, tag
from unpooled.panel.panel import Panel
from unpooled.pictures.associations import p_text

_SHOWN = 20
_HEADS = ("Variant", "P, score test", "P, saddlepoint")


def shown(tables: Mapping[str, Arrays], panel: Panel) -> Html:
    """Show the variants with the smallest P by the saddlepoint approximation."""
    found = {name: column[:] for name, column in tables[TABLE].items()}
    normal, tails = found["score_neg_log10_p"], found["neg_log10_p"]
    has_tails = np.flatnonzero(~np.isnan(tails))
    order = has_tails[np.argsort(-tails[has_tails], kind="stable")][:_SHOWN]
    tested = int(np.count_nonzero(~np.isnan(normal)))
    told = (
        f"Variants of the autosomes with a score: {tested:,}. Of these with P < 0.05 by it, which have a P "
        f"by the saddlepoint approximation, which holds where cases are few: {len(has_tails):,}. "
        f"The {_SHOWN} smallest are listed; the file has all."
    )
    rows = [
        (variant_name(panel, found["variant"][k]), p_text(normal[k]), p_text(tails[k]))
        for k in order.tolist()
    ]
    listed = [table("Smallest P by the saddlepoint approximation", _HEADS, rows, {1, 2})] if rows else []
    return section("Saddlepoint P", tag("p", told), *listed)
