"""The meta-analysis of cohorts' own estimates, against `plink1.9 --meta-analysis` of the cohorts' files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import followed
from pooled import Quantities, Statuses, quantities, statuses
from pooled import mice as pooled_mice
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.described.methods_section import Run, methods
from unpooled.kernels.meta_analysis import fixed_effect, random_weight
from unpooled.methods import algorithm, check
from unpooled.methods.regression.heterogeneity import TABLE, SumAgain, SumEstimates
from unpooled.methods.regression.options import FEWEST, FEWEST_OF_RANDOM
from unpooled.methods.regression.own_fit import own_estimates, telling
from unpooled.methods.shared.chunks import chromosome_class
from unpooled.methods.shared.summary import Summary
from unpooled.panel.panel import Panel
from unpooled.pictures.across import across
from unpooled.pictures.associations import Associations
from unpooled.plan.plan import EXACT, NO_KEY, Covariate, Plan, PlanError
from unpooled.run import reports, run

from ..plinks import plink

SIX = (1, 2, 3, 4, 5, 6)
"""Shares of six uneven cohorts."""
Found = dict[str, dict[str, str]]
"""Lines of a report by the variants' IDs."""


@dataclass(frozen=True, eq=False)
class Study:
    """A study whose pool is dealt out, so that each cohort can be written to files as well."""

    test: str
    pooled: Quantities | Statuses
    of: np.ndarray
    """int64 (n,): each person's cohort."""
    autosomes: int = 22

    @property
    def parts(self) -> list[Quantities | Statuses]:
        """The people of each cohort."""
        p, cohorts = self.of_complete, self.cohorts
        return [
            replace(p, samples=cohort.samples, copies=p.copies[:, self.of == k])
            for k, cohort in enumerate(cohorts)
        ]

    @property
    def of_complete(self) -> Quantities | Statuses:
        """Pool in which whoever lacks a covariate has no phenotype: PLINK is not told of all of them
        everywhere.
        """
        s = self.pooled.samples
        known = np.where(np.isnan(s.covariates).any(axis=1), np.nan, s.phenotype)
        return replace(self.pooled, samples=replace(s, phenotype=known))

    @property
    def panel(self) -> Panel:
        return Panel.of(self.pooled.variants)

    @property
    def cohorts(self) -> list[ArrayCohort]:
        return self.of_complete.dealt(self.of, int(self.of.max()) + 1)

    def plan(self, **options: Any) -> Plan:
        chosen: dict[str, Any] = {
            "test": self.test,
            "phenotype": "y",
            "cohorts": int(self.of.max()) + 1,
            "compensator_key": NO_KEY,
            "trait": algorithm(self.test).traits[0],
            "missing": EXACT,
            "files": ("assoc", "meta"),
            "covariates": tuple(map(Covariate, self.pooled.covariates)),
            "autosomes": self.autosomes,
            "chunk_size": 1000,
        }
        return Plan(**(chosen | options))

    def tables(self, **options: Any) -> dict[str, dict[str, np.ndarray]]:
        return run(self.plan(**options), self.panel, self.cohorts)

    def meta(self, **options: Any) -> Found:
        found = reports(self.plan(**options), self.panel, self.tables(**options))
        return lines(found["meta"].decode())


def lines(report: str) -> Found:
    head, *rows = (line.split() for line in report.splitlines())
    return {row[head.index("SNP")]: dict(zip(head, row, strict=True)) for row in rows}


def plinks_own(study: Study, folder: Path) -> list[Path]:
    """Each cohort's own report by PLINK, with A2, of its covariates that say something there."""
    files = []
    for k, part in enumerate(study.parts):
        part.write(folder / f"c{k}")
        told = ",".join(str(column + 1) for column in telling(part.samples))
        flags = ["--covar", str(folder / f"c{k}.cov"), "--covar-number", told] if told else []
        plink("--bfile", str(folder / f"c{k}"), "--out", str(folder / f"c{k}"), f"--{study.test}",
              "hide-covar", *(["beta"] * (study.test == "logistic")), "--ci", "0.95", "--allow-no-sex",
              "--chr-set", str(study.autosomes), *flags)  # fmt: skip
        if not (written := folder / f"c{k}.assoc.{study.test}").exists():
            continue  # in this cohort all are cases
        report = written.read_text().splitlines()
        alleles = {name.decode(): (a1.decode(), a2.decode()) for *_, name, a1, a2 in study.pooled.variants}
        rows = [line.split() for line in report]
        a2 = ["A2"] + [other(alleles[row[1]], row[3]) for row in rows[1:]]
        files.append(folder / f"c{k}.with-a2")
        files[-1].write_text("".join(" ".join([*row, x]) + "\n" for row, x in zip(rows, a2, strict=True)))
    return files


