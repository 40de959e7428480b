"""Smoothness of a real browser over the pictures of a study: the time between its frames while it moves.

The keys of a person who looks around: into the plot six times, along it, and out again. After each, the time
of every frame until the picture has been still for a while. Needs Chromium, and Playwright of `scripts/setup
dev`.
"""

from __future__ import annotations

import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

KEYS = ["+"] * 6 + ["ArrowRight"] * 4 + ["-"] * 6
WATCHED = 700  # milliseconds after each key: the glide takes 220, and new points come when it ends
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FRAMES = """(watched) => new Promise((done) => {
  const times = [], start = performance.now();
  requestAnimationFrame(function step(now) {
    times.push(now);
    if (now - start < watched) requestAnimationFrame(step); else done(times);
  });
})"""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def _served(application: Any) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, application, _Server, _Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def frames(application: Any, study: str, name: str, password: str) -> Iterator[str]:
    """Lines that say how long the results take to show, and how long the frames of looking around are."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield "not measured in a browser: that needs Chromium and Playwright (scripts/setup dev)"
        return
    with _served(application) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(base_url=address, viewport={"width": 1366, "height": 768})
        page.goto("/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_role("heading", level=1, name="Studies").wait_for()
        start = time.perf_counter()
        page.goto(f"/studies/{study}/results")
        plot = page.get_by_role("application", name="Manhattan plot")
        plot.get_by_role("img", name="Manhattan plot").wait_for()
        yield f"{'results in a browser':24} {time.perf_counter() - start:7.3f} s"
        plot.focus()
        taken: list[float] = []
        for key in KEYS:
            page.keyboard.press(key)
            times = page.evaluate(FRAMES, WATCHED)
            taken += [after - before for before, after in pairwise(times)]
        browser.close()
    late = sum(one > 50 for one in taken)
    median = f"{'frames while moving':24} {statistics.median(taken):7.1f} ms at the median"
    yield f"{median}, {max(taken):.0f} ms the longest; {late} of {len(taken)} took more than 50 ms"
