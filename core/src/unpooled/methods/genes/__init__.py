"""Tests of sets of variants, such as those of a gene: burden, SKAT, SKAT-O and ACAT-V."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from unpooled.asking.question import Arrays, Question
from unpooled.asking.sizes import Sizes
from unpooled.formats.plink import Variants
from unpooled.formats.regenie import write_regenie
from unpooled.formats.table import Column, Name, Real, Text, write_table
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod, Wording
from unpooled.methods.genes.options import ANNOTATIONS, MASKS, MAX_MAF, SET_LIST, SET_WEIGHTS, sets_of
from unpooled.methods.genes.procedure import test_sets
from unpooled.methods.genes.questions import (
    VARIANTS_AT_ONCE,
    CountDosages,
    CountGenotypes,
    CountRare,
    FitCovariates,
    SumColumns,
    SumSets,
)
from unpooled.methods.genes.result import REASONS, TABLE, shown
from unpooled.methods.genes.sets import MOST_SETS
from unpooled.methods.genes.tests import TESTS
from unpooled.methods.purpose import Purpose
from unpooled.methods.regression.beginning import BEFORE_GENOTYPES
from unpooled.methods.shared import summary
from unpooled.methods.shared.options import OF_DOSAGES, RINT
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import (
    BY_PLACE,
    COHORT_SUMS,
    COMPONENTS,
    CONDITION,
    COVARIATES,
    FILTERS,
    ITERATION,
    SEVERAL,
    SEXES,
)
from unpooled.plan.plan import Plan

FILE, VARIANTS_FILE = "regenie", "set-variants"


def _write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    sets = [(each.chromosome, each.position, each.title, each.mask) for each in sets_of(plan)]
    names = ("reason", "columns", "collapsed", "left_out")
    extra = [
        REASONS[reason] or f"VARIANTS={alone};COLLAPSED={collapsed};LEFT_OUT={left_out}"
        for reason, alone, collapsed, left_out in zip(
            *(columns[name][:].tolist() for name in names), strict=True
        )
    ]
    write_regenie(out, sets, TESTS, columns, extra)


def _write_variants(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write a line for each variant that is in sets, with its rarer allele, and where it counts."""
    variants = Variants(panel, columns, (b"alone", b"collapsed"))

    def block(part: slice) -> list[Column]:
        return [
            Name("ID", 0, variants.name(part).values),
            Text("A1", 0, variants.a1(part).values),
            Real("A1FREQ", 0, columns["a1_freq"][part], digits=6),
            Text("COLUMN", 0, variants.labels + columns["collapsed"][part].astype(np.int64)),
        ]

    write_table(out, len(variants), block, variants.pool, separator=b"\t")


def _rules(plan: Plan) -> dict[str, str]:
    found = {} if SET_LIST.of(plan) else {SET_LIST.name: f"want {SET_LIST.words}"}
    if plan.masking != "modular":
        found["masking"] = "modular only: normal noise would take the digits that the tests need"
    return found


@dataclass(frozen=True, kw_only=True)
class _OfSets(VariantMethod):
    def chunk_of(self, plan: Plan, asks: Sequence[type[Question]]) -> int:
        """Return the plan's size of chunks, or else as many variants as are summed at once."""
        return plan.chunk_size or VARIANTS_AT_ONCE

    def most_bytes(self, plan: Plan, sizes: Sizes) -> int:
        return MOST_SETS * len(TESTS) * _LINE


_LINE = 1 << 10
"""Bytes of a line, generously."""

GENE_TESTS = _OfSets(
    name="gene-tests",
    title="Tests of sets of variants",
    purpose=Purpose.ASSOCIATION,
    method="The variants of each set were tested together by burden, SKAT, SKAT-O and ACAT-V; those that too "
    "few people carried were collapsed into one.",
    traits=("quantitative", "case/control"),
    asks=(
        *BEFORE_GENOTYPES,
        SumColumns,
        FitCovariates,
        CountDosages,
        CountGenotypes,
        CountRare,
        SumSets,
    ),
    procedure=test_sets,
    files={FILE: _write, VARIANTS_FILE: _write_variants},
    usual_files=(FILE, VARIANTS_FILE),
    about_files={
        FILE: AboutFile("Tests of sets", ".regenie, as regenie's step 2 writes them"),
        VARIANTS_FILE: AboutFile("Variants of the sets", ".set-variants, and which were collapsed"),
    },
    options=(
        *SEVERAL,
        SET_LIST,
        ANNOTATIONS,
        MASKS,
        MAX_MAF,
        SET_WEIGHTS,
        RINT,
        COVARIATES,
        CONDITION,
        COMPONENTS,
        COHORT_SUMS,
        SEXES,
        BY_PLACE,
        *OF_DOSAGES,
        *FILTERS,
        *ITERATION,
    ),
    table=TABLE,
    columns=lambda file, tables: tables[TABLE if file == FILE else summary.VARIANTS],
    shown=shown,
    cost=Cost(1e-3, lambda columns: 16e-9, 40e-9),
    rules=_rules,
    wording=Wording("The association of sets of variants with", "was tested", "in the sets"),
)