def other(pair: tuple[str, str], allele: str) -> str:
    return pair[1] if pair[0] == allele else pair[0]


def exact_own(study: Study, folder: Path) -> list[Path]:
    """Each cohort's own estimates, as it adds them to the sums, in all their digits."""
    plan, panel, files = study.plan(), study.panel, []
    classes = np.array([chromosome_class(int(c), study.autosomes) for c in panel.chromosome])
    for k, cohort in enumerate(study.cohorts):
        effect, se = np.full((2, len(panel)), np.nan)
        for place in set(classes.tolist()):
            some = np.flatnonzero(classes == place)
            effect[some], se[some] = own_estimates(plan, place, some, cohort)
        rows = ["CHR SNP BP A1 A2 NMISS BETA SE P"]
        for v in np.flatnonzero(~np.isnan(effect)).tolist():
            first, second = (allele.decode() for allele in panel.pair(v))
            where = f"{panel.chromosome[v]} {panel.name[v].decode()} {panel.position[v]}"
            rows.append(f"{where} {first} {second} 1 {effect[v]:.17g} {se[v]:.17g} 0.5")
        files.append(folder / f"e{k}.assoc")
        files[-1].write_text("\n".join(rows) + "\n")
    return files


def plinks_meta(study: Study, files: Sequence[Path], folder: Path) -> Found:
    units = "logscale" if study.test == "logistic" else "qt"
    plink("--meta-analysis", *files, "+", units, "report-all", "--chr-set", study.autosomes,
         "--out", folder / "all")  # fmt: skip
    return lines((folder / "all.meta").read_text())


def dealt(n: int, shares: Sequence[int], seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).choice(len(shares), n, p=np.divide(shares, sum(shares)))


def uneven(pooled: Any, of: np.ndarray) -> Any:
    """The last cohort has another effect of some variants, and a covariate that does not vary there."""
    s, last = pooled.samples, of == of.max()
    covariates = s.covariates.copy()
    if covariates.shape[1]:
        covariates[last & ~np.isnan(covariates[:, 0]), 0] = 0.1
    return replace(pooled, samples=replace(s, covariates=covariates))


def linear(**kind: Any) -> Study:
    pooled = quantities(**{"seed": 5, "n": 900, "each": 20, **kind})
    of = dealt(len(pooled.samples), SIX)
    return Study("linear", uneven(pooled, of), of)


def in_units(study: Study, unit: float) -> Study:
    samples = study.pooled.samples
    scaled = replace(samples, phenotype=samples.phenotype * unit)
    return replace(study, pooled=replace(study.pooled, samples=scaled))


def logistic(seed: int = 8, **kind: Any) -> Study:
    pooled = statuses(seed, **{"n": 1800, "each": 15, **kind})
    of = dealt(len(pooled.samples), SIX)
    of[(of == 0) & (pooled.samples.phenotype != 1)] = 5  # the first cohort has cases only
    return Study("logistic", uneven(pooled, of), of)


def mice(test: str) -> Study:
    pooled = pooled_mice(6)
    of = dealt(len(pooled.samples), SIX)
    if test == "linear":
        return Study(test, pooled, of, pooled.autosomes)
    value = pooled.samples.phenotype
    cases = np.where(np.isnan(value), np.nan, value > np.nanquantile(value, 0.7))
    samples = replace(pooled.samples, phenotype=cases)
    return Study(test, Statuses(samples, pooled.variants, pooled.copies), of, pooled.autosomes)


