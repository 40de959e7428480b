"""A study that prunes: which variants remain, as PLINK 2 writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from unpooled.asking.procedure import Asks, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod, Wording
from unpooled.methods.ld.options import INDEP_PAIRWISE, PRUNING
from unpooled.methods.ld.pruning import candidates, count_founders, pruned
from unpooled.methods.ld.questions import PRUNING_ASKS
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared import summary
from unpooled.methods.shared.chunks import chunks_of
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import BY_PLACE, GENO, HWE, MAF, SEXES
from unpooled.plan.plan import Plan
from unpooled.plan.templates import QUALITY, Template

IN, OUT = "prune.in", "prune.out"
_REMOVED = "removed"
"""The result table of variants that were pruned: `variant`."""


@procedure("prune")
def prune_only(study: Study) -> Asks[None]:
    """Prune, and report what remains and what does not."""
    founders = yield from count_founders(study)
    yield summary.pool(int(founders.sum(dtype=np.int64)))
    compared = yield from candidates(study, founders, chunks_of(study))
    kept = yield from pruned(study, founders, compared)
    every = np.concatenate([np.zeros(0, np.uint32), *(each.variants for each in compared)])
    yield Rows(summary.VARIANTS, {"variant": kept})
    yield Rows(_REMOVED, {"variant": np.setdiff1d(every, kept)})


def write_names(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the IDs of variants, one a line."""
    out.write(b"".join(name + b"\n" for name in panel.name[columns["variant"][:]].tolist()))


def _columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    return tables[summary.VARIANTS if file == IN else _REMOVED]


FILTERS = (GENO, HWE, MAF)

PRUNE = VariantMethod(
    name="prune",
    title="LD pruning",
    purpose=Purpose.STRUCTURE,
    method="Of variants that are in linkage disequilibrium one was kept.",
    traits=("quantitative",),
    asks=PRUNING_ASKS,
    procedure=prune_only,
    files={IN: write_names, OUT: write_names},
    usual_files=(IN, OUT),
    about_files={
        IN: AboutFile("Variants that remain", ".prune.in, for PLINK's --extract"),
        OUT: AboutFile("Variants that were pruned", ".prune.out"),
    },
    options=(*PRUNING, SEXES, BY_PLACE, *FILTERS),
    templates=(
        Template(
            "prune",
            "LD pruning with QC",
            "Usual filters of variants, and one of each group in linkage: a list for PLINK's --extract.",
            {option: QUALITY[option] for option in FILTERS},
        ),
    ),
    cost=Cost(20e-6, lambda columns: 0.2e-9),
    columns=_columns_of,
    rules=lambda plan: (
        {} if INDEP_PAIRWISE.of(plan) else {INDEP_PAIRWISE.name: "want " + INDEP_PAIRWISE.words}
    ),
    needs_phenotype=False,
    wording=Wording("Variants", "were pruned", "kept"),
)
