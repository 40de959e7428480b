"""The PLINK files of a random federation: each cohort's in its own way, the pool's in the plainest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.simulate.files import chromosome_labels

from .models import indicators, standardised
from .study import Study

PHENOTYPE = "status"
PHENOTYPES = (PHENOTYPE, "second", "third")
_STYLES = ("numbers", "letters", "chr")
_CONTIG = "GL000192.1"
_MAGIC = b"\x6c\x1b\x01"


@dataclass(frozen=True)
class Tables:
    """The files of one cohort, or of the pool."""

    bfile: Path
    pheno: Path | None
    covar: Path | None


def write_cohort(study: Study, cohort: int, folder: Path) -> Tables:
    """A cohort's files as it alone would have them: variants in any order, people under short names."""
    random = np.random.default_rng([study.seed, cohort])
    v, here = study.variants, np.flatnonzero(study.people.cohort == cohort)
    rows = random.permutation(np.flatnonzero(v.written[cohort] != ""))
    swapped = v.swapped[cohort, rows]
    labels, blank = chromosome_labels(study.autosomes, _STYLES[cohort % 3]), " \t"[cohort % 2]
    bim = []
    for row, turned in zip(rows.tolist(), swapped.tolist(), strict=True):
        pair, position = study.pair(cohort, row), int(v.position[row] + v.moved[cohort, row])
        if study.small[cohort]:
            pair = (_small(pair[0]), _small(pair[1]))
        chromosome = _CONTIG if v.contig[cohort, row] else labels[int(v.chromosome[row])]
        name = str(v.written[cohort, row])
        bim.append(blank.join([chromosome, name, "0", str(position), *(pair[::-1] if turned else pair)]))
    prefix = folder / f"cohort{cohort + 1}"
    _write_genotypes(prefix, bim, v.copies[np.ix_(rows, here)], swapped)
    codes = ["-9", "NA"] if study.quantitative or study.zero_one[cohort] else ["-9", "0", "NA"]
    missing = random.choice(codes, len(here))
    phenotypes = [_phenotypes(each, here, bool(study.zero_one[cohort]), missing) for each in study.each]
    names = [("f", f"s{k}") for k in range(len(here))]
    return _write_people(study, prefix, here, names, phenotypes, _as_written(study))


def write_pool(study: Study, folder: Path) -> Tables:
    """The pooled files: the variants that a study keeps, in PLINK's order."""
    v, prefix = study.variants, folder / "pooled"
    rows, bim, turned = np.flatnonzero(study.kept), [], []
    for row in rows.tolist():
        a1, a2, second = study.pooled_pair(row)
        turned.append(second)
        bim.append(f"{v.chromosome[row]}\t{v.name[row]}\t0\t{v.position[row]}\t{a1}\t{a2}")
    everyone = np.arange(len(study.people.sex))
    _write_genotypes(prefix, bim, v.copies[rows], np.array(turned, bool))
    phenotypes = [_phenotypes(study, everyone, False, np.full(len(everyone), "-9"))]
    return _write_people(study, prefix, everyone, pool_names(study), phenotypes, columns(study))


def _small(allele: str) -> str:
    return allele.lower() if set(allele) <= set("ACGT") else allele


def pool_names(study: Study) -> list[tuple[str, str]]:
    """Family and own name of everybody in the pool."""
    return [(f"c{cohort + 1}", f"p{k}") for k, cohort in enumerate(study.people.cohort.tolist())]


def columns(study: Study) -> list[tuple[str, np.ndarray]]:
    """The covariates as the pool has them: a categorical one is a column for each level but the first, and so
    are cohorts that are apart."""
    found = []
    for name, values in zip(study.names, study.people.covariates.T, strict=True):
        if name not in study.levels:
            found.append((name, values))
        for k, level in list(enumerate(study.levels.get(name, ())))[1:]:
            found.append((f"{name}={level}", np.where(np.isnan(values), np.nan, values == k)))
    return [*standardised(study, found), *indicators(study)]


def _as_written(study: Study) -> list[tuple[str, np.ndarray]]:
    """The covariates as a cohort has them: levels are words."""
    found: list[tuple[str, np.ndarray]] = []
    for name, values in zip(study.names, study.people.covariates.T, strict=True):
        if name in study.levels:
            values = np.array([*study.levels[name], "NA"])[np.where(np.isnan(values), -1, values).astype(int)]
        found.append((name, values))
    return found


def _phenotypes(study: Study, who: np.ndarray, zero_one: bool, missing: np.ndarray) -> list[str]:
    shift = 0 if study.quantitative or zero_one else 1
    values = study.people.phenotype[who]
    return [str(m) if np.isnan(x) else _number(x + shift) for x, m in zip(values, missing, strict=True)]


def _number(value: float) -> str:
    return "NA" if np.isnan(value) else repr(float(value)).removesuffix(".0")


def _write_genotypes(prefix: Path, bim: Sequence[str], copies: np.ndarray, swapped: np.ndarray) -> None:
    prefix.with_suffix(".bim").write_text("".join(f"{line}\n" for line in bim))
    of_a1 = np.where(swapped[:, None] & (copies >= 0), 2 - copies, copies)
    packed = np.zeros((len(copies), -(-copies.shape[1] // 4) * 4), np.uint8)
    packed[:, : copies.shape[1]] = np.array([3, 2, 0, 1])[of_a1]  # 0, 1, 2 copies of A1, and -1
    quads = packed.reshape(len(packed), packed.shape[1] // 4, 4) << np.array([0, 2, 4, 6], np.uint8)
    prefix.with_suffix(".bed").write_bytes(_MAGIC + quads.sum(axis=2).astype(np.uint8).tobytes())


def _write_people(
    study: Study,
    prefix: Path,
    who: np.ndarray,
    names: Sequence[tuple[str, str]],
    phenotypes: Sequence[Sequence[str]],
    covariates: Sequence[tuple[str, np.ndarray]],
) -> Tables:
    """The .fam, and tables of phenotypes and of covariates if there are any."""
    people = study.people
    in_fam = ["-9"] * len(who) if study.pheno_file else phenotypes[0]
    rows = zip(names, people.founder[who], people.sex[who], in_fam, strict=True)
    fam = [f"{fid} {iid} {0 if own else 'dad'} 0 {sex} {code}\n" for (fid, iid), own, sex, code in rows]
    prefix.with_suffix(".fam").write_text("".join(fam))
    pheno = covar = None
    if study.pheno_file:
        pheno = prefix.with_suffix(".pheno")
        titles = PHENOTYPES[: len(phenotypes)]
        _write_table(pheno, names, titles, phenotypes, np.ones(len(who), bool))
    if covariates:
        covar = prefix.with_suffix(".cov")
        listed = people.listed[who] | (not study.names)  # else there are only indicators, which all have
        texts = [
            values[who].tolist() if values.dtype.kind == "U" else [_number(x) for x in values[who]]
            for _, values in covariates
        ]
        _write_table(covar, names, [name for name, _ in covariates], texts, listed)
    return Tables(prefix, pheno, covar)


def _write_table(
    path: Path,
    names: Sequence[tuple[str, str]],
    titles: Sequence[str],
    texts: Sequence[Sequence[str]],
    listed: np.ndarray,
) -> None:
    rows = [" ".join(row) for row in zip(*zip(*names, strict=True), *texts, strict=True)]
    kept = [row for row, is_listed in zip(rows, listed, strict=True) if is_listed]
    path.write_text("\n".join([" ".join(["FID", "IID", *titles]), *kept]) + "\n")
