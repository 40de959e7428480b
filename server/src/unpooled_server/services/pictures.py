"""What people look at when a study has ended, reduced once and kept beside its result columns."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from unpooled.memory import give_back_what_is_free
from unpooled.pictures import loci, lookup, manhattan
from unpooled.pictures.associations import Associations
from unpooled.pictures.quantiles import quantiles
from unpooled_server import store
from unpooled_server.models import Study

TESTED = "neg_log10_p"
"""The result column without which there is nothing to draw: the plan may have asked for counts alone."""

MANHATTAN, QUANTILES, LOCI, IDS = "manhattan.json.gz", "qq.json.gz", "loci.json", "ids.npy"


def draw(study: Study, columns: Sequence[str]) -> None:
    """Keep the pictures of a study whose result columns are kept. They are never changed again."""
    associations = Associations(store.kept_columns(study.pk, study.results_folder, columns), study.plan)
    found = loci.table(associations)
    _keep(study, LOCI, _json(found))
    _keep(study, MANHATTAN, _packed(manhattan.overview(associations, [row["index"] for row in found])))
    _keep(study, QUANTILES, _packed(quantiles(associations)))
    with store.whole_file(store.picture_path(study.pk, study.results_folder, IDS)) as out:
        np.save(out, lookup.index(associations.columns["id"]), allow_pickle=False)
    give_back_what_is_free()


def _keep(study: Study, name: str, data: bytes) -> None:
    store.keep_bytes(store.picture_path(study.pk, study.results_folder, name), data)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _packed(value: Any) -> bytes:
    return gzip.compress(_json(value), mtime=0)
