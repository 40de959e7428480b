"""A study of one column, whose words are diagnoses; its dictionary is what the attackers are after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..federation import Federation, Trial

TITLE = "diagnosis"
USUAL = ("asthma", "copd", "none")
"""Many people of every cohort have these words."""
PEOPLE = 80


@contextmanager
def study(
    running: Federation, folder: Path, others: Sequence[Sequence[str]] = ((), (), ()), **dictionary: Any
) -> Iterator[Trial]:
    """Make a study of cohorts with the usual words and these others; `dictionary` goes into the schema."""
    random, paths = np.random.default_rng(2), [folder / f"table{k}.csv" for k in range(len(others))]
    for path, more in zip(paths, others, strict=True):
        path.write_text("\n".join([TITLE, *more, *random.choice(USUAL, PEOPLE)]) + "\n")
    made = running.study(
        paths,
        test="encode",
        trait="none",
        phenotype="",
        panel_mode="none",
        files=["encoding"],
        schema=[{"name": TITLE, "type": "category", "encoding": "one-hot", **dictionary}],
    )
    yield made
    made.stop()


def encoding(trial: Trial) -> dict[str, Any]:
    """Read the column's encoding from the results of a study that is done."""
    assert trial.state == "done", trial.story()
    (column,) = json.loads(trial.cohorts[0].results()["study.encoding.json"])["columns"]
    return dict(column)
