"""Pictures of a study of real genotypes, held against its .assoc file and plink1.9 on the pooled data."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pooled
import pytest
from federation_fixtures import Data, variants
from signing_in import Http
from whole_studies import PLAN, finished

from tests import plinks
from tests.people import people
from unpooled.panel.panel import Panel


def mice(folder: Path) -> tuple[list[Data], str]:
    """Three cohorts of 1,940 mice, 10,000 and some variants, and what plink1.9 says of the pool."""
    found = pooled.mice(5)
    value = found.samples.phenotype
    status = np.where(np.isnan(value), np.nan, value > np.nanmedian(value))
    samples = people(status, sex=np.zeros(len(value), np.uint8))
    pool = pooled.Pool(samples, found.variants, found.copies, 19)
    pool.plink1(folder, "--nonfounders", "--assoc", "--ci", 0.95, "--adjust")
    of = np.random.default_rng(5).integers(0, 3, len(value))
    own = Panel.of(pool.variants)
    cohorts = [Data(own, cohort.samples, cohort.genotypes) for cohort in pool.dealt(of, 3)]
    return cohorts, (folder / "out.log").read_text()


def test_pictures_of_mice(me: httpx.Client, http: Http, tmp_path: Path) -> None:
    cohorts, said = mice(tmp_path)
    files = ["assoc", "clumped"]
    url = finished(me, http, cohorts, autosomes=19, nonfounders=True, allow_no_sex=True, files=files)
    rows = list(plinks.rows(tmp_path / "out.assoc"))
    p = np.array([float(row["P"].replace("NA", "nan")) for row in rows])
    score = -np.log10(p)
    assert len(rows) > 10_000

    genome = me.get(f"{url}/manhattan").json()
    assert genome["variants"] == np.count_nonzero(~np.isnan(p)) and genome["effect"] == "OR"
    points = genome["points"]
    weakest = np.sort(np.nan_to_num(score))[-1000]
    for row, name, size in zip(points["index"], points["id"], points["neg_log10_p"], strict=True):
        assert rows[row]["SNP"] == name and size == pytest.approx(score[row], abs=1e-3)
    assert {k for k in range(len(rows)) if score[k] > weakest + 1e-3} <= set(points["index"])
    assert max(points["neg_log10_p"]) == pytest.approx(np.nanmax(score), abs=1e-3)

    # Every other variant lies in a segment of its column, but for the rounding of P in the file.
    columns: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for chromosome, column, low, high in zip(*(genome["segments"][name] for name in (
            "chromosome", "column", "low", "high")), strict=True):  # fmt: skip
        bounds = (low * genome["cell"]["height"] - 1e-3, (high + 1) * genome["cell"]["height"] + 1e-3)
        columns.setdefault((chromosome, column), []).append(bounds)
    shown = set(points["index"])
    for k, row in enumerate(rows):
        if k not in shown and not np.isnan(score[k]):
            name = row["CHR"] if row["CHR"] != "0" else "unplaced"
            assert any(low <= score[k] <= high for low, high in columns[name, int(row["BP"]) // 3_000_000])

    # The most significant variant of the file leads the first locus; loci take in all that is suggestive.
    table = me.get(f"{url}/variants", params={"count": 1000}).json()
    best = table["rows"][0]
    first = rows[int(np.nanargmax(score))]
    assert (best["id"], best["a1"], best["a2"], best["lead"]) == (
        first["SNP"],
        first["A1"],
        first["A2"],
        True,
    )
    assert float(best["p"]) == pytest.approx(float(first["P"]), rel=1e-3)
    for name, title in (("effect", "OR"), ("lower", "L95"), ("upper", "U95"), ("se", "SE")):
        assert best[name] == pytest.approx(float(first[title]), rel=1e-3)
    assert table["loci"] == table["found"] == len(table["rows"]) > 3
    assert sum(row["locus"]["variants"] for row in table["rows"]) == np.count_nonzero(p <= 1e-5)
    sizes = [row["neg_log10_p"] for row in table["rows"]]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] >= 5
    assert {points["id"][k] for k in genome["leads"]} == {row["id"] for row in table["rows"]}

    everything = me.get(f"{url}/qq").json()["curves"][0]
    (inflation,) = re.findall(r"median chisq\) = (.*)\.\n", said)
    assert everything["inflation"] == pytest.approx(float(inflation), abs=5e-4)
    assert everything["observed"][0] == pytest.approx(np.nanmax(score), abs=1e-3)
    assert everything["observed"][-1] == pytest.approx(np.nanmin(score), abs=1e-3)

    region(me, url, rows, score, best)
    linkage(me, url, tmp_path, best)
    search(me, url, rows, best)
    lines = list(csv.DictReader(io.StringIO(me.get(f"{url}/loci.csv").text)))
    assert [line["ID"] for line in lines] == [row["id"] for row in table["rows"]]
    assert lines[0]["OR"] == str(best["effect"]) and lines[0]["P"] == best["p"]


def region(
    me: httpx.Client, url: str, rows: list[dict[str, str]], score: np.ndarray, best: dict[str, Any]
) -> None:
    """A window of few variants is those variants."""
    low, high = best["position"] - 2_000_000, best["position"] + 2_000_000
    window = {"chromosome": best["chromosome"], "from": low, "to": high}
    found = me.get(f"{url}/region", params=window).json()
    inside = [k for k, row in enumerate(rows)
              if row["CHR"] == best["chromosome"] and low <= int(row["BP"]) <= high
              and not np.isnan(score[k])]  # fmt: skip
    assert found["points"]["index"] == inside and found["cell"] is None
    assert found["points"]["a1"] == [rows[k]["A1"] for k in inside]
    assert best["id"] in {found["points"]["id"][k] for k in found["leads"]}


def linkage(me: httpx.Client, url: str, folder: Path, best: dict[str, Any]) -> None:
    """The colours of a region are r² with its strongest lead, as PLINK has it."""
    window = ("--ld-window-kb", 250, "--ld-window", 9999, "--ld-window-r2", 0)
    plinks.plink("--bfile", folder / "pooled", "--chr-set", 19, "--allow-no-sex", "--r2", "dprime",
                 "--ld-snp", best["id"], *window, "--out", folder / "plink")  # fmt: skip
    expected = {row["SNP_B"]: float(row["R2"]) for row in plinks.rows(folder / "plink.ld")}
    ends = {name: best["position"] + way * 250_000 for name, way in (("from", -1), ("to", 1))}
    found = me.get(f"{url}/region", params={"chromosome": best["chromosome"]} | ends).json()
    assert found["linkage"]["lead"] == best["id"]
    known = dict(zip(found["points"]["id"], found["linkage"]["r2"], strict=True))
    assert len(known) > 3 and None not in known.values()
    assert known == pytest.approx({name: expected[name] for name in known}, abs=1e-4)


def search(me: httpx.Client, url: str, rows: list[dict[str, str]], best: dict[str, Any]) -> None:
    def found(text: str, **params: int) -> dict[str, Any]:
        answer = me.get(f"{url}/variants", params={"search": text, **params})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    for k in (0, 17, len(rows) - 1):
        (row,) = found(f" {rows[k]['SNP'].upper()} ")["rows"]
        assert (row["index"], row["id"], str(row["position"])) == (k, rows[k]["SNP"], rows[k]["BP"])
    assert found(best["id"])["rows"] == [best]
    place = f"chr{best['chromosome']}:{best['locus']['start']}-{best['locus']['end']}"
    within = found(place)["rows"]
    assert best in within and all(row["locus"] == best["locus"] for row in within)
    assert found(place, start=1, count=2)["rows"] == within[1:3]
    assert best["id"] in {row["id"] for row in found(best["id"][:-1])["rows"]}
    assert found("nothing of this name")["rows"] == []


@pytest.fixture
def small(me: httpx.Client, http: Http) -> str:
    return finished(me, http, [Data.make(seed, variants()) for seed in range(3)])


def test_pictures_are_kept_by_the_browser_and_travel_compressed(me: httpx.Client, small: str) -> None:
    for what in ("manhattan", "qq"):
        answer = me.get(f"{small}/{what}")
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Cache-Control"] == "private, no-cache"  # the form of an answer may change
        assert f"-{what}-{answer.json()['version']}" in answer.headers["ETag"]
        assert {"Cookie", "Accept-Encoding"} <= set(answer.headers["Vary"].split(", "))
        again = me.get(f"{small}/{what}", headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = me.get(f"{small}/{what}", headers={"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in plain.headers and plain.json() == answer.json()
    assert me.get(f"{small}/region?chromosome=1").headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in me.get(f"{small}/results/study.assoc").headers
    assert me.get(small).json()["has_pictures"] is True


def test_nothing_found_is_a_result(me: httpx.Client, small: str) -> None:
    table = me.get(f"{small}/variants").json()
    assert (table["loci"], table["found"], table["rows"]) == (0, 0, [])
    (header,) = me.get(f"{small}/loci.csv").text.splitlines()
    assert header.startswith("CHR,BP,ID,A1,A2,A1_FREQ,OR,L95,U95,SE,P,")
    (row,) = me.get(f"{small}/variants?search=rs3").json()["rows"]
    assert (row["id"], row["locus"], row["lead"]) == ("rs3", None, False)
    assert len(me.get(f"{small}/manhattan").json()["points"]["id"]) == 12


def test_what_cannot_be_asked(me: httpx.Client, small: str) -> None:
    for query in (
        "region",
        "region?chromosome=99",
        "region?chromosome=1&from=x",
        "region?chromosome=1&from=5&to=4",
        "region?chromosome=1&to=99999999999",
        "variants?count=1001",
        "variants?start=-1",
    ):
        answer = me.get(f"{small}/{query}")
        assert answer.status_code == 400, query
        assert {"code", "message", "remedy", "fields"} <= set(answer.json()["error"])


def test_all_files_come_as_one_archive(me: httpx.Client, small: str) -> None:
    answer = me.get(f"{small}/results.zip")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="study-results.zip"'
    assert "Content-Length" not in answer.headers and "Content-Encoding" not in answer.headers
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    listed = [file["name"] for file in me.get(f"{small}/results").json()]
    assert archive.namelist() == [f"study-results/{name}" for name in listed]
    for name in listed:
        assert archive.read(f"study-results/{name}") == me.get(f"{small}/results/{name}").content


def test_the_report_is_among_the_files(me: httpx.Client, small: str) -> None:
    page = me.get(f"{small}/results/study.report.html").text
    assert me.get(small).json()["plan_hash"] in page and page.count("<svg") == 2
    assert me.get(f"{small}/results/study.report.html").headers["Content-Type"] == "application/octet-stream"


def test_a_study_without_a_test_has_no_pictures(me: httpx.Client, http: Http) -> None:
    draft = me.post("/api/v1/studies", json={"name": "Trial", "plan": PLAN}).json()
    schema = {"schema": [{"name": "age", "type": "number"}]}
    tables = me.post(
        "/api/v1/studies", json={"name": "Tables", "plan": {"test": "z-score", "cohorts": 3, **schema}}
    ).json()
    counts = finished(me, http, [Data.make(seed, variants()) for seed in range(3)], files=["frq"], ci=0.0)
    for url in (f"/api/v1/studies/{draft['id']}", f"/api/v1/studies/{tables['id']}", counts):
        for what in ("manhattan", "region?chromosome=1", "qq", "variants", "loci.csv"):
            answer = me.get(f"{url}/{what}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no-pictures"), answer.text
        assert me.get(url).json()["has_pictures"] is False
    assert len(me.get(f"{counts}/table").json()["columns"]["id"]) == 12
