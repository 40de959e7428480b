"""Times a polygenic score from simulated PLINK files.

    python bench/polygenic.py [--variants 100000] [--samples 5000] [--runs 1]

From the moment all cohorts are ready to the result files on disk, every party and HTTP included.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import rehearsal
from association_files import CACHE, COHORTS, simulated

GOAL = 60.0


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=5_000, help="of all three cohorts together")
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    data = generated(arguments.variants, arguments.samples)
    runs = [study(data) for _ in range(arguments.runs)]
    seconds = [found["seconds"] for found in runs]
    print(f"{arguments.variants:,} variants, {arguments.samples:,} people, {COHORTS} cohorts")
    print(f"  seconds      {statistics.median(seconds):8.2f}    (goal {GOAL:g})")
    print(f"  rounds       {runs[0]['rounds']:8}    (goal 70)")
    print(f"  MB up        {runs[0]['up'] / 1e6:8.1f}    a cohort")
    print(f"  MB down      {runs[0]['down'] / 1e6:8.1f}    a cohort")
    print(f"  R²           {runs[0]['r_squared']:8.4f}    in people left out; share {runs[0]['share']:g}")


def generated(variants: int, samples: int) -> Path:
    sizes = [samples // 2, samples // 3, samples - samples // 2 - samples // 3]
    how = {"effects": [0.15, -0.15] * 20, "trait": "quantitative", "pooled": False}
    return simulated(CACHE / f"{variants}x{samples} for a score", sizes, variants, **how)


def study(data: Path) -> dict[str, float]:
    """Seconds, rounds, bytes of a cohort, and how well the score does."""
    out = data / "score"
    cohorts = [word for k in range(1, COHORTS + 1) for word in ("--bfile", data / f"cohort{k}")]
    report = rehearsal.rehearsed(out, "--fit", "polygenic", *cohorts)
    found = json.loads(out.with_name("score.performance.json").read_text(encoding="utf-8"))
    links = [link for link in report["bytes"]["links"] if link["party"] == "cohort1"]
    return {
        **{name: found[name] for name in ("rounds", "r_squared", "share")},
        "seconds": report["seconds"]["ready_to_files"],
        "up": sum(link["to_server"] for link in links),
        "down": sum(link["from_server"] for link in links),
    }


if __name__ == "__main__":
    main()