STUDIES = {
    "linear": linear,
    "linear, no covariates": lambda: linear(covariates=0),
    "linear, a phenotype of millionths": lambda: in_units(linear(), 1e-6),
    "linear, a phenotype of millions": lambda: in_units(linear(), 1e6),
    "logistic": logistic,
    "logistic, rare": lambda: logistic(rare=True),
    "logistic, many missing calls": lambda: logistic(missing=0.3, covariates=0),
}


def number(word: str) -> float:
    return np.nan if word == "NA" else float(word)


def same(ours: Mapping[str, str], theirs: Mapping[str, str], effect: str) -> None:
    """Every number as PLINK prints it, from the same estimates."""
    assert int(ours["N"]) == int(theirs["N"])
    missing = {title for title in ours if ours[title] == "NA"}
    if missing:
        assert missing == {"P(R)", f"{effect}(R)", "SE(R)"} and int(ours["N"]) < FEWEST_OF_RANDOM
        theirs = {**theirs, **dict.fromkeys(missing, "NA")}
    for title in (effect, f"{effect}(R)", "Q", "I"):
        x, y = number(ours[title]), number(theirs[title])
        own_digits = 1e-5 if title.startswith(effect) else 1e-3  # of which ours has six, or four
        decimals = 2 if title == "I" else 4
        assert title in missing or abs(x - y) <= 0.501 * (10**-decimals + own_digits * abs(x)), (
            title,
            ours,
            theirs,
        )
    for title in ("P", "P(R)"):
        x, y = number(ours[title]), number(theirs[title])
        assert title in missing or abs(x - y) <= 1.001e-3 * y or y < 1e-300, (title, ours, theirs)


@pytest.mark.parametrize("kind", STUDIES)
def test_sums_give_what_plink_makes_of_the_same_estimates(kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]()
    effect = "OR" if study.test == "logistic" else "BETA"
    ours, theirs = study.meta(), plinks_meta(study, exact_own(study, tmp_path), tmp_path)
    compared = 0
    for name, line in ours.items():
        if line["P"] == "NA":
            assert int(line["N"]) < FEWEST
            assert int(line["N"]) == (int(theirs[name]["N"]) if name in theirs else 0)
            continue
        there = theirs[name]
        same(line if line["A1"] == there["A1"] else turned(line, odds=effect == "OR"), there, effect)
        compared += 1
    assert compared > 0.2 * len(ours)
    assert any(number(line["I"]) > 25 for line in ours.values() if line["P"] != "NA")


def turned(line: Mapping[str, str], *, odds: bool) -> dict[str, str]:
    def other_way(word: str) -> str:
        return repr(1 / float(word)) if odds else repr(-float(word))

    titles = [title for title in ("OR", "OR(R)", "BETA", "BETA(R)") if line.get(title, "NA") != "NA"]
    return {**line, **{title: other_way(line[title]) for title in titles}}


@pytest.mark.parametrize("name", ["linear", "logistic", "mice, linear", "mice, logistic"])
def test_lines_are_plinks_of_the_cohorts_own_files(name: str, tmp_path: Path) -> None:
    """Lines are as near as the four digits of each cohort's report allow."""
    study = mice(name.split()[1]) if name.startswith("mice") else STUDIES[name]()
    odds = study.test == "logistic"
    effect = "OR" if odds else "BETA"
    ours, theirs = study.meta(), plinks_meta(study, plinks_own(study, tmp_path), tmp_path)
    compared = 0
    for snp, line in ours.items():
        if line["P"] == "NA" or line["N"] != theirs.get(snp, {"N": "0"})["N"]:
            # PLINK's own fit prints where it stopped, though there is no estimate.
            assert line["P"] == "NA" or odds, (line, theirs.get(snp))
            continue
        there = theirs[snp]
        line = line if line["A1"] == there["A1"] else turned(line, odds=odds)
        b, se = own_scale(line, effect, odds), number(line["SE"])
        rounding = 1.2e-3 * abs(b) + 1e-3 * se + 1e-4
        assert abs(b - own_scale(there, effect, odds)) <= rounding, (line, there)
        z, z_there = (stats.norm.isf(number(x["P"]) / 2) for x in (line, there))
        assert abs(z - z_there) <= rounding / se + 2e-3 * z + 1e-3, (line, there)
        df = int(line["N"]) - 1
        # PLINK prints four decimals: of a smaller P there is no more to be seen.
        q, q_there = (stats.chi2.isf(max(number(x["Q"]), 5e-5), df) for x in (line, there))
        assert abs(q - q_there) <= 0.05 + 0.02 * (1 + q) + 2 * np.sqrt(q) * rounding / se, (line, there)
        compared += 1
    assert compared > 0.5 * len(ours)


