"""Pictures of results against the same worked out slowly, and against SciPy."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.contract.studies import of_variants
from unpooled.formats.density import Cell
from unpooled.pictures import loci, lookup, manhattan
from unpooled.pictures import quantiles as qq
from unpooled.pictures.associations import Associations, p_text
from unpooled.pictures.people_svg import people_over_density
from unpooled.plan import Plan
from unpooled.run import run

PLAN = Plan("linear", "trait", 3, bytes(32), trait="quantitative")


def made(size: int, seed: int = 0, **columns: np.ndarray) -> Associations:
    """Results of a linear regression that found nothing, but for `columns`."""
    random = np.random.default_rng(seed)
    chromosome = np.sort(random.choice([1, 2, 9, 22, 23], size)).astype(np.uint8)
    position = random.integers(1, 200_000_000, size)
    order = np.lexsort([position, chromosome])
    z = random.normal(size=size)
    usual = {
        "chromosome": chromosome,
        "position": position[order].astype(np.int32),
        "id": np.array([b"rs%d" % k for k in random.permutation(size)], "S"),
        "a1": np.zeros(size, np.uint32),
        "a2": np.ones(size, np.uint32),
        "alleles": np.frombuffer(b"A\nG\nTTA", np.uint8),
        "beta": z * 0.01,
        "se": np.full(size, 0.01),
        "neg_log10_p": -stats.norm.logsf(abs(z)) / np.log(10) - np.log10(2),
        "code": np.zeros(size, np.uint8),
        "a1_freq": random.uniform(0, 0.5, size),
    }
    return Associations({**usual, **columns}, PLAN)


def scored(score: np.ndarray, **columns: np.ndarray) -> Associations:
    return made(len(score), neg_log10_p=score.astype(float), **columns)


def slow_cells(associations: Associations, drawn: np.ndarray, height: float) -> set[tuple[int, int, int]]:
    """(chromosome, column, level) of each occupied cell."""
    columns = associations.columns
    rows = zip(
        columns["chromosome"][drawn].tolist(),
        columns["position"][drawn].tolist(),
        columns["neg_log10_p"][drawn].tolist(),
        strict=True,
    )
    return {(c, at // manhattan.BASES, int(score * (0.1 / height) * 10)) for c, at, score in rows}


def spread(picture: dict[str, Any]) -> list[tuple[int, int, int]]:
    """The cells of all segments of an overview."""
    codes = {"X": 23} | {str(code): code for code in range(1, 23)}
    return [
        (codes[chromosome], column, level)
        for chromosome, column, low, high in zip(*(picture["segments"][name] for name in (
            "chromosome", "column", "low", "high")), strict=True)
        for level in range(low, high + 1)
    ]  # fmt: skip


@pytest.mark.parametrize("tail", [0.4, 30.0])
def test_segments_cover_the_cells_that_are_occupied_and_no_others(
    tail: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manhattan, "MOST_SEGMENTS", 1500)
    random = np.random.default_rng(3)
    score = random.exponential(tail, 30_000)
    score[::100] = np.nan
    associations = scored(score)
    picture = json.loads(json.dumps(manhattan.overview(associations, []), allow_nan=False))
    strongest = np.argsort(-np.nan_to_num(score))[: manhattan.STRONGEST]
    assert picture["points"]["index"] == sorted(strongest)
    assert picture["points"]["neg_log10_p"] == pytest.approx(score[np.sort(strongest)], abs=1e-4)
    height = picture["cell"]["height"]
    assert (height > 0.1) == (tail > 1) and len(picture["segments"]["low"]) <= 1500
    cells = spread(picture)
    assert len(set(cells)) == len(cells)
    # The weakest of the points is drawn in its cell, too.
    drawn = np.flatnonzero(score <= np.sort(score[strongest])[0])
    assert set(cells) == slow_cells(associations, drawn, height)
    assert (picture["variants"], picture["without_p"]) == (29_700, 300)


def test_a_small_study_is_points_alone() -> None:
    associations = made(900)
    picture = manhattan.overview(associations, [5, 7])
    assert picture["points"]["index"] == list(range(900))
    assert picture["segments"]["low"] == [] and picture["leads"] == [5, 7]
    assert [chromosome["name"] for chromosome in picture["chromosomes"]] == ["1", "2", "9", "22", "X"]
    assert sum(chromosome["variants"] for chromosome in picture["chromosomes"]) == 900


@pytest.mark.parametrize("size", [0, 5])
def test_a_study_without_any_p(size: int) -> None:
    associations = scored(np.full(size, np.nan), beta=np.full(size, np.nan))
    assert loci.table(associations) == []
    picture = manhattan.overview(associations, [])
    assert (picture["variants"], picture["without_p"], picture["points"]["index"]) == (0, size, [])
    assert manhattan.region(associations, 1, 0, 10**9, [])["points"]["index"] == []
    curve = qq.quantiles(associations)["curves"][0]
    assert (curve["variants"], curve["inflation"], curve["observed"]) == (0, None, [])


def test_a_region_shows_its_variants_and_no_others() -> None:
    associations = made(40_000, seed=4)
    columns = associations.columns
    on_9 = columns["chromosome"] == 9
    few = np.flatnonzero(on_9 & (columns["position"] >= 7_000_000) & (columns["position"] <= 14_000_000))
    picture = manhattan.region(associations, 9, 7_000_000, 14_000_000, [int(few[3]), 0])
    assert picture["points"]["index"] == few.tolist()
    assert (picture["cell"], picture["leads"]) == (None, [3])
    assert picture["points"]["a1"] == ["A"] * len(few)
    assert picture["points"]["effect_of_a1"] == pytest.approx(columns["beta"][few], rel=1e-3)
    whole = manhattan.region(associations, 9, 0, 200_000_000, [])
    assert whole["variants"] == np.count_nonzero(on_9) and whole["cell"]["bases"] == 200_001
    assert len(whole["points"]["index"]) == manhattan.STRONGEST
    score, cells = columns["neg_log10_p"], set()
    cutoff = np.sort(score[on_9])[-manhattan.STRONGEST]
    for at, size in zip(columns["position"][on_9].tolist(), score[on_9].tolist(), strict=True):
        if size <= cutoff:
            cells.add((at // 200_001, int(size * 10)))
    found = zip(*whole["segments"].values(), strict=True)
    assert {(column, level) for column, low, high in found for level in range(low, high + 1)} == cells
    assert manhattan.region(associations, 3, 0, 10**9, [])["variants"] == 0


def slow_loci(place: list[tuple[int, int]], score: list[float]) -> list[tuple[int, int, int, int]]:
    """(lead, start, end, variants), the strongest first, by the rule as it is told."""
    left = [k for k in range(len(place)) if score[k] >= 5]
    hits, windows = list(left), []
    while left:
        lead = max(left, key=lambda k: (score[k], -k))
        c, at = place[lead]
        left = [k for k in left if place[k][0] != c or abs(place[k][1] - at) > loci.REACH]
        windows.append([c, at - loci.REACH, at + loci.REACH, lead])
    merged: list[list[int]] = []
    for window in sorted(windows):
        if merged and merged[-1][0] == window[0] and window[1] <= merged[-1][2]:
            before = merged[-1]
            before[2] = window[2]
            before[3] = max(before[3], window[3], key=lambda k: score[k])
        else:
            merged.append(window)
    found = [
        (k, max(low, 1), high, sum(place[h][0] == c and low <= place[h][1] <= high for h in hits))
        for c, low, high, k in merged
    ]
    return sorted(found, key=lambda locus: -score[locus[0]])


@pytest.mark.parametrize("seed", range(4))
def test_loci_by_distance(seed: int) -> None:
    random = np.random.default_rng(seed)
    associations = scored(random.exponential(2.5, 4000))
    at = [associations.columns[name].tolist() for name in ("chromosome", "position")]
    expected = slow_loci(list(zip(*at, strict=True)), associations.columns["neg_log10_p"].tolist())
    assert len(expected) > 50 and any(variants > 1 for *_, variants in expected)
    found = loci.find(associations)
    columns = (found.lead, found.start, found.end, found.variants)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


def test_loci_end_with_their_chromosome_and_p_may_be_smaller_than_any_number() -> None:
    associations = scored(
        np.array([400.25, 6, 5, 4.999]),
        chromosome=np.array([1, 2, 2, 2], np.uint8),
        position=np.array([2**31 - 1, 1, 1_000_001, 1_000_002], np.int32),
    )
    first, second = loci.table(associations)
    assert (first["p"], first["neg_log10_p"]) == ("5.623e-401", 400.25)
    assert first["locus"]["variants"] == 1 and first["chromosome"] == "1"
    assert second["locus"] == {"start": 1, "end": 1_500_001, "variants": 2}
    assert (second["position"], second["p"]) == (1, "1e-06")
    assert manhattan.overview(associations, [0, 1])["points"]["neg_log10_p"][0] == 400.25
    assert p_text(301.0000001) == "1e-301" and p_text(0.0) == "1" and p_text(2.5) == "0.003162"


def test_quantiles_and_their_band() -> None:
    associations = made(20_000, seed=6)
    columns = associations.columns
    everything, *classes = qq.quantiles(associations)["curves"]
    p = np.sort(10 ** -columns["neg_log10_p"])
    rank = np.round(10 ** -np.array(everything["expected"]) * 20_001).astype(int)
    assert rank[0] == 1 and rank[-1] == 20_000 and set(range(1, 20)) <= set(rank)
    assert everything["observed"] == pytest.approx(-np.log10(p[rank - 1]), rel=1e-4)
    for edge, share in (("low", 0.975), ("high", 0.025)):
        band = stats.beta.ppf(share, rank, 20_001 - rank)
        assert everything[edge] == pytest.approx(-np.log10(band), rel=1e-3, abs=1e-6)
    z = columns["beta"] / columns["se"]
    assert everything["inflation"] == pytest.approx(max(1, np.median(z**2) / 0.456), rel=1e-5)
    for curve, (low, high) in zip(classes, ((0, 0.01), (0.01, 0.05), (0.05, 0.5)), strict=True):
        inside = (columns["a1_freq"] > low) & (columns["a1_freq"] <= high)
        assert curve["variants"] == np.count_nonzero(inside) > 0
        assert curve["inflation"] == pytest.approx(max(1, np.median(z[inside] ** 2) / 0.456), rel=1e-5)
        assert curve["observed"][0] == pytest.approx(columns["neg_log10_p"][inside].max(), rel=1e-4)


def test_variants_are_found_by_id() -> None:
    names = np.array([b"rs%d" % (k % 700) for k in range(1000)] + [b"Affx-1", b"1:5:A:G"], "S")
    entries = lookup.index(names)
    for k in (0, 1, 299, 300, 699):
        assert lookup.find(entries, names, f" RS{k} ").tolist() == [
            row for row in range(1000) if row % 700 == k
        ]
    assert lookup.find(entries, names, "1:5:a:g").tolist() == [1001]
    assert not len(lookup.find(entries, names, "rs7000")) and not len(lookup.find(entries[:0], names, "rs1"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("7:1234", (7, 1234, 1234)),
        ("chr7:1,234-5,678", (7, 1234, 5678)),
        (" x:5-6 ", (23, 5, 6)),
        ("99:5", None),
        ("rs5", None),
        ("7:", None),
        ("7:5-", None),
        ("7:5:A:G", None),
    ],
)
def test_places(text: str, place: tuple[int, int, int] | None) -> None:
    assert lookup.place(text, 22) == place


@pytest.mark.parametrize(
    ("test", "beta"), [("chi-square", False), ("linear", False), ("logistic", False), ("logistic", True)]
)
def test_numbers_are_those_of_the_report(test: str, beta: bool) -> None:
    """P, effect, limits and what is NA, as in the file that PLINK's is compared with elsewhere."""
    options: dict[str, Any] = {} if test == "chi-square" else {"beta": beta, "cohort_sums": True}
    small = of_variants(test, files=("assoc",), ci=0.95, **options)
    for cohort in small.cohorts:
        cohort.genotypes[9] = 0  # of one allele only: NA
    plan, columns = small.plan, run(small.plan, small.panel, small.cohorts)["variants"]
    small.test.files["assoc"](report := io.BytesIO(), small.panel, columns, plan)
    header, *lines = (line.split() for line in report.getvalue().decode().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    rows = [row for row in rows if row.get("TEST", "ADD") == "ADD"]

    kept = {name: column if column.ndim == 1 else column[:, 0] for name, column in columns.items()}
    tested = small.panel.chromosome, small.panel.position, small.panel.name
    named = zip(("chromosome", "position", "id"), (of[columns["variant"]] for of in tested), strict=True)
    alleles = {"a1": 1 - columns["first_is_a1"].astype(int), "a2": columns["first_is_a1"].astype(int)}
    text = np.frombuffer(b"\n".join(small.panel.alleles), np.uint8)
    associations = Associations({**kept, **dict(named), **alleles, "alleles": text}, plan)
    assert associations.effect_name == ("BETA" if test == "linear" or beta else "OR")
    described = loci.describe(associations, slice(0, len(rows)))
    assert 20 < len(rows) == len(described) and any(row["P"] == "NA" for row in rows)
    for row, ours in zip(rows, described, strict=True):
        assert (ours["id"], str(ours["position"]), ours["a1"]) == (row["SNP"], row["BP"], row["A1"])
        names = {"effect": associations.effect_name, "lower": "L95", "upper": "U95", "se": "SE", "p": "P"}
        for name, title in names.items():
            value = ours[name]
            assert (value is None) == (row[title] in ("NA", "nan", "inf")), (row, ours)
            if value is not None:
                assert float(value) == pytest.approx(float(row[title]), rel=2e-3, abs=1e-4)


def test_people_stand_where_their_scores_are_over_cells_that_are_darker_where_there_are_more() -> None:
    cells = [Cell(-1.0, 0.0, -1.0, 0.0, 10), Cell(0.0, 1.0, 0.0, 1.0, 80)]
    people = np.array([[-0.5, -0.5], [7.0, 0.0]])
    drawn = people_over_density(cells, people, ("PC1", "PC2"))
    assert "2 people of this cohort over 2 cells" in drawn
    assert 'd="M110 330h.01M440 220h.01"' in drawn  # whoever is beyond all cells stands where they end
    faint, dark = re.findall(r'<rect class="cell" x="(\d+)" y="(\d+)" .*?fill-opacity="(.*?)"', drawn)
    assert (faint[:2], dark[:2]) == (("0", "220"), ("220", "0"))
    assert float(dark[2]) > float(faint[2]) + 0.25
    alone = people_over_density((), people, ("PC1", "PC2"))
    assert "over 0 cells" in alone and alone.count("h.01") == 2
