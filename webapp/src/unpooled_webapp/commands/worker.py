"""`unpooled worker`: does the platform's work where there is no broker."""

from __future__ import annotations

import signal
import threading

import click


@click.command()
@click.option("--threads", type=click.IntRange(1, 64), default=2, show_default=True)
def worker(threads: int) -> None:
    """Look for work in the database, and move studies and rounds forward."""
    import django

    from unpooled.memory.allocator import map_large_blocks, share_one_heap

    share_one_heap()
    map_large_blocks()
    django.setup()
    from unpooled.methods import ALGORITHMS, TESTS
    from unpooled_server.worker import Worker
    from unpooled_webapp import environment, installation, tasks

    installation.check_at_start()

    work = Worker(threads, environment.words("UNPOOLED_READY_FOR") or tuple(TESTS))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: work.stop.set())
    click.echo(f"worker: {threads} threads; tests: {', '.join(ALGORITHMS)}", err=True)
    # Not waited for at the end: what it had taken is taken again.
    threading.Thread(target=tasks.keep_delivering, args=(work.stop,), daemon=True).start()
    work.run()
