"""Pictures of a study that is done, read from the files that `services.pictures` keeps.

Nothing here depends on how many variants there are, but for a region as long as a chromosome.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from unpooled.panel.chromosomes import chromosome_code, chromosome_name
from unpooled.pictures import loci, lookup, manhattan
from unpooled.pictures.associations import Associations
from unpooled_server.errors import Missing, Refused
from unpooled_server.reads import annotation
from unpooled_server.reads.result_columns import Results
from unpooled_server.storage import store

TESTED = "neg_log10_p"
"""The result column without which there is nothing to draw: the plan may have asked for counts alone."""

MANHATTAN, QUANTILES, LOCI, IDS = "manhattan.json.gz", "qq.json.gz", "loci.json", "ids.npy"
LINKAGE, CREDIBLE = "linkage.npy", "credible.npy"
"""Only of a study that looked at it."""

Row = dict[str, Any]

LARGEST = (1 << 31) - 1  # position
MOST_PLACES = 10
"""Maximum number of places that a search finds."""


def there_are(results: Results) -> bool:
    """Tell whether the pictures of a study can be had."""
    return TESTED in results.columns


def whole_genome(results: Results) -> bytes:
    """The Manhattan plot, as compressed JSON; see `unpooled.pictures.manhattan.overview`."""
    return _stored(results, MANHATTAN)


def quantiles(results: Results) -> bytes:
    """The QQ plot, as compressed JSON; see `unpooled.pictures.quantiles`."""
    return _stored(results, QUANTILES)


def region(results: Results, chromosome: str, first: int, last: int | None) -> Row:
    """A window of one chromosome, to its last variant if `last` is None; see `manhattan.region`."""
    associations = _associations(results)
    code = _code(results, chromosome)
    if last is None:
        rows = associations.chromosomes().get(code)
        last = int(associations.columns["position"][rows.stop - 1]) if rows else first
    _require_order(first, last)
    leads = [row["index"] for row in found_loci(results)]
    around_leads = (_kept_if_any(results, name) for name in (LINKAGE, CREDIBLE))
    return manhattan.region(associations, code, first, last, leads, *around_leads)


def _kept_if_any(results: Results, name: str) -> np.ndarray | None:
    if store.kept().size(results.path(name)) is None:
        return None
    found: np.ndarray = np.load(results.here(name), mmap_mode="r", allow_pickle=False)
    return found


def surroundings(results: Results, chromosome: str, first: int, last: int) -> Row:
    """Genes and recombination of a window; see `annotation.around`."""
    name = chromosome_name(_code(results, chromosome), results.plan.autosomes)
    _require_order(first, last)
    return annotation.around(results.plan, name, first, last)


def _code(results: Results, chromosome: str) -> int:
    code = 0 if chromosome in ("0", "unplaced") else chromosome_code(chromosome, results.plan.autosomes)
    if code is None:
        raise Refused(
            "bad-field",
            f"There is no chromosome {chromosome[:20]!r}.",
            "Name one as in the overview, such as 7 or X.",
            fields={"chromosome": "want a name such as 7 or X"},
        )
    return code


def _require_order(first: int, last: int) -> None:
    if first > last:
        raise Refused("bad-field", "The region ends before it begins.", fields={"to": "want at least `from`"})


def found_loci(results: Results) -> list[Row]:
    """All loci, the strongest first, each described by its lead variant."""
    rows: list[Row] = json.loads(_stored(results, LOCI))
    return rows


def loci_csv(results: Results) -> str:
    """The loci as a table with commas, a line for each."""
    associations, out = _associations(results), io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    percent = f"{associations.confidence * 100:g}"
    effect = [associations.effect_name, f"L{percent}", f"U{percent}", "SE"]
    head = ["CHR", "BP", "ID", "A1", "A2", "A1_FREQ", *effect, "P", "NEG_LOG10_P"]
    table.writerow([*head, "START", "END", "VARIANTS", "NEAREST_GENE", "GENE_DISTANCE"])
    known = annotation.genes(results.plan)
    for row in found_loci(results):
        texts = [_no_formula(row[name]) for name in ("id", "a1", "a2")]
        gene, away = known.next_to(row["chromosome"], row["position"])
        numbers = [row[name] for name in ("a1_freq", "effect", "lower", "upper", "se", "p", "neg_log10_p")]
        nearest = [*row["locus"].values(), _no_formula(gene), away]
        table.writerow([row["chromosome"], row["position"], *texts, *numbers, *nearest])
    return out.getvalue()


def _no_formula(text: str) -> str:
    """Cohorts chose the IDs: one that a spreadsheet would compute stands behind an apostrophe."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def variants(results: Results, search: str, start: int, count: int) -> Row:
    """A page of the loci or, with `search`, of the variants found: by ID, place, gene or part of a lead's."""
    associations, table = _associations(results), found_loci(results)
    if not (search := search.strip()):
        rows, total = table[start : start + count], len(table)
    else:
        leads = {row["index"]: row for row in table}
        found = _found(results, associations, search, table)
        page, total = found[start : start + count], len(found)
        described = loci.describe(associations, page) if len(page) else []
        located = _Located(table)
        others = ({**row, "locus": located.locus(row), "lead": False} for row in described)
        rows = [leads.get(row["index"], row) for row in others]
    genes = annotation.genes(results.plan)
    rows = [{**row, **annotation.nearest(genes, row)} for row in rows]
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