def own_scale(line: Mapping[str, str], effect: str, odds: bool) -> float:
    return float(np.log(number(line[effect]))) if odds else number(line[effect])


def with_cohorts(study: Study, count: int) -> Study:
    return replace(study, of=study.of % count)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_few_cohorts_are_refused_unless_that_is_allowed(test: str) -> None:
    study = STUDIES[test]()
    for count in (3, 4, 5):
        few = with_cohorts(study, count)
        if count >= FEWEST:
            check(few.plan())
            continue
        with pytest.raises(PlanError, match="needs at least 4 cohorts, not 3"):
            check(few.plan())
        check(few.plan(few_studies=True))
        check(few.plan(files=("assoc",)))


def test_only_effects_of_a_copy_are_compared() -> None:
    study = STUDIES["linear"]()
    for model in ({"genotype_model": "dominant"}, {"interaction": tuple(study.pooled.covariates)[:1]}):
        with pytest.raises(PlanError, match="heterogeneity is of the effect of a copy of A1"):
            check(study.plan(**model))


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_too_few_estimates_are_not_shown(test: str) -> None:
    """Four cohorts show no random effect that differs from the fixed one; fewer show nothing."""
    study = with_cohorts(STUDIES[test](), 4)
    shown = study.tables()[TABLE]
    four, fewer = shown["studies"] == 4, shown["studies"] < 4
    questions = followed(study.plan(), study.panel, study.cohorts).questions
    items = [question.items for question in questions if isinstance(question, SumEstimates)]
    assert sorted(np.concatenate(items)) == sorted(shown["variant"][four]) and fewer.any()
    assert not any(isinstance(question, SumAgain) for question in questions)
    assert np.isfinite(shown["fixed"][four]).all() and np.isnan(shown["fixed"][fewer]).all()
    differs = four & (shown["i_squared"] > 0)
    assert differs.any() and np.isnan(shown["random"][differs]).all()
    same_effect = four & (shown["i_squared"] == 0)
    np.testing.assert_array_equal(shown["random"][same_effect], shown["fixed"][same_effect])
    allowed = study.tables(few_studies=True)[TABLE]
    three = allowed["studies"] >= 3
    assert np.isfinite(allowed["random"][three]).all() and np.isnan(allowed["fixed"][~three]).all()


def test_sums_keep_their_digits_however_large_errors_are() -> None:
    """Standard errors go from 30, with which nothing is known of an odds ratio, to 10^-6."""
    random = np.random.default_rng(1)
    size, count = 2000, 7
    asked = next(iter(SumEstimates.foreseen(linear().plan(), SIZES).questions))
    asked = replace(asked, asked=np.ones(size, np.uint8))
    typical = 10.0 ** random.uniform(-3, 12, size)
    w = typical * 10.0 ** random.uniform(-2, 0, (count, size))
    b = random.normal(size=(count, size)) * 3 / np.sqrt(w)
    parts = {"weights": w, "effects": w * b, "squares": w * b**2, "weight_squares": w**2}
    scheme = linear().plan().scheme(asked.ring_bits)
    total = scheme.zeros(questions.words(asked, scheme))
    for k in range(count):
        own = {name: values[k] for name, values in parts.items()}
        share = questions.pack(asked, own, scheme, count, bytes(32))
        total = scheme.add(total, share)
    sums = questions.unpack(asked, total, scheme, count, bytes(32))
    found = fixed_effect(np.full(size, count), **sums)
    for v in range(0, size, 10):
        said = combine_effects(b[:, v], 1 / w[:, v], method_re="dl")
        assert found.effect[v] == pytest.approx(said.mean_effect_fe, rel=1e-6, abs=1e-6 * found.se[v])
        assert found.se[v] == pytest.approx(np.sqrt(said.var_eff_w_fe), rel=1e-6)
        assert found.q[v] == pytest.approx(said.q, rel=1e-6)
        u = random_weight(w[:, v], found.between[v])
        combined = float((u * b[:, v]).sum() / u.sum())
        # statsmodels lets the variance between studies fall below 0.
        expected = said.mean_effect_re if said.tau2 > 0 else said.mean_effect_fe
        assert combined == pytest.approx(expected, rel=1e-4, abs=1e-4 * found.se[v])
        assert found.i_squared[v] == pytest.approx(100 * max(said.i2, 0), abs=1e-4)


