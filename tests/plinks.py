"""Both PLINKs as tests start them, the files that they read, and the reports that they write."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest


def needed(found: object, what: str, package: str = "", install: str = "apt-get install") -> None:
    """Skip with one clear line where a program or data are missing; in CI nothing may be."""
    if not found:
        text = f"{what} is not installed: {install} {package or what}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(text)


def call(program: str, *words: object) -> str:
    """Call a program with these words, assert that it ends well, and return what it printed."""
    needed(shutil.which(program), program)
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


plink = functools.partial(call, "plink1.9")
plink2 = functools.partial(call, "plink2")


def rows(report: Path, separator: str | None = None) -> Iterator[dict[str, str]]:
    """The lines of a report, each by its titles."""
    with report.open(encoding="utf-8") as lines:
        titles = next(lines).split(separator)
        for line in lines:
            yield dict(zip(titles, line.rstrip("\n").split(separator), strict=True))


def bfiles(prefixes: Iterable[Path]) -> list[object]:
    """Arguments that name the files of several cohorts."""
    return [word for prefix in prefixes for word in ("--bfile", prefix)]


def write_bed(prefix: Path, copies: np.ndarray) -> None:
    """Genotypes as .bed: copies of A1, int8 (variants, people), -1 or 3 for a missing call."""
    variants, people = copies.shape
    codes = np.zeros((variants, -(-people // 4) * 4), np.uint8)
    codes[:, :people] = np.array([3, 2, 0, 1])[copies]
    quads = np.bitwise_or.reduce(codes.reshape(variants, -1, 4) << np.array([0, 2, 4, 6], np.uint8), axis=2)
    prefix.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + quads.tobytes())


def forget(bed: Path, rate: float) -> None:
    """Make some calls of a .bed missing, drawn at random."""
    data = np.frombuffer(bed.read_bytes(), np.uint8).copy()
    codes = (data[3:, None] >> np.arange(0, 8, 2)) & 3
    codes[np.random.default_rng(3).random(codes.shape) < rate] = 1
    data[3:] = (codes << np.arange(0, 8, 2)).sum(axis=1).astype(np.uint8)
    bed.write_bytes(data.tobytes())


def split(
    prefix: Path, shares: Sequence[float], folder: Path, *flags: object, cases_only: bool = False
) -> list[Path]:
    """Cut PLINK files into cohorts of uneven size and case fraction; if asked, the last has cases only."""
    people = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
    # Cases first, so that a cut leaves the first cohorts with more of them; then mixed a little.
    chance = np.random.default_rng(5).normal(size=len(people)) + [0.7 * (row[5] == "1") for row in people]
    order = np.argsort(chance)
    bounds = np.round(np.cumsum(shares) / np.sum(shares) * len(people)).astype(int)
    parts = np.split(order, bounds[:-1])
    if cases_only:
        controls = np.array([people[k][5] == "1" for k in parts[-1]])
        parts = [np.concatenate([parts[0], parts[-1][controls]]), *parts[1:-1], parts[-1][~controls]]
    prefixes = []
    for number, members in enumerate(parts, start=1):
        keep = folder / f"keep{number}"
        keep.write_text("".join(f"{people[k][0]} {people[k][1]}\n" for k in sorted(members)))
        prefixes.append(folder / f"part{number}")
        plink("--bfile", prefix, "--keep", keep, "--make-bed", "--out", prefixes[-1], *flags)
    return prefixes
