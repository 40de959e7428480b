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
from unpooled.methods.shared import summary
from unpooled.pictures import linkage, loci, lookup, manhattan
from unpooled.pictures.associations import Associations
from unpooled.pictures.quantiles import quantiles
from unpooled_server.reads.pictures import IDS, LINKAGE, LOCI, MANHATTAN, QUANTILES
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
    if (compared := tables.get(leads.LINKAGE)) is not None:
        tested = tables[summary.VARIANTS]["variant"][:]
        known = linkage.pairs({name: compared[name][:] for name in compared}, tested)
        with store.whole_file(results.path(LINKAGE)) as out:
            np.save(out, known, allow_pickle=False)
    give_back_what_is_free()
    return Pictures(overview, curves, found)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _packed(value: Any) -> bytes:
    return gzip.compress(_json(value), mtime=0)