def test_a_cohort_whose_phenotype_a_variant_explains_has_no_estimate(tmp_path: Path) -> None:
    """Such a weight is beyond its bound, as of few people whose phenotypes are tied."""
    study, chosen = linear(covariates=0), 25
    pooled, first = study.pooled, study.of == 0
    noise = 1e-8 * np.random.default_rng(1).normal(size=len(first))
    y = np.where(first, np.maximum(pooled.copies[chosen], 0) + noise, pooled.samples.phenotype)
    study = replace(study, pooled=replace(pooled, samples=replace(pooled.samples, phenotype=y)))
    theirs = plinks_meta(study, exact_own(study, tmp_path)[1:], tmp_path)
    name = study.panel.name[chosen].decode()
    ours, there = study.meta()[name], theirs[name]
    assert ours["N"] == "5"
    same(ours if ours["A1"] == there["A1"] else turned(ours, odds=False), there, "BETA")


SIZES = {"variants": 20, "variants_autosomal": 20}


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_pictures_say_what_the_file_says(test: str) -> None:
    study = STUDIES[test]()
    method, plan, panel = algorithm(test), study.plan(few_studies=True), study.panel
    tables = run(plan, panel, study.cohorts)
    rows = method.looked_at(tables)
    of_one = {name: rows[name][:] for name in rows}
    columns = {name: values if values.ndim == 1 else values[:, 0] for name, values in of_one.items()}
    variant = columns["variant"]
    columns |= {"position": panel.position[variant], "chromosome": panel.chromosome[variant]}
    drawn = across(Associations(columns, plan), slice(None))
    written = study.meta(few_studies=True)
    assert len(drawn) == len(variant) and any(one is not None for one in drawn)
    for at, one in zip(variant.tolist(), drawn, strict=True):
        line = written[panel.name[at].decode()]
        if one is None:
            assert line["P"] == "NA"
            continue
        assert one["studies"] == int(line["N"])
        for model, end in (("fixed", ""), ("random", "(R)")):
            effect = "OR" if test == "logistic" else "BETA"
            assert one[model]["effect"] == pytest.approx(float(line[effect + end]), rel=2e-5)
            assert one[model]["lower"] < one[model]["effect"] < one[model]["upper"]
            assert float(one[model]["p"]) == pytest.approx(float(line["P" + end]), rel=1e-3)
        assert one["i_squared"] == pytest.approx(float(line["I"]), abs=0.05)


def test_without_the_file_there_is_nothing_to_draw() -> None:
    study = logistic()
    tables = study.tables(files=("assoc",))
    rows = algorithm(study.test).looked_at(tables)
    columns = {"position": rows["variant"]} | {name: rows[name] for name in rows}
    assert set(across(Associations(columns, study.plan()), slice(None))) == {None}


def test_the_methods_section_says_it() -> None:
    numbers: Summary = {"people": 9, "cases": 4, "controls": 5, "variants": 10, "genomic_inflation": None}
    about = Run(("a", "b"), [numbers], "", 10, one_operator=False, ended="2026-01-01", software="Unpooled")
    for files, is_said in ((("assoc",), False), (("assoc", "meta"), True)):
        text = " ".join(methods(logistic().plan(files=files), about).split())
        assert ("random effect of DerSimonian and Laird" in text) == is_said
