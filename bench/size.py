"""Measures a study of many variants that three cohorts list differently: peak memory of each party, and time.

    python bench/size.py [--variants 1000000 3000000] [--samples 300] [--by-id] [--pgen]

Each cohort lacks another hundredth of the variants, so that all three lists travel and are compared. One in
twelve is an insertion or deletion, as among imputed variants. The genotypes of 65,536 variants are repeated.
Peaks are those of `memory.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import rehearsal
from memory import PARTIES, largest_of

CACHE = Path(".cache/bench")
COHORTS = 3
CHROMOSOMES = 22
TILE = 1 << 16
BLOCK = 1 << 18
BED = bytes([0x6C, 0x1B, 0x01])


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--variants", type=int, nargs="+", default=[1_000_000, 3_000_000])
    parser.add_argument("--samples", type=int, default=300, help="of each of three cohorts")
    parser.add_argument("--by-id", action="store_true", help="match variants by ID instead of place")
    parser.add_argument("--pgen", action="store_true", help="give the cohorts .pgen files, made by plink2")
    arguments = parser.parse_args()
    for variants in arguments.variants:
        measure(variants, arguments.samples, by_id=arguments.by_id, pgen=arguments.pgen)


def measure(variants: int, samples: int, *, by_id: bool, pgen: bool) -> None:
    data = generated(variants, samples)
    prefixes = [data / f"cohort{k + 1}" for k in range(COHORTS)]
    if pgen:
        make_pgen(prefixes)
    cohorts = [word for prefix in prefixes for word in ("--pfile" if pgen else "--bfile", str(prefix))]
    words = ["--test", "chi-square", "--files", "assoc", *cohorts, *([] if by_id else ["--by-place"])]
    started = time.perf_counter()
    largest = largest_of(rehearsal.command(data / "ours", *words))
    if largest is None:
        sys.exit("bench: the study failed")
    report = rehearsal.report(data / "ours")
    how = f"by {'ID' if by_id else 'place'}, in {'.pgen' if pgen else '.bed'} files"
    print(f"\n{variants:,} variants {how}, three cohorts of {samples:,}")
    print(f"  agreed on {report['variants']:,} variants")
    print(f"  whole command {time.perf_counter() - started:.0f} s")
    for phase, seconds in report["seconds"]["phases"].items():
        print(f"    {phase:<16} {seconds:8.1f} s")
    print(f"  to the last sum {report['bytes']['to_last_sum'] / 1e6:.0f} MB")
    for party in PARTIES:
        print(f"  {party:<16} {largest[party] / 1e6:8.0f} MB at the peak")


def generated(variants: int, samples: int) -> Path:
    """The files of the cohorts; made once, and kept."""
    data = CACHE / f"size-{variants}x{samples}"
    if not (data / "done").exists():
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        random = np.random.default_rng(1)
        for k in range(COHORTS):
            write_people(data / f"cohort{k + 1}.fam", samples, f"c{k + 1}")
            (data / f"cohort{k + 1}.bed").write_bytes(BED)
        tile = tile_of(samples, random)
        for start in range(0, variants, BLOCK):
            write_block(data, start, min(start + BLOCK, variants), variants, tile, random)
        (data / "done").touch()
    return data


def make_pgen(prefixes: list[Path]) -> None:
    for prefix in prefixes:
        if not prefix.with_suffix(".pgen").exists():
            command = ["plink2", "--bfile", prefix, "--make-pgen", "--out", prefix]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write_people(path: Path, samples: int, family: str) -> None:
    lines = [f"{family} p{k} 0 0 {1 + k % 2} {1 + k // 2 % 2}\n" for k in range(samples)]
    path.write_text("".join(lines))


def tile_of(samples: int, random: np.random.Generator) -> np.ndarray:
    """Genotypes as a .bed has them: uint8 (COHORTS, TILE, bytes of a variant)."""
    frequency = random.uniform(0.05, 0.5, (TILE, 1))
    tiles = []
    for _ in range(COHORTS):
        copies = random.binomial(2, frequency, (TILE, samples + -samples % 4))
        calls = np.array([3, 2, 0], np.uint8)[copies]
        calls[:, samples:] = 0
        four = calls.reshape(TILE, -1, 4) << np.array([0, 2, 4, 6], np.uint8)
        tiles.append(four.sum(axis=2, dtype=np.uint8))
    return np.stack(tiles)


def write_block(
    data: Path, start: int, stop: int, variants: int, tile: np.ndarray, random: np.random.Generator
) -> None:
    """The variants from `start` to `stop`, without those that each cohort lacks."""
    of_chromosome = -(-variants // CHROMOSOMES)
    bases, longer = np.array(list("ACGT")), np.array(["AT", "CAG", "GTTA", "TC"])
    a1 = random.integers(4, size=stop - start)
    a2 = bases[(a1 + random.integers(1, 4, size=stop - start)) % 4]
    indel = random.integers(12, size=stop - start) == 0
    a2 = np.where(indel, longer[random.integers(4, size=stop - start)], a2)
    lines = [
        f"{k // of_chromosome + 1}\trs{k + 1}\t0\t{70 * (k % of_chromosome) + 10_000}\t{one}\t{other}\n"
        for k, one, other in zip(range(start, stop), bases[a1], a2, strict=True)
    ]
    absent = random.integers(100, size=stop - start)
    places = np.arange(start, stop) % TILE
    for k in range(COHORTS):
        here = np.flatnonzero(absent != k)
        with (data / f"cohort{k + 1}.bim").open("a") as file:
            file.writelines(lines[i] for i in here.tolist())
        with (data / f"cohort{k + 1}.bed").open("ab") as file:
            file.write(tile[k, places[here]].tobytes())


if __name__ == "__main__":
    main()
