"""Draws the picture in the README: a Manhattan plot of an .assoc file.

.venv/bin/unpooled demo --exit
.venv/bin/python docs/manhattan.py demo-out/demo.assoc docs/images/demo.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

GENOME_WIDE, SUGGESTIVE = 5e-8, 1e-5
EVEN, ODD, LEAD, INK = "#8aa3bf", "#3f6389", "#7b2d8e", "#333333"


def read(assoc: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Chromosome, position, ID and -log10 P of the variants that have a P value."""
    lines = [line.split() for line in assoc.read_text().splitlines()]
    header, rows = lines[0], lines[1:]
    column = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    known = np.array([p != "NA" for p in column["P"]])
    p = np.array(column["P"])[known].astype(float)
    chromosome = np.array(column["CHR"], int)[known]
    position = np.array(column["BP"], float)[known]
    return chromosome, position, np.array(column["SNP"])[known], -np.log10(np.maximum(p, 1e-300))


def along_the_genome(
    chromosome: np.ndarray, position: np.ndarray
) -> tuple[np.ndarray, dict[int, tuple[float, float]]]:
    """x of each variant, chromosomes end to end, and where each chromosome lies."""
    x, at, places = np.empty(len(position)), 0.0, {}
    for code in np.unique(chromosome):
        inside = chromosome == code
        x[inside] = at + position[inside]
        end = at + position[inside].max()
        places[int(code)] = (at, end)
        at = end + 2e7
    return x, places


def leads(x: np.ndarray, score: np.ndarray, apart: float = 5e6) -> list[int]:
    """The strongest variant of each locus beyond the genome-wide line."""
    found: list[int] = []
    for k in np.argsort(-score):
        if score[k] < -np.log10(GENOME_WIDE):
            break
        if all(abs(x[k] - x[other]) > apart for other in found):
            found.append(int(k))
    return found


def draw(assoc: Path, out: Path) -> None:
    chromosome, position, name, score = read(assoc)
    x, places = along_the_genome(chromosome, position)
    figure, axes = plt.subplots(figsize=(9.6, 3.5), dpi=150)
    axes.scatter(x, score, s=5, c=np.where(chromosome % 2, ODD, EVEN), linewidths=0)
    axes.axhline(-np.log10(GENOME_WIDE), color=INK, lw=0.8)
    axes.axhline(-np.log10(SUGGESTIVE), color=INK, lw=0.6, ls=":")
    for k in leads(x, score):
        axes.scatter(x[k], score[k], s=38, marker="D", c=LEAD, linewidths=0, zorder=3)
        axes.annotate(name[k], (x[k], score[k]), (7, -2), textcoords="offset points", fontsize=8, color=INK)
    shown = [code for code in places if code <= 12 or code % 2 == 0]  # the last ones are too short for all
    axes.set_xticks([sum(places[code]) / 2 for code in shown], [str(code) for code in shown], fontsize=8)
    axes.set_ylim(0, score.max() * 1.1)
    axes.set_xlim(-2e7, x.max() + 2e7)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=8)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set_xlabel("chromosome", fontsize=9)
    axes.set_ylabel("−log₁₀ P", fontsize=9)  # noqa: RUF001  # a minus sign
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0)
    figure.tight_layout()
    figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("assoc", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    draw(given.assoc, given.out)
