"""A small cohort as PLINK files, to be spoiled by each test in its own way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "engine"), str(HERE.parents[1])]

FAM = "".join(f"F{i} I{i} 0 0 {1 + i % 2} {1 + i // 30}\n" for i in range(60))
BIM = "1 rs1 0 100 A G\n1 rs2 0 200 C T\n2 rs3 0 50 A C\n"
MAGIC = b"\x6c\x1b\x01"


@dataclass
class PlinkFiles:
    """60 samples, 30 cases and 30 controls, and 3 variants in a folder of their own."""

    folder: Path

    def write(
        self, fam: str | bytes = FAM, bim: str | bytes = BIM, bed: bytes | None = None, **others: str | bytes
    ) -> None:
        """Write the three files and any others, each named as its keyword; the .bed fits them."""
        for name, content in {"t.fam": fam, "t.bim": bim, **others}.items():
            (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        (self.folder / "t.bed").write_bytes(self._bed(fam, bim) if bed is None else bed)

    def _bed(self, fam: str | bytes, bim: str | bytes) -> bytes:
        samples, variants = (_rows(text) for text in (fam, bim))
        rng = np.random.default_rng(samples * 1000 + variants)
        return MAGIC + rng.integers(0, 256, variants * -(-samples // 4), np.uint8).tobytes()

    def options(self, **given: object) -> DataOptions:
        """Options for these files; names of files are taken in the folder."""
        for name in ("bfile", "bed", "bim", "fam", "pheno", "covar", "keep", "remove", "extract", "exclude"):
            if given.get(name) is not None:
                given[name] = self.folder / str(given[name])
        return DataOptions(**{"bfile": self.folder / "t", **given})  # type: ignore[arg-type]

    def open(self, **given: object) -> PlinkData:
        """The data, which must be without errors; floors do not matter."""
        data, report = open_cohort(self.options(**{"min_samples": 1, "min_per_class": 0, **given}))
        assert data is not None, report.findings
        return data

    def check(self, **given: object) -> Report:
        return open_cohort(self.options(**given))[1]

    def plink(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the reference on the same files; its output begins with `out`."""
        from tests.plinks import needed

        needed(shutil.which("plink1.9"), "plink1.9")
        for old in self.folder.glob("out.*"):
            old.unlink()
        command = ["plink1.9", "--bfile", "t", "--out", "out", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def output(self, kind: str) -> list[list[str]]:
        """Words of each line of a file that the reference wrote."""
        return [line.split() for line in (self.folder / f"out.{kind}").read_text().splitlines()]


def _rows(text: str | bytes) -> int:
    data = text.encode() if isinstance(text, str) else text
    return sum(bool(line.strip()) and not line.lstrip().startswith(b"#") for line in data.split(b"\n"))


@pytest.fixture(scope="session")
def plink2() -> Callable[..., str]:
    """Runs it with these flags."""
    from tests.plinks import plink2

    return plink2


@pytest.fixture
def files(tmp_path: Path) -> PlinkFiles:
    made = PlinkFiles(tmp_path)
    made.write()
    return made
