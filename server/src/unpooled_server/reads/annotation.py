"""Reference data on a genome, shown beside a study's results: its genes, and where it recombines.

HOME/reference/<build>.genes.tsv.gz           the operator's own genes, before those that come along
              /<build>.recombination.npz      rates in cM/Mb, if the operator has given any
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from unpooled.errors import UnpooledError
from unpooled.formats.genes import read_gtf, read_table, write_table
from unpooled.formats.genetic_map import read_genetic_maps
from unpooled.panel.builds import known_build
from unpooled.panel.chromosomes import HUMAN
from unpooled.pictures.genes import FEW, Genes
from unpooled.plan.plan import Plan
from unpooled_server.storage.files import whole_file

POINTS = 1_000
"""Maximum number of points of a line of recombination rates."""

_BUILD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_NO_GENES = Genes((), "")

Row = dict[str, Any]


def build_of(plan: Plan) -> str:
    """The name under which a plan's genome build is kept; empty where no file could have it."""
    known = known_build(plan.build) if plan.autosomes == HUMAN else None
    name = known or plan.build
    return name if _BUILD.fullmatch(name) else ""


def genes(plan: Plan) -> Genes:
    """The genes of a plan's build; none where nobody has given any."""
    build = build_of(plan)
    if not build:
        return _NO_GENES
    name = f"{build}.genes.tsv.gz"
    own = _folder() / name
    if own.exists():
        return _read(own, own.stat().st_mtime_ns)
    with resources.as_file(resources.files("unpooled_server") / "reference" / name) as shipped:
        return _read(shipped, 0) if shipped.exists() else _NO_GENES


def nearest(known: Genes, row: dict[str, Any]) -> dict[str, Any]:
    """The gene next to a variant, and the base pairs to it, as the API tells them."""
    gene, away = known.next_to(row["chromosome"], row["position"])
    return {"gene": gene, "gene_distance": away}


# By the time of its last change, too: an operator's new file counts at once.
@lru_cache(maxsize=4)
def _read(path: Path, _changed: int) -> Genes:
    return Genes(*read_table(path))


def around(plan: Plan, chromosome: str, first: int, last: int) -> Row:
    """Genes and recombination of a region, for JSON."""
    known = genes(plan)
    found = known.within(chromosome, first, last)
    return {
        "build": build_of(plan) or plan.build,
        "chromosome": chromosome,
        "genes_source": known.source,
        "count": len(found),
        "genes": [
            {name: getattr(gene, name) for name in ("name", "start", "end", "strand", "kind")}
            for gene in (found if len(found) <= FEW else ())
        ],
        "recombination": _recombination(build_of(plan), chromosome, first, last),
    }


def _recombination(build: str, chromosome: str, first: int, last: int) -> Row | None:
    """Rates of a region; of a long one the highest of each of `POINTS` parts."""
    path = _folder() / f"{build}.recombination.npz"
    try:
        with np.load(path, allow_pickle=False) as kept:
            position, rate = kept[f"position-{chromosome}"], kept[f"rate-{chromosome}"]
    except (FileNotFoundError, KeyError):
        return None
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UnpooledError(f"{path}: the file is damaged. Import the genetic map again.") from error
    # From the last place before the region on: its rate reaches into it.
    start = max(int(np.searchsorted(position, first, "right")) - 1, 0)
    stop = int(np.searchsorted(position, last, "right"))
    position, rate = position[start:stop], rate[start:stop]
    if len(position) > POINTS:
        edges = np.linspace(0, len(position), POINTS + 1).astype(int)[:-1]
        position, rate = position[edges], np.maximum.reduceat(rate, edges)
    return {"position": np.maximum(position, first).tolist(), "rate": np.round(rate, 3).tolist()}


def import_genes(build: str, file: Path, source: str) -> int:
    """Keep the genes of a GTF for a build, in place of those that were there. How many there are."""
    found = read_gtf(file)
    with whole_file(_folder() / f"{_kept_build(build)}.genes.tsv.gz") as out:
        write_table(out, found, source or file.name)
    return len(found)


def import_recombination(build: str, files: Sequence[Path]) -> int:
    """Keep the rates of genetic maps for a build. How many positions there are."""
    rates = read_genetic_maps(files)
    columns: dict[str, np.ndarray] = {}
    for name, (position, rate) in rates.items():
        columns |= {f"position-{name}": position, f"rate-{name}": rate}
    with whole_file(_folder() / f"{_kept_build(build)}.recombination.npz") as out:
        np.savez_compressed(out, allow_pickle=False, **columns)
    return sum(len(position) for position, _ in rates.values())


def _kept_build(name: str) -> str:
    if not _BUILD.fullmatch(name):
        raise UnpooledError(f"got {name[:40]!r} as the build; want a name such as GRCh37 or GRCh38.")
    return name


def _folder() -> Path:
    return Path(settings.UNPOOLED_HOME) / "reference"
