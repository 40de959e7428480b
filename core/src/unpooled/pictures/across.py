"""Results of a meta-analysis of the cohorts' own estimates, where the study has one."""

from __future__ import annotations

from typing import Any

import numpy as np

from unpooled.kernels.statistics import normal_neg_log10_p, with_limits
from unpooled.pictures.associations import ODDS_RATIO, Associations, Floats, Part, p_text, plain


def across(associations: Associations, part: Part) -> list[dict[str, Any] | None]:
    """Return each variant's combined effects of A1 with limits, and how much effects differ, as plain values.

    None for all in a study without a meta-analysis, and for a variant that too few cohorts estimate.
    """
    columns = associations.columns
    if "across_studies" not in columns:
        return [None] * len(associations.position(part))
    models = [
        _effects(associations, columns[f"across_{name}"][part], columns[f"across_{name}_se"][part])
        for name in ("fixed", "random")
    ]
    told = [plain(columns[f"across_{name}"][part]) for name in ("q_p", "i_squared")]
    studies = columns["across_studies"][part].tolist()
    return [
        None
        if fixed["effect"] is None
        else {"studies": count, "fixed": fixed, "random": random, "q_p": q_p, "i_squared": i_squared}
        for count, fixed, random, q_p, i_squared in zip(studies, *models, *told, strict=True)
    ]


def _effects(associations: Associations, effect: Floats, se: Floats) -> list[dict[str, Any]]:
    odds = associations.effect_name == ODDS_RATIO
    shown = with_limits(effect, se, associations.confidence, odds=odds)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = normal_neg_log10_p(effect / se)
    texts = [None if np.isnan(value) else p_text(value) for value in size.tolist()]
    rows = zip(*(plain(values) for values in shown), texts, strict=True)
    return [dict(zip(("effect", "lower", "upper", "p"), row, strict=True)) for row in rows]
