"""Times what a browser asks of a study of ten million variants, and what its pictures cost when it ends.

    make bench, or: python bench/pictures.py [--variants 10000000]

The result columns are made up, and kept as a study's are; the pictures are drawn in a process of their own,
as a worker would; the requests are whole ones of a signed-in person, through the real web application, in
this process. Each figure is the median of several requests, the first of each kind left out and shown apart.
Last a browser moves over the pictures (`frames.py`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rehearsal
from frames import frames

from unpooled.panel.builds import ENDS

RUNS = 7
KEY = "pictures"
PASSWORD = "made up for the bench"  # noqa: S105
LIMITS = {"overview": (0.2, 60_000), "region": (0.3, None)}
"""Seconds, and compressed bytes."""

AUTOSOMES = ENDS["GRCh37"][:22]
HITS = 400
BLOCK = 1 << 20


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--variants", type=int, default=10_000_000)
    parser.add_argument("--draw", metavar="STUDY", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.draw:
        drawn(arguments.draw)
        return
    with tempfile.TemporaryDirectory(prefix="unpooled-bench-") as home:
        os.environ |= {
            "UNPOOLED_HOME": home,
            "UNPOOLED_DATABASE_URL": "",
            "UNPOOLED_BROKER_URL": "",
            "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        }
        broken = measured(arguments.variants)
    if broken:
        sys.exit(f"bench: {'; '.join(broken)}")


def measured(variants: int) -> list[str]:
    """Print all figures; which limits are broken."""
    import django

    django.setup()
    study = study_of(variants)
    print(f"\npictures of {variants:,} variants")
    subprocess.run([sys.executable, __file__, "--draw", study.pk], check=True)
    broken = list(requests(study))
    from unpooled_webapp.wsgi import application

    for line in frames(application, study.pk, "bench", PASSWORD):
        print(f"  {line}")
    return broken


def study_of(variants: int) -> Any:
    """A linear study that is done, and its result columns on disk."""
    from django.core.management import call_command

    from unpooled.plan.plan import NO_KEY, Plan
    from unpooled_server.models import Study
    from unpooled_server.storage import store
    from unpooled_webapp import accounts

    call_command("migrate", verbosity=0)
    owner = accounts.create("bench", PASSWORD, accounts.ADMINISTRATOR)
    plan = Plan(test="linear", phenotype="trait", trait="quantitative", cohorts=3, compensator_key=NO_KEY,
                files=("assoc",))  # fmt: skip
    study = Study.objects.create(
        owner=owner,
        name="bench",
        state="done",
        results_folder=KEY,
        plan_json=plan.to_json(),
    )
    made = dict(columns(variants))
    for name, column in made.items():
        store.keep_column(study.pk, KEY, name, len(column), column.__getitem__)
    names = [name for name in made if name != "alleles"]
    Study.objects.filter(pk=study.pk).update(columns=names)
    study.refresh_from_db()
    return study


def columns(variants: int) -> Iterator[tuple[str, np.ndarray]]:
    """Made-up results: nothing, but for peaks about some hundred places, a few of them huge."""
    from unpooled.kernels.statistics import normal_neg_log10_p

    random = np.random.default_rng(1)
    share = np.array(AUTOSOMES) / sum(AUTOSOMES)
    chromosome = np.repeat(np.arange(1, 23, dtype=np.uint8), random.multinomial(variants, share))
    position = np.empty(variants, np.int32)
    for code, size in enumerate(AUTOSOMES, start=1):
        inside = chromosome == code
        position[inside] = np.sort(random.integers(1, size, np.count_nonzero(inside)))
    z = random.normal(size=variants) * 1.02
    for place in random.integers(0, variants, HITS).tolist():
        near = slice(max(place - 50, 0), place + 50)
        z[near] += random.exponential(5) * random.uniform(0, 1, len(z[near]))
    se = random.uniform(0.01, 0.2, variants)
    yield "chromosome", chromosome
    yield "position", position
    yield "id", np.char.add(b"rs", random.permutation(variants).astype("S8"))
    for name, code in (("a1", 0), ("a2", 1)):
        yield name, np.full(variants, code, np.uint32)
    yield "alleles", np.frombuffer(b"A\nG", np.uint8)
    yield "a1_freq", 0.5 * random.beta(0.5, 1.5, variants)
    yield "beta", z * se
    yield "se", se
    yield (
        "neg_log10_p",
        np.concatenate([normal_neg_log10_p(z[at : at + BLOCK]) for at in range(0, variants, BLOCK)]),
    )
    yield "code", np.zeros(variants, np.uint8)


def drawn(study_id: str) -> None:
    """Draw the pictures of a study, and say what that took."""
    import django

    django.setup()
    from unpooled_server.models import Study
    from unpooled_server.reads.result_columns import results_of
    from unpooled_server.services import pictures

    study = Study.objects.get(pk=study_id)
    before, start = peak(), time.perf_counter()
    pictures.draw(results_of(study, ""), {})
    seconds = time.perf_counter() - start
    print(f"  drawn when a study ends  {seconds:6.2f} s; {peak():,.0f} MB at the peak, {before:,.0f} before")


def peak() -> float:
    """Largest resident size of this process so far, in MB, mapped pages of files included."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def requests(study: Any) -> Iterator[str]:
    """Ask for everything that a browser asks for; yields which limits are broken."""
    import httpx

    from unpooled_webapp.wsgi import application

    random = np.random.default_rng(2)
    ids = np.load(
        Path(os.environ["UNPOOLED_HOME"]) / "studies" / study.pk / f"results-{KEY}/columns/id.npy", "r"
    )
    few = [int(start) for start in random.integers(1, 240_000_000, RUNS + 1)]
    asked: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "overview": [("manhattan", {})] * (RUNS + 1),
        "QQ": [("qq", {})] * (RUNS + 1),
        "loci": [("variants", {})] * (RUNS + 1),
        "region of 500 kb": [("region", {"chromosome": 1, "from": at, "to": at + 499_999}) for at in few],
        "region of 5 Mb": [("region", {"chromosome": 1, "from": at, "to": at + 4_999_999}) for at in few],
        "region: chromosome 1": [("region", {"chromosome": 1})] * (RUNS + 1),
        "search by ID": [
            ("variants", {"search": ids[row].decode()}) for row in random.integers(0, len(ids), RUNS + 1)
        ],
        "search by place": [("variants", {"search": f"1:{at}-{at + 9_999}"}) for at in few],
    }
    with httpx.Client(transport=httpx.WSGITransport(app=application), base_url="http://localhost") as client:
        client.post("/api/v1/session", json={"username": "bench", "password": PASSWORD}).raise_for_status()
        for name, several in asked.items():
            taken, sizes = zip(*(timed(client, study.pk, *one) for one in several), strict=True)
            seconds, size = statistics.median(taken[1:]), max(sizes)
            print(f"  {name:24} {seconds:7.3f} s  (first {taken[0]:.3f} s)  {size / 1000:8.1f} kB compressed")
            limit, most = next((each for kind, each in LIMITS.items() if name.startswith(kind)), (None, None))
            if limit and seconds > limit:
                yield f"{name}: {seconds:.2f} s of {limit} s"
            if most and size > most:
                yield f"{name}: {size:,} bytes of {most:,}"


def timed(client: Any, study: str, what: str, parameters: dict[str, Any]) -> tuple[float, int]:
    """Seconds and bytes of the body, as they travel, of one request."""
    start = time.perf_counter()
    request = client.build_request("GET", f"/api/v1/studies/{study}/{what}", params=parameters)
    answer = client.send(request, stream=True)
    body = b"".join(answer.iter_raw())
    seconds = time.perf_counter() - start
    if answer.status_code != 200:
        sys.exit(f"bench: {what} {parameters}: {answer.status_code} {body[:200]!r}")
    if answer.headers.get("Content-Encoding") != "gzip" and len(body) > 1000:
        sys.exit(f"bench: {what} is not compressed")
    return seconds, len(body)


if __name__ == "__main__":
    main()