def places(results: Results, search: str) -> list[Row]:
    """Find where a search leads: variants of this ID, a place, genes whose names begin with it; the best
    first.
    """
    associations, search = _associations(results), search.strip()
    if not search:
        return []
    rows = _by_id(results, associations, search)[:MOST_PLACES]
    position = associations.position(rows).tolist()
    each = zip(associations.id(rows), associations.chromosome(rows), position, position, strict=True)
    found: list[tuple[Any, ...]] = [("variant", *variant) for variant in each]
    if place := lookup.place(search, results.plan.autosomes):
        code, *ends = place
        name = chromosome_name(code, results.plan.autosomes)
        found.append(("place", search, name, *(min(end, LARGEST) for end in sorted(ends))))
    genes = annotation.genes(results.plan).named(search, MOST_PLACES)
    found += [("gene", gene.name, gene.chromosome, gene.start, gene.end) for gene in genes]
    columns = ("kind", "name", "chromosome", "first", "last")
    return [dict(zip(columns, row, strict=True)) for row in found[:MOST_PLACES]]


def _by_id(results: Results, associations: Associations, search: str) -> np.ndarray:
    entries = np.load(results.here(IDS), mmap_mode="r", allow_pickle=False)
    return lookup.find(entries, associations.columns["id"], search)


def _found(results: Results, associations: Associations, search: str, table: Sequence[Row]) -> np.ndarray:
    """Rows of the variants that a search finds, (k,)."""
    by_id = _by_id(results, associations, search)
    if len(by_id):
        return by_id
    place = lookup.place(search, results.plan.autosomes) or _gene_named(results, search)
    if place:
        rows = associations.within(*place)
        return np.arange(rows.start, rows.stop)
    part = search.lower()
    return np.array([row["index"] for row in table if part in row["id"].lower()], np.int64)


def _gene_named(results: Results, search: str) -> tuple[int, int, int] | None:
    """Chromosome code, first and last position of the gene of this name."""
    for gene in annotation.genes(results.plan).named(search, 1):
        code = chromosome_code(gene.chromosome, results.plan.autosomes)
        if gene.name.upper() == search.upper() and code is not None:
            return code, gene.start, gene.end
    return None


def effect_name(results: Results) -> str:
    """`OR` or `BETA`."""
    return _associations(results).effect_name


def described(
    results: Results, wanted: Sequence[tuple[str, int, frozenset[str]]]
) -> dict[tuple[str, int, frozenset[str]], Row]:
    """Describe those of some variants that a study has, by chromosome, position and alleles."""
    associations, found = _associations(results), {}
    for chromosome, position, alleles in dict.fromkeys(wanted):
        part = associations.within(_code(results, chromosome), position, position)
        for row in loci.describe(associations, part):
            if frozenset((row["a1"], row["a2"])) == alleles:
                found[chromosome, position, alleles] = row
    return found


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


def _associations(results: Results) -> Associations:
    _require(results)
    return Associations(results.kept_columns, results.plan)


def _stored(results: Results, name: str) -> bytes:
    _require(results)
    try:
        return results.here(name).read_bytes()
    except FileNotFoundError:
        raise Missing("no-pictures", "The pictures of this study are lost.", "See its files.") from None


def _require(results: Results) -> None:
    """Missing, unless the study has pictures."""
    if results.plan.of_tables:
        raise Missing("no-pictures", "A study of tables has no pictures.", "See its result files.")
    if not results.columns:
        raise Missing("no-pictures", "This study has no pictures yet.", "Wait until it is done.")
    if not there_are(results):
        raise Missing(
            "no-pictures", "This study counts, and tests nothing: there is nothing to draw.", "See its files."
        )
