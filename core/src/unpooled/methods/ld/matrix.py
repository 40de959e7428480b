"""A study of one region: the correlation of every two of its variants in the pool, for fine-mapping.

As `plink2 --r-unphased square` has them: over founders, of the copies of the rarer alleles. A cohort is told
the correlations, and knows its own people's; so there must be enough others for so many variants.
"""

from __future__ import annotations

import zipfile
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, ClassVar, NoReturn

import numpy as np

from unpooled.asking.cohort import Cohort
from unpooled.asking.procedure import Asks, Finish, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count, Foreseen
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.formats.table import Pool, Real, write_table
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod, Wording
from unpooled.methods.ld import questions
from unpooled.methods.ld.candidates import Candidates
from unpooled.methods.ld.options import FEWEST_FOUNDERS, REGION, Region
from unpooled.methods.ld.prune import FILTERS, write_names
from unpooled.methods.ld.pruning import about_pairs, candidates, ends_of_parts
from unpooled.methods.ld.questions import CountGenotypes, CountOthers, SumPairs, of_size
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared import summary
from unpooled.methods.shared.chunks import DIPLOID, Chunk
from unpooled.methods.shared.without_any import ON_RUNGS, on_rungs, people_without_any
from unpooled.pages.page import Html, section, tag
from unpooled.panel.panel import Panel
from unpooled.pictures import matrix_svg
from unpooled.plan.common_options import BY_PLACE, MAF, SEXES
from unpooled.plan.plan import Plan
from unpooled.plan.templates import Template

MOST_VARIANTS = 2000
"""Largest number of variants of a matrix: it has 52 MB of text then."""
MOST_COUNTED = 50_000
"""Largest number of variants in a region before filters."""
PEOPLE_A_VARIANT, OTHERS_A_VARIANT = 10, 5
"""Smallest number of founders in the pool for each variant; and in the pool without any one cohort."""

MATRIX, NAMES, ARRAYS = "unphased.vcor1", "unphased.vcor1.vars", "npz"
_CORRELATIONS = "correlations"
"""The result table of every two variants, by `index` in the order of `numpy.triu_indices(m, 1)`: `r`."""
_BYTES_A_NUMBER = 32  # in all files together


@dataclass(frozen=True)
class CountFounders(questions.CountFounders, name="ld-matrix/founders"):
    """Asks for the number of founders, and about how many there are without any one cohort."""

    sends: ClassVar[tuple[Count, ...]] = (*questions.CountFounders.sends, ON_RUNGS)
    asked_if: ClassVar[Condition] = REGION.of

    def local(self, cohort: Cohort) -> Arrays:
        found = super().local(cohort)
        return {**found, ON_RUNGS.name: on_rungs(int(found["people"].sum()))}


@dataclass(frozen=True, eq=False)
class SumRegion(SumPairs, name="ld-matrix/pairs", title="Compare the variants of a region", ring_bits=64):
    """The same sums as for pruning, of every two variants and with more digits."""

    asked_if: ClassVar[Condition] = REGION.of
    only_server: ClassVar[Condition] = lambda plan: True

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee the largest matrix there may be."""
        whole, rest = divmod(MOST_VARIANTS * (MOST_VARIANTS - 1) // 2, questions.PAIRS_AT_ONCE)
        pairs = [*([questions.PAIRS_AT_ONCE] * whole), rest]
        return Foreseen([cls(**vars(of_size(each))) for each in pairs], exact=False)


@procedure("ld-matrix")
def correlate_region(study: Study) -> Asks[None]:
    """Count founders and genotypes; report how every two variants of the region that pass go together."""
    region = Region.read(REGION.of(study.plan))
    counted = yield CountFounders()
    founders = counted["people"]
    people = int(founders.sum(dtype=np.int64))
    yield summary.pool(people)
    compared = yield from candidates(study, founders, list(_chunks(study, region)))
    found = [each.some(each.varies) for each in compared]
    variants = sum(len(each.variants) for each in found)
    _check_size(study.plan, variants, people, people_without_any(study.plan, counted, people))
    yield Finish(correlate(study, found[0], founders))


def _chunks(study: Study, region: Region) -> Iterator[Chunk]:
    """The region's variants, which are neighbours in the panel, in chunks."""
    panel = study.panel
    inside = np.flatnonzero(
        (panel.chromosome[:] == region.chromosome)
        & (panel.position[:] >= region.first)
        & (panel.position[:] <= region.last)
    )
    if len(inside) > MOST_COUNTED:
        _refuse_region(f"the region has {len(inside):,} variants, and {MOST_COUNTED:,} is the most")
    for start in range(0, len(inside), study.plan.chunk_size):
        part = inside[start : start + study.plan.chunk_size].tolist()
        yield Chunk(part[0], part[-1] + 1, DIPLOID)


def _check_size(plan: Plan, variants: int, people: int, others: int) -> None:
    """Refuse a region with too few variants, or with too many for the people."""
    if variants < 2:
        _refuse_region("fewer than two variants of the region pass, and have enough carriers", _LARGER)
    if variants > MOST_VARIANTS:
        _refuse_region(f"{variants:,} variants of the region pass, and {MOST_VARIANTS:,} is the most")
    if plan.alone:
        return
    if people < max(FEWEST_FOUNDERS, PEOPLE_A_VARIANT * variants) or others < OTHERS_A_VARIANT * variants:
        _refuse_region(
            f"the pool has {people:,} founders, and {others:,} or more without any one cohort; a matrix of "
            f"{variants:,} variants would say much about each of them unless there are {FEWEST_FOUNDERS}, "
            f"{PEOPLE_A_VARIANT} for each variant, and {OTHERS_A_VARIANT} for each without any one cohort"
        )


