"""Data of the pictures that people see when a study has ended, reduced once and kept beside its columns."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.described.report import Pictures
from unpooled.memory.allocator import give_back_what_is_free
from unpooled.methods.ld import leads
from unpooled.methods.regression import credible_sets
from unpooled.methods.shared import summary
from unpooled.pictures import credible, linkage, loci, lookup, manhattan
from unpooled.pictures.associations import Associations
from unpooled.pictures.quantiles import quantiles
from unpooled_server.reads.pictures import CREDIBLE, IDS, LINKAGE, LOCI, MANHATTAN, QUANTILES
from unpooled_server.reads.result_columns import Results
from unpooled_server.storage import store


def draw(results: Results, tables: Mapping[str, Arrays]) -> Pictures:
    """Keep the pictures of results whose columns are kept. They are never changed."""
    associations = Associations(results.kept_columns, results.plan)

    def keep(name: str, data: bytes) -> None:
        store.keep_bytes(results.path(name), data)

    found = loci.table(associations)
    keep(LOCI, _json(found))
    overview = manhattan.overview(associations, [row["index"] for row in found])
    keep(MANHATTAN, _packed(overview))
    curves = quantiles(associations)
    keep(QUANTILES, _packed(curves))
    with store.whole_file(results.path(IDS)) as out:
        np.save(out, lookup.index(associations.columns["id"]), allow_pickle=False)
    for name, table, made in _AROUND_LEADS:
        if (known := tables.get(table)) is not None:
            tested = tables[summary.VARIANTS]["variant"][:]
            with store.whole_file(results.path(name)) as out:
                np.save(out, made({column: known[column][:] for column in known}, tested), allow_pickle=False)
    give_back_what_is_free()
    return Pictures(overview, curves, found)


_AROUND_LEADS = (
    (LINKAGE, leads.LINKAGE, linkage.pairs),
    (CREDIBLE, credible_sets.TABLE, credible.probabilities),
)
"""Files about variants around leads, the result tables that they are of, and what makes the file."""


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _packed(value: Any) -> bytes:
    return gzip.compress(_json(value), mtime=0)
