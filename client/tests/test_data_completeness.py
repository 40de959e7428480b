"""--mind against plink1.9, and the floor after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled.plan import Plan
from unpooled_client.data.completeness import kept_by_mind, missing_calls
from unpooled_client.study.reading import Alignments, DataRefused

BIM = "".join(f"{c} v{c}_{k} 0 {k + 1} A G\n" for c in (1, 5, 23, 24, 26) for k in range(40))


@pytest.mark.parametrize("most", [0.0, 0.22, 0.25, 0.2667, 0.27, 0.4, 1.0])
def test_who_is_kept_is_plinks(files: Any, most: float) -> None:
    files.write(bim=BIM)
    done = files.plink("--mind", str(most), "--make-just-fam")
    plinks = {row[0] for row in files.output("fam")} if done.returncode == 0 else set()
    data = files.open()
    kept = kept_by_mind(data.align(data.panel), data.panel, most, 22)
    assert {f"F{k}" for k in np.flatnonzero(kept)} == plinks


def test_missing_calls_are_counted_per_person(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    words = data.align(data.panel).packed(slice(None)).words
    shifts = 2 * np.arange(32, dtype=np.uint64)
    codes = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), -1)[:, :60]
    assert missing_calls(data.align(data.panel), np.arange(200)).tolist() == (codes == 1).sum(axis=0).tolist()


def test_a_cohort_that_mind_leaves_too_small_declines(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open(min_samples=50)
    plan = Plan("chi-square", "asthma", 3, bytes(32), mind=0.2)
    with pytest.raises(DataRefused):
        Alignments(data, plan)._without_incomplete(data.align(data.panel), data.panel)
