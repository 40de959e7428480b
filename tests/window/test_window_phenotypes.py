"""A study of two phenotypes with nothing but the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from client_trials import Trial
from window_desk import Desk

from unpooled.statistics import inflation_text
from unpooled_client.state.stage import Stage

MakeStudy = Callable[..., Trial]


def test_columns_are_found_by_name_and_results_are_chosen(
    desk: Desk, study: MakeStudy, beside: Callable[..., None], tmp_path: Path
) -> None:
    trial = study(
        test="linear", trait="quantitative", phenotype="ldl", phenotypes=["hdl"], files=["assoc", "glm"]
    )
    me, *others = trial.members
    random, lines = np.random.default_rng(1), ["FID IID ldl hdl"]
    for member in trial.members:
        for k, line in enumerate(Path(f"{member.bfile}.fam").read_text().splitlines()):
            values = random.normal(size=2)
            hdl = "NA" if k < 10 else f"{values[1]:.4f}"
            lines.append(" ".join([*line.split()[:2], f"{values[0]:.4f}", hdl]))
    (table := tmp_path / "lipids.txt").write_text("\n".join(lines) + "\n")
    beside(*others, more=["--pheno", str(table)])
    desk.agree(me)
    data = desk.view.data
    data.genotypes.set_path(str(me.bfile))
    desk.press(data.check_button)
    desk.reads("the plan asks for several phenotypes")
    data.pheno.set_path(str(table))
    desk.until(lambda: data.pheno_note.text().startswith("✓ All 2 phenotypes"))
    assert not data.pheno_name.isVisible()
    desk.check_and_start()
    desk.at(Stage.RESULTS)
    results = desk.view.results
    desk.until(lambda: results.pictures.numbers["λ"].isVisible())
    assert [results.phenotype.itemText(k) for k in range(results.phenotype.count())] == ["ldl", "hdl"]
    desk.look("results-phenotypes")
    folder = results.folder
    assert folder is not None
    desk.until(lambda: "Verified" in results.totals.text)  # the run has ended
    for name in ("hdl", "ldl"):
        desk.until(lambda: not desk.window.busy.words)
        results.phenotype.setCurrentText(name)
        desk.until(lambda: not desk.window.busy.words)
        head, first, *_ = (folder / f"study.{name}.own-against-pool.tsv").read_text().splitlines()
        strongest = dict(zip(head.split("\t"), first.split("\t"), strict=True))
        assert strongest["SNP"] in results.own.text and strongest["POOL_P"] in results.own.text
        assert results.pictures.numbers["λ"].text() == inflation_text(inflation_of(trial, name))
    assert "study.hdl.assoc.linear" in results.files.text


def inflation_of(trial: Trial, phenotype: str) -> float:
    summaries = trial.platform.call("GET", f"studies/{trial.id}")["summaries"]
    return float(next(each["genomic_inflation"] for each in summaries if each["phenotype"] == phenotype))
