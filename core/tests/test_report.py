"""Pages for people: what is in them, that nothing in them runs or loads, and how large they can be."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pooled import GENERATED

from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.described.methods_section import Run
from unpooled.described.report import MOST_LOCI, About, File, Member, Pictures, report
from unpooled.methods import check, usual
from unpooled.pages.page import (
    Html,
    columns,
    document,
    encoded,
    facts,
    joined,
    mark,
    section,
    share,
    table,
    tag,
)
from unpooled.panel.panel import Panel
from unpooled.pictures import drawing, loci, manhattan, manhattan_svg, quantiles_svg
from unpooled.pictures.associations import Associations
from unpooled.pictures.quantiles import quantiles
from unpooled.plan.plan import NO_KEY, Plan

PLAN = Plan("linear", "height", 3, NO_KEY, trait="quantitative", file_stem="height", maf=0.01)
EVIL = '<script>alert("x")</script><img src=x onerror=y>&\'"'
MOST_BYTES = 2_000_000


def found(size: int, *, tail: float = 0.4343, name: bytes = b"rs%d", seed: int = 1) -> Pictures:
    """Pictures of made-up results, -log10 P exponential of this mean."""
    random = np.random.default_rng(seed)
    chromosome = np.sort(random.integers(1, 23, size)).astype(np.uint8)
    position = random.integers(1, 200_000_000, size)
    columns = {
        "chromosome": chromosome,
        "position": position[np.lexsort([position, chromosome])].astype(np.int32),
        "id": np.array([name % k if b"%" in name else name for k in range(size)]),
        "a1": np.zeros(size, np.uint32),
        "a2": np.ones(size, np.uint32),
        "alleles": np.frombuffer(b"A\n" + b"G" * 90, np.uint8),
        "beta": random.normal(size=size),
        "se": np.full(size, 0.01),
        "neg_log10_p": random.exponential(tail, size),
        "code": np.zeros(size, np.uint8),
        "a1_freq": random.uniform(0, 0.5, size),
    }
    associations = Associations(columns, PLAN)
    table = loci.table(associations)
    overview = manhattan.overview(associations, [row["index"] for row in table])
    return Pictures(overview, quantiles(associations), table)


PLAN_HASH = "ef" * 32


def about(name: str = "Height", **changes: Any) -> About:
    summary = {"people": 4321, "cases": None, "controls": None, "variants": 900, "genomic_inflation": 1.0126}
    run = Run(
        cohorts=["Graz", "Oslo", "Tartu"],
        summaries=[summary],
        plan_hash=PLAN_HASH,
        panel_size=1000,
        one_operator=False,
        ended="2026-05-04",
        software="unpooled 0.1.0",
    )
    members = [Member(cohort, f"print of {cohort}") for cohort in run.cohorts]
    files = [File("height.assoc.linear", 12345, "ab" * 32)]
    return replace(About(name, "", run, members, "cd" * 32, files), **changes)


def parsed(page: str) -> ElementTree.Element:
    """The page, which is well-formed XML, too."""
    return ElementTree.fromstring(page.removeprefix("<!doctype html>\n"))  # noqa: S314 - our own


def texts(page: str) -> str:
    return " ".join(" ".join(parsed(page).itertext()).split())


def test_it_says_what_was_asked_what_was_found_who_took_part_and_how() -> None:
    page = report(PLAN, about(description="Our words."), found(900), {})
    headings = [element.text for element in parsed(page).iter("h2")]
    assert headings == [
        *("Manhattan plot", "Loci", "QQ plot", "What was asked", "Who took part", "Methods", "Privacy"),
        "Versions and files",
    ]
    said = texts(page)
    for wanted in [
        *("Height", "Our words.", "4,321", "900", "1.013", "2026-05-04", "unpooled 0.1.0", "print of Oslo"),
        *("Linear regression of height", "without pooling their data", "at least 0.01"),
        *(PLAN_HASH, "cd" * 32, "height.assoc.linear", "12,345", "Server and compensator apart"),
        *("a share, a sum, a list of variants, a result, or a digest of any of these", "All variants"),
    ]:
        assert wanted in said, wanted
    pictures = [svg.findtext("title") or "" for svg in parsed(page).iter("svg")]
    assert [title.split(":")[0].split(".")[0] for title in pictures] == [
        "Manhattan plot",
        "QQ plot of observed against expected P",
    ]


def test_an_operator_of_both_and_a_study_without_loci_are_said() -> None:
    facts = about()
    page = report(PLAN, replace(facts, run=replace(facts.run, one_operator=True)), found(50, tail=0.1), {})
    assert "One operator: not blind" in texts(page) and "No locus: no variant has P" in texts(page)


def test_without_pictures_everything_else_is_there() -> None:
    page = report(PLAN, about(), None, {})
    assert "<svg" not in page and "4,321" in page and "Methods" in page


def test_names_of_strangers_are_shown_as_text() -> None:
    hostile = found(50, tail=9, name=EVIL.encode())
    members = [Member(EVIL, EVIL)] * 3
    page = report(
        PLAN, about(EVIL, description=EVIL, members=members, files=[File(EVIL, 1, "")]), hostile, {}
    )
    assert page.count("<script") == 1 and "<img" not in page
    assert EVIL in texts(page)
    assert parsed(page).findtext("head/title") == EVIL


def test_nothing_is_loaded_and_nothing_runs_but_our_script() -> None:
    page = report(PLAN, about(), found(5000, tail=2), {})
    assert not any(word in page for word in ("<link", "src=", "http:", "https:", "url(", "@import"))
    (script,) = (element.text or "" for element in parsed(page).iter("script"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    (policy,) = (meta.get("content", "") for meta in parsed(page).iter("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_links_lead_to_all_of_its_parts() -> None:
    page = parsed(report(PLAN, about(EVIL, description="<section><h2>x</h2>"), found(900), {}))
    links = {link.get("href", ""): link.text for link in page.iter("a")}
    assert links == {f"#{part.get('id')}": part.findtext("h2") for part in page.iter("section")}
    assert len(links) == 8


@pytest.mark.parametrize("tail", [0.4343, 3, 60])
def test_it_stays_small_however_many_variants_there_are(tail: float) -> None:
    """Half a million variants have as many points and segments as any number has; names may be long."""
    pictures = found(500_000, tail=tail, name=b"chr1:123456789:%06d:" + b"ACGT" * 40)
    size = len(encoded(report(PLAN, about(), pictures, {})))
    assert 20_000 < size < MOST_BYTES
    assert len(pictures.loci) <= MOST_LOCI or tail > 1


def test_many_loci_are_cut_and_counted() -> None:
    pictures = found(20_000, tail=4)
    page = report(PLAN, about(), pictures, {})
    rows = next(
        table for table in parsed(page).iter("table") if "strongest first" in "".join(table.itertext())
    )
    assert len(pictures.loci) > MOST_LOCI
    assert len(rows.findall("tbody/tr")) == MOST_LOCI
    assert f"{len(pictures.loci) - MOST_LOCI:,} more" in texts(page)
    assert "G" * 41 not in page  # long alleles are cut


def marks(path: str) -> list[tuple[float, float]]:
    """Return where the lines and dots of a path begin."""
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path)]


def path_of(svg: str, look: str) -> str:
    wanted = [path for path in ElementTree.fromstring(svg).iter("path") if path.get("class") == look]  # noqa: S314
    return " ".join(path.get("d", "") for path in wanted)


def test_every_point_of_a_small_study_is_drawn_where_it_is() -> None:
    pictures = found(300)
    svg = manhattan_svg.draw(pictures.overview)
    drawn = sorted(marks(path_of(svg, "even")) + marks(path_of(svg, "odd")))
    points, chromosomes = pictures.overview["points"], pictures.overview["chromosomes"]
    assert len(drawn) + len(pictures.overview["leads"]) == 300
    lengths = [chromosome["last"] for chromosome in chromosomes]
    starts = dict(zip((c["name"] for c in chromosomes), np.cumsum([0, *lengths[:-1]]), strict=True))
    at = np.array([starts[name] for name in points["chromosome"]]) + np.array(points["position"])
    width = float(re.findall(r"M0 [\d.]+H([\d.]+)", path_of(svg, "grid"))[0])
    wanted = np.sort(at / sum(lengths) * width)
    assert np.allclose([x for x, _ in drawn], wanted, atol=0.06)


def test_the_chromosomes_at_the_ends_are_named_and_no_names_touch() -> None:
    overview = found(300).overview
    known = {chromosome["name"] for chromosome in overview["chromosomes"]}
    assert known <= {str(code) for code in range(1, 23)}
    lengths = {str(code): 250_000_000 // (code + 4) for code in range(1, 23)}
    made = [{"name": name, "last": last} for name, last in lengths.items()]
    svg = ElementTree.fromstring(manhattan_svg.draw(overview | {"chromosomes": made}, (500, 300)))  # noqa: S314
    names = [
        node for node in svg.iter("text") if node.text in lengths and node.get("text-anchor") == "middle"
    ]
    assert {"1", "22"} <= {node.text for node in names} and len(names) > 15
    rows: dict[str, list[float]] = {}
    for node in names:
        rows.setdefault(node.get("y", ""), []).append(float(node.get("x", "")))
    assert len(rows) == 2 and all(np.diff(np.sort(row)).min() > 12 for row in rows.values())


def test_every_segment_is_drawn() -> None:
    pictures = found(20_000)
    svg = manhattan_svg.draw(pictures.overview)
    drawn = sum(path_of(svg, look).count("M") for look in ("even", "odd"))
    leads = len(pictures.overview["leads"])
    expected = len(pictures.overview["segments"]["low"]) + len(pictures.overview["points"]["index"]) - leads
    assert drawn == expected and path_of(svg, "lead").count("M") == leads


def test_the_axis_is_folded_above_twenty_only_where_some_are_far_beyond() -> None:
    plain, folded = drawing.Axis(35, 300), drawing.Axis(400, 300)
    assert (plain.is_folded, folded.is_folded) == (False, True)
    assert plain.y(0) == folded.y(0) == 300
    assert folded.y(20) == pytest.approx(300 * 0.28)
    for axis in (plain, folded, drawing.Axis(8, 300)):
        heights = [axis.y(value) for value in np.linspace(0, axis.most, 500)]
        assert all(low > high for low, high in pairwise(heights))
        assert axis.y(axis.most) == 24
        gaps = [axis.y(low) - axis.y(high) for low, high in pairwise(axis.ticks)]
        assert min(gaps) >= 15 and axis.ticks[0] == 0 and axis.ticks[-1] <= axis.most


def test_names_above_leads_touch_no_other_and_hide_no_mark() -> None:
    random = np.random.default_rng(2)
    spots = [(float(x), float(y), f"rs{k}") for k, (x, y) in enumerate(random.uniform(30, 900, (80, 2)))]
    labels = drawing.labelled(spots, 950, 24)
    assert 5 < len(labels) <= 24
    for k, label in enumerate(labels):
        assert not any(label.touches(other) or other.touches(label) for other in labels[:k])
        assert not any(label.hides(x, y) for x, y, _ in spots)
        assert label.left >= 0 and label.left + 6.4 * len(label.text) <= 951


def test_a_study_without_any_p_is_drawn_empty() -> None:
    empty = found(0)
    assert "0 variants" in manhattan_svg.draw(empty.overview)
    assert "λ not known" in quantiles_svg.draw(empty.quantiles)
    assert "No locus" in report(PLAN, about(), empty, {})


@pytest.mark.parametrize("method", ["summary", "z-score", "min-max", "robust", "quantiles"])
def test_of_tables_it_has_the_numbers_of_each_column(method: str) -> None:
    schema = [{"name": "id", "type": "text"}, {"name": "<b>weight</b>", "unit": "kg"}, {"name": "empty"}]
    given = {"test": method, "cohorts": 3, "compensator_key": NO_KEY.hex(), "schema": schema}
    asked = {"quantiles": [0.5], "elements": [2]} if method == "quantiles" else {}
    plan = Plan.from_json(given | usual(method) | asked)
    check(plan)
    values = np.random.default_rng(1).normal(70, 9, (300, 2))
    values[:, 1] = np.nan
    parts = [ArrayTable(part) for part in np.array_split(values, 3)]
    tables = run.run(plan, Panel.of([]), parts)
    facts = about()
    page = report(plan, replace(facts, run=replace(facts.run, summaries=[]), panel_digest=""), None, tables)
    assert "<b>" not in page and "<b>weight</b>" in texts(page) and "kg" in texts(page)
    wanted = {"z-score": values[:, 0].mean(), "min-max": values[:, 0].min()}
    number = wanted.get(method, np.median(values[:, 0]))
    assert (f"{number:.4g}" if method == "summary" else f"{number:.6g}") in texts(page)
    assert page.count("<svg") == (method == "summary")


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_covariate_that_is_the_sex_is_told(test: str) -> None:
    """Every line of X is NA then; of another covariate there is nothing to tell."""
    pooled = GENERATED[test](3, each=10, missing=0.0)
    men, panel = (pooled.samples.sex == 1).astype(float), Panel.of(pooled.variants)
    for column, told in ((men, True), (pooled.samples.covariates[:, 1], False)):
        covariates = np.column_stack([pooled.samples.covariates[:, 0], column])
        trial = replace(pooled, samples=replace(pooled.samples, covariates=covariates))
        plan = trial.plan()
        tables = run.run(plan, panel, trial.cohorts((1, 2, 4)))
        assert ("determine it, or nearly" in report(plan, about(), None, tables, panel)) == told


def test_text_is_escaped_wherever_it_goes_in() -> None:
    made = [
        tag("p", EVIL, title=EVIL),
        section(EVIL, EVIL),
        table(EVIL, [EVIL], [[EVIL]]),
        facts([(EVIL, EVIL)]),
        mark("bad", EVIL),
        columns(EVIL, [(EVIL, 3)]),
        joined([EVIL]),
    ]
    page = document(EVIL, *made, about=EVIL)
    assert "<script" not in page
    for part in made[:-1]:
        assert EVIL in "".join(parsed(part).itertext())


def test_markup_is_kept() -> None:
    assert tag("p", tag("b", "a<b"), "c") == "<p><b>a&lt;b</b>c</p>"
    assert (
        tag("td", "x", class_="number", aria_label="y", scope=None)
        == '<td class="number" aria-label="y">x</td>'
    )
    assert isinstance(joined(["a"]), Html)


def test_a_table_names_its_rows_and_columns() -> None:
    found = parsed(table("Counts", ["what", "number"], [["kept", "60"]], numbers={1}))
    assert [(cell.text, cell.get("scope"), cell.get("class")) for cell in found.iter("th")] == [
        ("what", "col", None),
        ("number", "col", "number"),
        ("kept", "row", None),
    ]
    assert found.get("aria-label") == "Counts"


def test_pictures_say_their_numbers() -> None:
    picture = parsed(columns("Variants", [("1", 2000), ("X", 1000)]))
    assert picture.find("svg/title").text == "Variants. 1: 2,000, X: 1,000"  # type: ignore[union-attr]
    heights = [float(bar.get("height", "")) for bar in picture.iter("rect")]
    assert heights[0] == 2 * heights[1]
    assert [float(bar.get("width", "")) for bar in parsed(share(1, 4)).iter("rect")] == [100, 25]
    assert columns("Nothing", []) and share(0, 0)


def test_a_short_page_loads_and_runs_nothing() -> None:
    page = encoded(document("Título", section("One", "é"), style=".one { color: red }")).decode()
    assert "default-src &#x27;none&#x27;" in page and ".one { color: red }</style>" in page
    assert not any(
        word in page for word in ("<script", "<link", "src=", "http:", "https:", "url(", "@import")
    )


def test_where_the_pool_is_dense_is_drawn() -> None:
    plan = Plan("pca", "", 5, NO_KEY, trait="quantitative")
    cells = {
        "edges": np.array([[-1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]),
        "at_least": np.array([10, 40]),
    }
    page = report(plan, about(), None, {"density": cells})
    assert "2 cells with the pool's people." in texts(page) and page.count('class="cell"') == 2
    assert "PC1" in texts(page) and 'class="people" d=""' in page
    assert "People of all cohorts" not in texts(report(plan, about(), None, {}))
