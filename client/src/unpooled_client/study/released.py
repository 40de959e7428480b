"""Release of what leaves under one plan, and the check whether it holds under another one."""

from __future__ import annotations

import dataclasses
from typing import Any

from unpooled.plan.plan import Plan
from unpooled_client.data.options import DataOptions
from unpooled_client.state.folder import Agreement, Saved
from unpooled_client.study.reading import DataChanged, guard, same_options


def kept_under(saved: Saved, agreement: Agreement, options: DataOptions | None) -> dict[str, Any]:
    """Return the changes of the state for a new agreement.

    Released stays what leaves the same, of the same files, as `options` would read them. Of other files, or
    where something else leaves, they are checked again, and a person is asked again.
    """
    old = saved.agreement
    if old is None or old.plan == agreement.plan:
        return {"agreement": agreement}
    if _stays_released(saved, old, agreement, options):
        return {"agreement": agreement, "released": agreement.plan.hash()}
    return {"agreement": agreement, "files": {}, "sizes": {}}


def _stays_released(saved: Saved, old: Agreement, new: Agreement, options: DataOptions | None) -> bool:
    if not saved.is_released or old.leaves(saved.sizes) != new.leaves(saved.sizes):
        return False
    accepted = DataOptions.from_json(saved.options)
    given = options or accepted
    if _reads(accepted, old.plan) != _reads(given, new.plan):
        return False
    try:
        same_options(accepted, given, new.plan)
        guard(saved.files, given.paths)
    except DataChanged:
        return False
    return True


def _reads(options: DataOptions, plan: Plan) -> Any:
    """Return what decides which people and variants are read; floors do not, they refuse or let pass."""
    read = dataclasses.replace(options.under(plan), min_samples=None, min_per_class=None)
    return read, plan.phenotype, plan.panel_mode, plan.panel_digest
