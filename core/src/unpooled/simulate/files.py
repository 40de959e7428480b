"""Writing `.bed`, `.bim`, `.fam`, `.pheno` and `.cov` files in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from types import TracebackType

import numpy as np

from unpooled.simulate.genotypes import row_bytes
from unpooled.simulate.people import People, covariate_names

_MAGIC = bytes([0x6C, 0x1B, 0x01])  # PLINK 1 .bed, variant-major
_BIM_ROWS = 50_000
_STRANGERS = 3  # rows that match nobody, in an odd table


class BedWriter:
    """Rows of a `.bed` file in any order; each row is written where it belongs."""

    def __init__(self, path: Path, samples: int) -> None:
        self._file: BufferedRandom = path.open("w+b")
        self._file.write(_MAGIC)
        self._width = row_bytes(samples)

    def write(self, rows: np.ndarray, packed: np.ndarray) -> None:
        """Put `packed` (k, bytes of a row) at the row numbers `rows`, int64 (k,)."""
        order = np.argsort(rows, kind="stable")
        cuts = np.flatnonzero(np.diff(rows[order]) != 1) + 1
        for run in np.split(order, cuts):
            if run.size:
                self._file.seek(len(_MAGIC) + int(rows[run[0]]) * self._width)
                self._file.write(np.ascontiguousarray(packed[run]).data)

    def __enter__(self) -> BedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


@dataclass(frozen=True, eq=False)
class Bim:
    """The columns of a `.bim` file, in the order of its rows."""

    chromosome: np.ndarray  # uint8 codes
    position: np.ndarray
    name: np.ndarray
    a1: np.ndarray
    a2: np.ndarray

    def take(self, index: np.ndarray) -> Bim:
        return Bim(
            self.chromosome[index], self.position[index], self.name[index], self.a1[index], self.a2[index]
        )

    def write(self, path: Path, labels: dict[int, str], separator: str = "\t") -> None:
        """`labels` says how each chromosome code is written."""
        form = separator.join(["%s", "%s", "0", "%d", "%s", "%s"]) + "\n"
        with path.open("w", encoding="ascii", newline="\n") as file:
            for start in range(0, len(self.position), _BIM_ROWS):
                part = self.take(np.arange(start, min(start + _BIM_ROWS, len(self.position))))
                file.writelines(map(form.__mod__, part._rows(labels)))

    def _rows(self, labels: dict[int, str]) -> Iterable[tuple[str, str, int, str, str]]:
        name, a1, a2 = (column.astype(str).tolist() for column in (self.name, self.a1, self.a2))
        chromosome = [labels[code] for code in self.chromosome.tolist()]
        return zip(chromosome, name, self.position.tolist(), a1, a2, strict=True)


def chromosome_labels(autosomes: int, style: str) -> dict[int, str]:
    """Return the labels of chromosomes: `numbers` (X is autosomes + 1), `letters` (X) or `chr` (chrX)."""
    labels = {code: str(code) for code in range(autosomes + 5)}
    if style == "numbers":
        return labels
    labels |= {autosomes + i: label for i, label in enumerate(("X", "Y", "XY", "MT"), start=1)}
    if style == "chr":
        # PLINK reads `chr0` as an unknown name; unplaced variants stay a bare 0.
        labels = {code: f"chr{label}" if code else label for code, label in labels.items()}
    return labels


def write_fam(
    path: Path, people: Sequence[People], phenotypes: Sequence[list[str]], separator: str = " "
) -> None:
    """Write one row per person, cohort after cohort."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        for some, phenotype in zip(people, phenotypes, strict=True):
            sex = np.where(some.sex_unknown, 0, some.sex).tolist()
            rows = zip(
                some.family, some.name, some.father, some.mother, map(str, sex), phenotype, strict=True
            )
            file.writelines(separator.join(row) + "\n" for row in rows)


def write_table(
    path: Path, people: Sequence[People], header: Sequence[str], rows: Sequence[list[str]], odd: bool = False
) -> None:
    """A `--pheno` or `--covar` file; `rows` has one list per cohort, one text per person.

    If `odd`, the rows stand in another order than those of the .fam file, behind some that match nobody.
    """
    lines = [
        "\t".join(row)
        for some, texts in zip(people, rows, strict=True)
        for row in zip(some.family, some.name, texts, strict=True)
    ]
    if odd:
        strangers = ["\t".join(["X", f"X{i}", *["1"] * len(header)]) for i in range(_STRANGERS)]
        lines = strangers + lines[::-1]
    first = "\t".join(["FID", "IID", *header])
    path.write_text("\n".join([first, *lines]) + "\n", encoding="ascii", newline="\n")


def covariate_texts(people: People) -> list[str]:
    """Write each person's covariates as a text, `NA` where missing."""
    return [
        "\t".join("NA" if np.isnan(x) else f"{x:.10g}" for x in row) for row in people.covariates.tolist()
    ]


def covariate_header(people: People) -> list[str]:
    return covariate_names(people.covariates.shape[1])
