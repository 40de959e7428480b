"""The loci of two studies side by side: what leads each, and whether both say the same of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from unpooled.pictures.associations import ODDS_RATIO
from unpooled_server.errors import Refused
from unpooled_server.reads import annotation, pictures
from unpooled_server.reads.result_columns import Results

Row = dict[str, Any]
Group: TypeAlias = tuple[list[Row], list[Row]]
"""Loci of the one study and of the other, the strongest of each first."""
Key: TypeAlias = tuple[str, int, frozenset[str]]
"""Identity of a variant in both studies, whatever it is called: chromosome, position, alleles."""


def loci(first: Results, second: Results) -> Row:
    """The loci of both studies, joined where they overlap, the strongest first; each told of by the variant
    that is the strongest among the leads of either, in both studies."""
    _require_same_build(first, second)
    studies = (first, second)
    effects = [pictures.effect_name(study) for study in studies]
    groups = _joined([pictures.found_loci(study) for study in studies])
    leads = [max(_every(group), key=lambda row: row["neg_log10_p"]) for group in groups]
    told = [pictures.described(study, [_key(row) for row in leads]) for study in studies]
    known = annotation.genes(first.plan)
    rows = []
    for group, lead in zip(groups, leads, strict=True):
        both = [
            _as_told(lead, found.get(_key(lead)), name) for found, name in zip(told, effects, strict=True)
        ]
        rows.append(
            {
                **{name: lead[name] for name in ("chromosome", "position", "id", "a1", "a2")},
                "start": min(row["locus"]["start"] for row in _every(group)),
                "end": max(row["locus"]["end"] for row in _every(group)),
                **annotation.nearest(known, lead),
                "leads": [found[0]["id"] if found else None for found in group],
                "studies": both,
                "same_direction": _same_direction(both, effects),
                "strongest": lead["neg_log10_p"],
            }
        )
    rows.sort(key=lambda row: -row.pop("strongest"))
    return {"effects": effects, "rows": rows}


def _require_same_build(first: Results, second: Results) -> None:
    builds = [annotation.build_of(study.plan) or study.plan.build for study in (first, second)]
    if builds[0] != builds[1]:
        raise Refused(
            "other-build",
            f"The studies are on different genome builds, {builds[0]} and {builds[1]}.",
            "Choose a study on the same build: positions mean something else on another.",
        )


def _every(group: Group) -> list[Row]:
    return [row for rows in group for row in rows]


def _joined(tables: Sequence[Sequence[Row]]) -> list[Group]:
    """Loci that overlap, together."""
    places = sorted(
        (row["chromosome"], row["locus"]["start"], which, k)
        for which, table in enumerate(tables)
        for k, row in enumerate(table)
    )
    groups: list[Group] = []
    at, end = "", -1
    for chromosome, start, which, k in places:
        row = tables[which][k]
        if chromosome != at or start > end:
            groups.append(([], []))
            at, end = chromosome, -1
        groups[-1][which].append(row)
        end = max(end, row["locus"]["end"])
    for group in groups:
        for rows in group:
            rows.sort(key=lambda row: -row["neg_log10_p"])
    return groups


def _key(row: Row) -> Key:
    return row["chromosome"], row["position"], frozenset((row["a1"], row["a2"]))


def _as_told(lead: Row, row: Row | None, effect_name: str) -> Row | None:
    """Return what a study found of a variant, per copy of the lead's A1."""
    if row is None:
        return None
    found = {
        name: row[name] for name in ("id", "a1_freq", "effect", "lower", "upper", "se", "neg_log10_p", "p")
    }
    if row["a1"] != lead["a1"]:
        turned = {"effect": row["effect"], "lower": row["upper"], "upper": row["lower"]}
        found |= {name: _of_other_allele(value, effect_name) for name, value in turned.items()}
        found["a1_freq"] = None if row["a1_freq"] is None else 1 - row["a1_freq"]
    return found


def _of_other_allele(effect: float | None, name: str) -> float | None:
    if effect is None:
        return None
    if name == ODDS_RATIO:
        return 1 / effect if effect else None
    return -effect


def _same_direction(both: Sequence[Row | None], effects: Sequence[str]) -> bool | None:
    """Tell whether A1 goes with more of the trait in both, or with less in both; None if unknown."""
    signs = [_sign(row["effect"] if row else None, name) for row, name in zip(both, effects, strict=True)]
    return None if 0 in signs else signs[0] == signs[1]


def _sign(effect: float | None, name: str) -> int:
    none = 1 if name == ODDS_RATIO else 0
    return 0 if effect is None else (effect > none) - (effect < none)
