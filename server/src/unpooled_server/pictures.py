"""What people look at of a study that is done: reads from the files that `services.pictures` keeps.

Nothing here depends on how many variants there are, but for a region as long as a chromosome.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.chromosomes import chromosome_code
from unpooled.pictures import loci, lookup, manhattan
from unpooled.pictures.associations import Associations
from unpooled_server import store
from unpooled_server.errors import Missing, Refused
from unpooled_server.models import Study
from unpooled_server.services.pictures import IDS, LOCI, MANHATTAN, QUANTILES, TESTED

Row = dict[str, Any]

LARGEST = (1 << 31) - 1  # position


def there_are(study: Study) -> bool:
    """Whether the pictures of a study can be had."""
    return TESTED in study.columns


def whole_genome(study: Study) -> bytes:
    """The Manhattan plot, as compressed JSON; see `unpooled.pictures.manhattan.overview`."""
    return _kept(study, MANHATTAN)


def quantiles(study: Study) -> bytes:
    """The QQ plot, as compressed JSON; see `unpooled.pictures.quantiles`."""
    return _kept(study, QUANTILES)


def region(study: Study, chromosome: str, first: int, last: int | None) -> Row:
    """A window of one chromosome, to its last variant if `last` is None; see `manhattan.region`."""
    associations = _associations(study)
    code = 0 if chromosome in ("0", "unplaced") else chromosome_code(chromosome, study.plan.autosomes)
    if code is None:
        raise Refused(
            "bad-field",
            f"There is no chromosome {chromosome[:20]!r}.",
            "Name one as in the overview, such as 7 or X.",
            fields={"chromosome": "want a name such as 7 or X"},
        )
    if last is None:
        rows = associations.chromosomes().get(code)
        last = int(associations.columns["position"][rows.stop - 1]) if rows else first
    if first > last:
        raise Refused("bad-field", "The region ends before it begins.", fields={"to": "want at least `from`"})
    return manhattan.region(associations, code, first, last, [row["index"] for row in found_loci(study)])


def found_loci(study: Study) -> list[Row]:
    """All loci, the strongest first, each described by its lead variant."""
    rows: list[Row] = json.loads(_kept(study, LOCI))
    return rows


def loci_csv(study: Study) -> str:
    """The loci as a table with commas, a line for each."""
    associations, out = _associations(study), io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    percent = f"{associations.confidence * 100:g}"
    effect = [associations.effect_name, f"L{percent}", f"U{percent}", "SE"]
    table.writerow(
        ["CHR", "BP", "ID", "A1", "A2", "A1_FREQ", *effect, "P", "NEG_LOG10_P", "START", "END", "VARIANTS"]
    )
    for row in found_loci(study):
        texts = [_no_formula(row[name]) for name in ("id", "a1", "a2")]
        numbers = [row[name] for name in ("a1_freq", "effect", "lower", "upper", "se", "p", "neg_log10_p")]
        table.writerow([row["chromosome"], row["position"], *texts, *numbers, *row["locus"].values()])
    return out.getvalue()


def _no_formula(text: str) -> str:
    """Cohorts chose the IDs: one that a spreadsheet would compute stands behind an apostrophe."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def variants(study: Study, search: str, start: int, count: int) -> Row:
    """A page of the loci or, with `search`, of the variants found: by ID, place, or part of a lead's ID."""
    associations, table = _associations(study), found_loci(study)
    if not (search := search.strip()):
        rows, total = table[start : start + count], len(table)
    else:
        leads = {row["index"]: row for row in table}
        found = _found(study, associations, search, table)
        page, total = found[start : start + count], len(found)
        described = loci.describe(associations, page) if len(page) else []
        located = _Located(table)
        others = ({**row, "locus": located.locus(row), "lead": False} for row in described)
        rows = [leads.get(row["index"], row) for row in others]
    return {
        "effect": associations.effect_name,
        "confidence": associations.confidence,
        "suggestive": loci.SUGGESTIVE,
        "reach": loci.REACH,
        "loci": len(table),
        "found": total,
        "start": start,
        "rows": rows,
    }


def _found(study: Study, associations: Associations, search: str, table: Sequence[Row]) -> np.ndarray:
    """Rows of the variants that a search finds, (k,)."""
    entries = np.load(_path(study, IDS), mmap_mode="r", allow_pickle=False)
    by_id = lookup.find(entries, associations.columns["id"], search)
    if len(by_id):
        return by_id
    if place := lookup.place(search, study.plan.autosomes):
        rows = associations.within(*place)
        return np.arange(rows.start, rows.stop)
    part = search.lower()
    return np.array([row["index"] for row in table if part in row["id"].lower()], np.int64)


class _Located:
    """Finds the locus that a variant is in. Loci do not overlap."""

    def __init__(self, table: Sequence[Row]) -> None:
        self._places = sorted((row["chromosome"], row["locus"]["start"], k) for k, row in enumerate(table))
        self._table = table

    def locus(self, row: Row) -> Row | None:
        at = bisect_right(self._places, (row["chromosome"], row["position"], len(self._table)))
        if not at:
            return None
        chromosome, _, k = self._places[at - 1]
        found: Row = self._table[k]["locus"]
        inside = chromosome == row["chromosome"] and row["position"] <= found["end"]
        return found if inside else None


def _associations(study: Study) -> Associations:
    _require(study)
    return Associations(store.kept_columns(study.pk, study.results_folder, study.columns), study.plan)


def _kept(study: Study, name: str) -> bytes:
    _require(study)
    try:
        return _path(study, name).read_bytes()
    except FileNotFoundError:
        raise Missing("no-pictures", "The pictures of this study are lost.", "See its files.") from None


def _path(study: Study, name: str) -> Path:
    return store.picture_path(study.pk, study.results_folder, name)


def _require(study: Study) -> None:
    """Missing, unless the study has pictures."""
    if study.plan.of_tables:
        raise Missing("no-pictures", "A study of tables has no pictures.", "See its result files.")
    if not study.columns:
        raise Missing("no-pictures", "This study has no pictures yet.", "Wait until it is done.")
    if not there_are(study):
        raise Missing(
            "no-pictures", "This study counts, and tests nothing: there is nothing to draw.", "See its files."
        )