_SMALLER = "Choose a smaller region, or leave out rarer variants."
_LARGER = "Choose a larger region, or keep rarer variants."


def _refuse_region(reason: str, remedy: str = _SMALLER) -> NoReturn:
    raise Refuse(REGION.name, reason, remedy)


@procedure("ld-matrix/correlate")
def correlate(study: Study, variants: Candidates, founders: np.ndarray) -> Asks[None]:
    """Ask how every two of these variants go together, and report it."""
    first, second = np.triu_indices(len(variants.variants), 1)
    people = float(founders.sum(dtype=np.int64))
    parts = []
    for part in np.split(np.arange(len(first)), ends_of_parts(first)):
        question, some, places = about_pairs(SumRegion, variants, founders, first[part], second[part])
        sums = yield question
        parts.append(some.correlation(*places, sums["products"], people))
    first_is_a1 = variants.total <= 0
    sign = np.where(first_is_a1, 1.0, -1.0)
    yield Rows(summary.VARIANTS, {"variant": variants.variants, "first_is_a1": first_is_a1})
    r = np.concatenate(parts) * sign[first] * sign[second]
    yield Rows(_CORRELATIONS, {"index": np.arange(len(r)), "r": r})


def _matrix(columns: Arrays) -> np.ndarray:
    """The whole matrix: float64 (m, m)."""
    found = np.eye(len(columns["variant"]))
    found[np.triu_indices(len(found), 1)] = columns["r"][:]
    return np.asarray(found + np.triu(found, 1).T)


def _write_matrix(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write a line for each variant, to six digits as PLINK does."""
    nothing, _ = Pool.of()
    for row in _matrix(columns):
        line = BytesIO()
        write_table(
            line,
            len(row),
            lambda part, row=row: [Real("", 0, row[part], digits=6)],  # type: ignore[misc]
            nothing,
            header_ending=b"",
            ending=b"\t",
        )
        out.write(line.getvalue()[:-1] + b"\n")


def _write_arrays(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write what `numpy.load` reads: `r`, float64 (m, m), and of each variant who it is."""
    variant, is_first = columns["variant"][:], columns["first_is_a1"][:]
    alleles = np.array([allele.decode() for allele in panel.alleles])
    one, two = alleles[panel.first[variant]], alleles[panel.second[variant]]
    arrays = {
        "r": _matrix(columns),
        "id": np.array([name.decode() for name in panel.name[variant].tolist()]),
        "chromosome": panel.chromosome[variant],
        "position": panel.position[variant],
        "a1": np.where(is_first, one, two),
        "a2": np.where(is_first, two, one),
    }
    made = BytesIO()  # an archive needs more of a file than that one can write to it
    with zipfile.ZipFile(made, "w") as packed:
        for name, array in arrays.items():
            np.lib.format.write_array(part := BytesIO(), array, allow_pickle=False)
            # Without the time of day that numpy.savez writes: the same results are the same bytes.
            packed.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), zipfile.ZIP_DEFLATED)
    out.write(made.getvalue())


def _columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    return ChainMap(tables[_CORRELATIONS], tables[summary.VARIANTS])  # type: ignore[arg-type]  # only read


def _shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """Draw the matrix, as a part of the report."""
    drawn = tag("figure", matrix_svg.matrix(_matrix(_columns_of(MATRIX, tables))))
    return section("How the variants go together", tag("p", _DRAWN), drawn)


_DRAWN = (
    "The darker a square, the larger is r² of its two variants; of many variants a square has the largest of "
    "several. Where dark squares stand together, variants tell of one another."
)


def _rules(plan: Plan) -> dict[str, str]:
    if not REGION.of(plan):
        return {REGION.name: "want " + REGION.words}
    if Region.read(REGION.of(plan)).chromosome > plan.autosomes:
        return {REGION.name: f"{REGION.of(plan)} is on no autosome: want one from 1 to {plan.autosomes}"}
    return {}


@dataclass(frozen=True, kw_only=True)
class _OfRegion(VariantMethod):
    def most_bytes(self, plan: Plan, sizes: Sizes) -> int:
        return super().most_bytes(plan, sizes) + MOST_VARIANTS**2 * _BYTES_A_NUMBER


LD_MATRIX = _OfRegion(
    name="ld-matrix",
    title="LD matrix of a region",
    purpose=Purpose.STRUCTURE,
    method="Of every two variants of a region the correlation of their allele counts was computed.",
    traits=("quantitative",),
    asks=(CountFounders, CountOthers, CountGenotypes, SumRegion),
    procedure=correlate_region,
    files={MATRIX: _write_matrix, NAMES: write_names, ARRAYS: _write_arrays},
    usual_files=(MATRIX, NAMES, ARRAYS),
    about_files={
        MATRIX: AboutFile("Correlations", ".unphased.vcor1, as of plink2's --r-unphased square"),
        NAMES: AboutFile("Variants of the matrix", ".unphased.vcor1.vars, an ID a line"),
        ARRAYS: AboutFile("The matrix for Python", ".npz, with all digits and the alleles that are counted"),
    },
    options=(REGION, SEXES, BY_PLACE, *FILTERS),
    templates=(
        Template(
            "ld-matrix",
            "LD matrix of a region",
            "How every two variants of a region go together in all cohorts: for fine-mapping by SuSiE or "
            "FINEMAP.",
            {MAF: 0.01},
        ),
    ),
    cost=Cost(1e-6, lambda columns: 0.0),
    columns=_columns_of,
    shown=_shown,
    rules=_rules,
    needs_phenotype=False,
    wording=Wording("Variants of a region", "were compared", "in the matrix"),
)
