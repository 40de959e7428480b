"""One simulated study: from the request to the files."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.errors import UnpooledError
from unpooled.simulate import files, genotypes, oddities
from unpooled.simulate.genotypes import HET, HOM_A, HOM_B, NO_CALL, Thresholds, WordStream
from unpooled.simulate.people import People, Rates, draw_people, quantitative_trait
from unpooled.simulate.request import CASE_CONTROL, Request, check
from unpooled.simulate.variants import Variants, draw_variants

#: About so many genotypes are held at once, whatever the size of the study.
_BLOCK_GENOTYPES = 1 << 21

#: Shares that `oddities=True` adds.
_ODD_RATES = {"sex_unknown": 0.01, "missing_covariate": 0.01, "one_parent": 0.3}
_HET_HAPLOID_VARIANTS, _HET_HAPLOID_CALLS = 0.2, 0.01


@dataclass(frozen=True)
class SimulationReport:
    """Files written by a simulation. Paths of cohorts and of the pooled data are prefixes of .bed, .bim,
    .fam.
    """

    cohorts: tuple[Path, ...]
    samples: tuple[int, ...]
    pooled: Path | None
    phenotypes: tuple[Path, ...]  # one .pheno per cohort; empty if phenotypes are in the .fam files
    covariates: tuple[Path, ...]  # one .cov per cohort; empty without covariates
    truth: Path
    variants: int  # drawn; a cohort that lacks some has fewer
    kept: int  # variants of the pooled data
    planted: tuple[str, ...]  # IDs of the variants with an effect


def simulate(
    out: Path,
    *,
    cohorts: int | Sequence[int] = 3,
    samples: int = 500,
    variants: int = 5_000,
    seed: int = 1,
    case_fractions: float | Sequence[float] = 0.5,
    missing_rate: tuple[float, float] = (0.0, 0.01),
    missing_phenotype_rate: float = 0.0,
    nonfounder_rate: float = 0.0,
    oddities: bool = False,
    effects: Sequence[float] = (),
    trait: str = CASE_CONTROL,
    covariates: int = 0,
    autosomes: int = 22,
    sex_chromosomes: bool = False,
    phenotype_files: bool = False,
    pooled: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationReport:
    """Write the files of a simulated study to the folder `out`, which is made if need be.

    cohorts            the number of cohorts (of `samples` each), or the number of samples of each
    case_fractions     share of cases, one for all cohorts or one for each
    missing_rate       share of the variants with missing calls, and the mean share of missing calls in those
    effects            one planted variant each: odds ratio per copy of the effect allele, or, for a
                       quantitative trait, change per copy in units of the trait's standard deviation
    oddities           plant everything that is odd in real files; needs at least 300 variants
    phenotype_files    phenotypes in `.pheno` files; the .fam files then have -9
    pooled             also write the pooled data
    progress           called with the number of variants written and of all

    The same arguments give the same bytes. Raises UnpooledError for arguments that cannot be met; then
    nothing is left behind. Existing files of the same names are replaced.
    """
    sizes = (samples,) * cohorts if isinstance(cohorts, int) else tuple(cohorts)
    fractions = (case_fractions,) * len(sizes) if isinstance(case_fractions, (int, float)) else case_fractions
    request = Request(
        sizes=sizes,
        variants=variants,
        seed=seed,
        case_fractions=tuple(fractions),
        missing=missing_rate,
        missing_phenotype_rate=missing_phenotype_rate,
        nonfounder_rate=nonfounder_rate,
        oddities=oddities,
        effects=tuple(effects),
        trait=trait,
        covariates=covariates,
        autosomes=autosomes,
        sex_chromosomes=sex_chromosomes,
        phenotype_files=phenotype_files,
        pooled=pooled,
    )
    check(request)
    with _whole(out) as draft:
        study = _Study(request)
        study.write(draft, progress or (lambda done, total: None))
    return study.report(out)


@contextlib.contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A folder whose files come to `out` together, if nothing goes wrong."""
    out.mkdir(parents=True, exist_ok=True)
    draft = out / ".unfinished"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        yield draft
        for file in sorted(draft.iterdir()):
            file.replace(out / file.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class _Study:
    """Everything that is small enough to be held; genotypes are drawn block by block in `write`."""

    def __init__(self, request: Request) -> None:
        self.request = request
        root = np.random.SeedSequence(request.seed)
        main, self._special_seed, *streams = root.spawn(2 + len(request.sizes))
        rng = np.random.default_rng(main)
        self._streams = [WordStream(seed) for seed in streams]
        self.variants = self._draw_variants(rng)
        self.people = [self._draw_people(rng, k) for k in range(len(request.sizes))]
        self._planted = [self._draw_planted(rng, k) for k in range(len(request.sizes))]
        self.phenotypes = [self._phenotype_texts(rng, k) for k in range(len(request.sizes))]
        self.left_out = oddities.left_out(self.variants)
        kept = np.ones(len(self.variants), dtype=bool)
        kept[list(self.left_out)] = False
        self.kept = np.flatnonzero(kept)
        self._bims = [self._bim(rng, k) for k in range(len(request.sizes))]

    # What is drawn before the genotypes

    def _draw_variants(self, rng: np.random.Generator) -> Variants:
        request = self.request
        try:
            variants = draw_variants(
                rng,
                cohorts=len(request.sizes),
                count=request.variants,
                autosomes=request.autosomes,
                sex_chromosomes=request.sex_chromosomes,
                missing=request.missing,
                effects=len(request.effects),
                oddities=request.oddities,
            )
        except ValueError as error:
            raise UnpooledError(f"simulate: {error}; ask for more variants or fewer effects.") from error
        if request.oddities:
            oddities.plant_oddities(rng, variants)
        return variants

    def _draw_people(self, rng: np.random.Generator, cohort: int) -> People:
        request = self.request
        rates = Rates(
            case=request.case_fractions[cohort] if request.trait == CASE_CONTROL else 0.0,
            missing_phenotype=request.missing_phenotype_rate,
            nonfounder=request.nonfounder_rate,
            **(_ODD_RATES if request.oddities else {}),
        )
        return draw_people(rng, cohort + 1, request.sizes[cohort], rates, request.covariates)

    def _draw_planted(self, rng: np.random.Generator, cohort: int) -> np.ndarray:
        """Codes (effects, n) of the variants with an effect, which depend on who is a case."""
        case = self.people[cohort].case
        rows = [np.zeros((0, len(case)), dtype=np.uint8)]
        for variant, effect in zip(self.variants.planted, self.request.effects, strict=True):
            control = self.variants.frequency[cohort, variant]
            odds = control / (1 - control) * (effect if self.request.trait == CASE_CONTROL else 1.0)
            frequency = np.where(case, odds / (1 + odds), control)
            copies = rng.binomial(2, frequency)
            rows.append(np.array([HOM_B, HET, HOM_A], dtype=np.uint8)[copies][None, :])
        return np.concatenate(rows)

    def _phenotype_texts(self, rng: np.random.Generator, cohort: int) -> list[str]:
        people = self.people[cohort]
        if self.request.trait == CASE_CONTROL:
            texts = np.where(people.case, "2", "1").astype(object)
        else:
            copies = np.array([2, 0, 1, 0])[self._planted[cohort]]
            value = quantitative_trait(rng, people, np.asarray(self.request.effects) @ (copies - 1.0))
            texts = np.array([f"{x:.6g}" for x in value], dtype=object)
        texts[people.phenotype_missing] = "-9"
        if self.request.oddities:
            some = np.flatnonzero(people.phenotype_missing)[::3]
            texts[some] = "0" if self.request.trait == CASE_CONTROL else "NA"
        listed: list[str] = texts.tolist()
        return listed

    def _bim(self, rng: np.random.Generator, cohort: int) -> tuple[files.Bim, np.ndarray]:
        """The cohort's .bim, and for every variant its row there, -1 where it is absent."""
        v = self.variants
        a1, a2 = v.alleles(cohort)
        every = files.Bim(v.chromosome, v.positions(cohort), v.names(cohort), a1, a2)
        # Variants at one place may stand in any order in a real file.
        order = np.lexsort((rng.random(len(v)), every.position, every.chromosome))
        order = order[v.present[cohort, order]]
        rows = np.full(len(v), -1)
        rows[order] = np.arange(len(order))
        return every.take(order), rows

    # Writing

    def write(self, folder: Path, progress: Callable[[int, int], None]) -> None:
        self._write_texts(folder)
        with contextlib.ExitStack() as stack:
            beds = [
                stack.enter_context(files.BedWriter(folder / f"cohort{k}.bed", n))
                for k, n in enumerate(self.request.sizes, start=1)
            ]
            pooled = None
            if self.request.pooled:
                pooled = stack.enter_context(files.BedWriter(folder / "pooled.bed", sum(self.request.sizes)))
            self._write_genotypes(beds, pooled, progress)

    def _write_genotypes(
        self,
        beds: list[files.BedWriter],
        pooled: files.BedWriter | None,
        progress: Callable[[int, int], None],
    ) -> None:
        sizes, total = self.request.sizes, len(self.variants)
        rng = np.random.default_rng(self._special_seed)
        pooled_row = np.full(total, -1)
        pooled_row[self.kept] = np.arange(len(self.kept))
        pooled_swapped = self.variants.pooled_swapped()
        step = max(16, _BLOCK_GENOTYPES // sum(sizes))
        for start in range(0, total, step):
            at = np.arange(start, min(start + step, total))
            packed = self._draw_block(rng, at)
            for k, (bed, rows) in enumerate(zip(beds, packed, strict=True)):
                _write_rows(bed, self._bims[k][1][at], rows, self.variants.swapped[k, at], sizes[k])
            if pooled is not None:
                everyone = genotypes.side_by_side(packed, list(sizes))
                _write_rows(pooled, pooled_row[at], everyone, pooled_swapped[at], sum(sizes))
            progress(int(at[-1]) + 1, total)

    def _draw_block(self, rng: np.random.Generator, at: np.ndarray) -> list[np.ndarray]:
        """Packed rows of the variants `at` (00 = two copies of allele a), one array per cohort."""
        v, packed = self.variants, []
        for k, people in enumerate(self.people):
            limits = Thresholds.diploid(v.frequency[k, at, None], v.missing[at, None])
            rows = genotypes.draw_packed(self._streams[k], len(people.name), limits)
            self._draw_haploid(rng, k, at, rows)
            where = np.flatnonzero(np.isin(v.planted, at))
            rows[v.planted[where] - at[0]] = genotypes.pack(self._planted[k][where])
            uncalled = np.flatnonzero(v.uncalled[k, at])
            rows[uncalled] = genotypes.pack(
                np.full((len(uncalled), len(people.name)), NO_CALL, dtype=np.uint8)
            )
            packed.append(rows)
        self._balance(at, packed)
        return packed

    def _draw_haploid(self, rng: np.random.Generator, cohort: int, at: np.ndarray, rows: np.ndarray) -> None:
        """Replace the rows on X, Y and MT: one copy in men (X, Y) or in all (MT), no calls on Y in women."""
        v, people = self.variants, self.people[cohort]
        everyone, men = np.ones(len(people.name), dtype=bool), people.sex == 1
        for label, single in (("X", men), ("Y", men), ("MT", everyone)):
            here = np.flatnonzero(v.chromosome[at] == v.sex_code[label])
            if here.size == 0:
                continue
            arguments = v.frequency[cohort, at[here], None], v.missing[at[here], None]
            limits = Thresholds.haploid(*arguments).where(single, Thresholds.diploid(*arguments))
            codes = genotypes.draw_codes(self._streams[cohort], len(single), limits)
            stray = np.zeros(codes.shape, dtype=bool)
            if self.request.oddities:
                odd = rng.random(len(here)) < _HET_HAPLOID_VARIANTS
                stray = odd[:, None] & (rng.random(codes.shape) < _HET_HAPLOID_CALLS)
            if label == "Y":
                codes[:, ~men] = np.where(stray[:, ~men], codes[:, ~men], NO_CALL)
            codes[stray & single & (codes != NO_CALL)] = HET
            rows[here] = genotypes.pack(codes)

    def _balance(self, at: np.ndarray, packed: list[np.ndarray]) -> None:
        """Make both alleles of the tied variants equally frequent, among founders and among the others."""
        tied = self.variants.kinds.get(oddities.TIED, np.zeros(0, dtype=np.int64))
        founder = np.concatenate([people.founder for people in self.people])
        ends = np.cumsum([0, *self.request.sizes])
        for row in tied[np.isin(tied, at)] - at[0]:
            parts = [
                genotypes.unpack(p[row : row + 1], n) for p, n in zip(packed, self.request.sizes, strict=True)
            ]
            codes = np.concatenate(parts, axis=1)[0]
            for group in (np.flatnonzero(founder), np.flatnonzero(~founder)):
                _even_out(codes, group)
            for k, rows in enumerate(packed):
                rows[row] = genotypes.pack(codes[None, ends[k] : ends[k + 1]])[0]

    def _write_texts(self, folder: Path) -> None:
        request, v = self.request, self.variants
        styles = ("numbers", "letters", "chr") if request.oddities else ("numbers",)
        in_fam = [["-9"] * len(t) for t in self.phenotypes] if request.phenotype_files else self.phenotypes
        for k, (bim, _) in enumerate(self._bims):
            name, odd = f"cohort{k + 1}", request.oddities and k % 2 == 1
            labels = files.chromosome_labels(request.autosomes, styles[k % len(styles)])
            bim.write(folder / f"{name}.bim", labels, " " if odd else "\t")
            files.write_fam(folder / f"{name}.fam", [self.people[k]], [in_fam[k]], "\t" if odd else " ")
            self._write_tables(folder / name, [k])
        if request.pooled:
            a1, a2 = v.pooled_alleles()
            every = files.Bim(v.chromosome, v.position, v.name, a1, a2)
            every.take(self.kept).write(
                folder / "pooled.bim", files.chromosome_labels(request.autosomes, "numbers")
            )
            files.write_fam(folder / "pooled.fam", self.people, in_fam)
            self._write_tables(folder / "pooled", list(range(len(self.people))))
        (folder / "truth.json").write_text(json.dumps(self.truth(), indent=1) + "\n", encoding="ascii")

    def _write_tables(self, prefix: Path, cohorts: list[int]) -> None:
        people, odd = [self.people[k] for k in cohorts], self.request.oddities
        if self.request.phenotype_files:
            texts = [self.phenotypes[k] for k in cohorts]
            files.write_table(prefix.with_suffix(".pheno"), people, ["TRAIT"], texts, odd)
        if self.request.covariates:
            texts = [files.covariate_texts(some) for some in people]
            files.write_table(
                prefix.with_suffix(".cov"), people, files.covariate_header(people[0]), texts, odd
            )

    # What was planted

    def truth(self) -> dict[str, Any]:
        """The content of truth.json."""
        v, request = self.variants, self.request
        a1 = v.pooled_alleles()
        swapped = v.pooled_swapped()
        effect_allele = np.where(swapped, a1[1], a1[0])
        shown = self._shown_names()
        return {
            "seed": request.seed,
            "trait": request.trait,
            "cohorts": [
                {
                    "name": f"cohort{k + 1}",
                    "samples": len(people.name),
                    "cases": int((people.case & ~people.phenotype_missing).sum()),
                    "missing_phenotypes": int(people.phenotype_missing.sum()),
                    "nonfounders": int((~people.founder).sum()),
                    "sex_unknown": int(people.sex_unknown.sum()),
                }
                for k, people in enumerate(self.people)
            ],
            "variants": len(v),
            "kept": len(self.kept),
            "planted": [
                {
                    "id": v.name[i].decode(),
                    "chromosome": int(v.chromosome[i]),
                    "position": int(v.position[i]),
                    "effect_allele": effect_allele[i].decode(),
                    "odds_ratio" if request.trait == CASE_CONTROL else "effect": effect,
                }
                for i, effect in zip(v.planted.tolist(), request.effects, strict=True)
            ],
            "oddities": {kind: [shown[i] for i in at.tolist()] for kind, at in v.kinds.items()},
            "left_out": [
                {
                    "id": shown[i],
                    "chromosome": int(v.chromosome[i]),
                    "position": int(v.position[i]),
                    "why": why,
                }
                for i, why in sorted(self.left_out.items())
            ],
        }

    def _shown_names(self) -> list[str]:
        """The ID that the cohorts show where they agree on it, else the variant's own."""
        each = np.stack([self.variants.names(k) for k in range(len(self.people))])
        names: list[str] = (
            np.where((each == each[0]).all(axis=0), each[0], self.variants.name).astype(str).tolist()
        )
        return names

    def report(self, out: Path) -> SimulationReport:
        request = self.request
        prefixes = tuple(out / f"cohort{k}" for k in range(1, len(request.sizes) + 1))
        return SimulationReport(
            cohorts=prefixes,
            samples=request.sizes,
            pooled=out / "pooled" if request.pooled else None,
            phenotypes=tuple(p.with_suffix(".pheno") for p in prefixes) if request.phenotype_files else (),
            covariates=tuple(p.with_suffix(".cov") for p in prefixes) if request.covariates else (),
            truth=out / "truth.json",
            variants=len(self.variants),
            kept=len(self.kept),
            planted=tuple(self.variants.name[self.variants.planted].astype(str).tolist()),
        )


def _write_rows(
    bed: files.BedWriter, rows: np.ndarray, packed: np.ndarray, swapped: np.ndarray, samples: int
) -> None:
    """Write the rows that the file has (row number not -1), with the alleles in the file's order."""
    packed = packed.copy()
    packed[swapped] = genotypes.exchange_alleles(packed[swapped], samples)
    here = rows >= 0
    bed.write(rows[here], packed[here])


def _even_out(codes: np.ndarray, group: np.ndarray) -> None:
    """Turn as many homozygotes of the commoner allele into heterozygotes as makes both equal, in place."""
    more = np.count_nonzero(codes[group] == HOM_A) - np.count_nonzero(codes[group] == HOM_B)
    common = HOM_A if more > 0 else HOM_B
    codes[group[codes[group] == common][: abs(more)]] = HET
