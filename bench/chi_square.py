"""Times a federated chi-square study beside plink1.9 on the pooled file, in turn, on this machine.

    make bench [ARGS="--variants 580000 --samples 1781 --runs 3"]

Federated: from the moment all cohorts are ready to the result files on disk, every party and HTTP included.
PLINK: its whole run on the pooled file, read once before so that it comes from memory, as the cohorts' does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from unpooled.simulate import simulate

CACHE = Path(".cache/bench")
ASKED = {
    "assoc": ["--assoc"],
    "assoc,frq,lmiss,hwe": ["--assoc", "--freq", "--missing", "--hardy"],
}
GOAL_RATIO, GOAL_BYTES = 6.0, 80e6
COHORTS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variants", type=int, default=580_000)
    parser.add_argument("--samples", type=int, default=1_781, help="of each of three cohorts")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    plink = shutil.which("plink1.9") or sys.exit("bench: plink1.9 is not installed: apt-get install plink1.9")
    data = generated(arguments.variants, arguments.samples)
    for files, flags in ASKED.items():
        pairs = []
        for run in range(arguments.runs + 1):
            pooled, report = time_plink(plink, data, flags), time_study(data, files)
            if run:  # the first warms caches, compiled kernels among them
                pairs.append((pooled, report))
        show(files, pairs)


def generated(variants: int, samples: int) -> Path:
    """The simulated files; made once, and kept."""
    data = CACHE / f"{variants}x{samples}"
    if not (data / "truth.json").exists():
        print(f"generating {COHORTS} cohorts of {samples} samples and {variants} variants", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        simulate(data, cohorts=[samples] * COHORTS, variants=variants, missing_rate=(0.3, 0.005))
    return data


def time_plink(plink: str, data: Path, flags: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [plink, "--bfile", str(data / "pooled"), *flags, "--allow-no-sex", "--out", str(data / "plink")],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def time_study(data: Path, files: str) -> dict:
    prefixes = [word for k in range(COHORTS) for word in ("--bfile", str(data / f"cohort{k + 1}"))]
    out = data / "ours"
    command = [sys.executable, "-m", "unpooled_webapp", "rehearse", *prefixes]
    subprocess.run([*command, "--files", files, "--out", str(out), "--quiet"], check=True)
    check_same(data, files)
    return json.loads(Path(f"{out}.report.json").read_text())


def check_same(data: Path, files: str) -> None:
    """A fast wrong answer is worth nothing."""
    for file in files.split(","):
        if (data / f"ours.{file}").read_bytes() != (data / f"plink.{file}").read_bytes():
            sys.exit(f"bench: {file} differs from plink1.9's")


def show(files: str, pairs: list[tuple[float, dict]]) -> None:
    ratios = [report["seconds"]["ready_to_files"] / pooled for pooled, report in pairs]
    traffic = pairs[-1][1]["bytes"]
    print(f"\n{files}: {len(pairs)} runs, each beside plink1.9 on the pooled file; files byte-identical")
    seconds = statistics.median(report["seconds"]["ready_to_files"] for _, report in pairs)
    whole = statistics.median(report["seconds"]["command"] for _, report in pairs)
    spread = f"from {min(ratios):.2f} to {max(ratios):.2f}"
    print(f"  plink1.9        {statistics.median(pooled for pooled, _ in pairs):8.2f} s")
    print(f"  federated       {seconds:8.2f} s")
    print(f"  ratio           {statistics.median(ratios):8.2f}    ({spread}; goal {GOAL_RATIO:g})")
    print(f"  whole command   {whole:8.2f} s")
    print(f"  to the last sum {traffic['to_last_sum'] / 1e6:8.1f} MB  (goal {GOAL_BYTES / 1e6:g})")
    print(f"  delivery        {traffic['delivery'] / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
