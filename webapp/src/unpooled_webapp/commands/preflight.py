"""`unpooled preflight`: what this release meets on a platform, before it is started there."""

from __future__ import annotations

import click

_WHILE_IT_RUNS = ("sweep",)
"""Checks of a platform that an upgrade has stopped."""


@click.command()
def preflight() -> None:
    """Say what stands in the way of an upgrade to this release, and change nothing.

    Ends with 1 if something does: studies that another release began, a full disk, or a database,
    broker or compensator that does not answer.
    """
    import django

    django.setup()
    from unpooled_server.services import upgrading
    from unpooled_server.services.branches import RELEASE
    from unpooled_webapp.operating import probes

    found = probes.outcomes()
    pending = found.pop("migrations")
    stops = {name: said for name, said in found.items() if said != probes.OK and name not in _WHILE_IT_RUNS}
    click.echo(f"This release is {RELEASE}.")
    for name in sorted({*found} - {*stops, *_WHILE_IT_RUNS}):
        click.echo(f"ok    {name}")
    if pending != probes.OK:
        click.echo(
            f"note  {pending}, or start the platform, which does. Back up first: `unpooled backup FILE`"
        )
    for name, said in stops.items():
        click.echo(f"stop  {name}: {said}")
    waited_for = upgrading.begun_elsewhere() if "database" not in stops else []
    for study in waited_for:
        click.echo(f"stop  {study}")
    if pending == probes.OK:  # older tables do not have them
        for release, cohorts in sorted(upgrading.clients_elsewhere().items()):
            click.echo(f"note  clients of release {release}: {', '.join(cohorts)}")
    if stops or waited_for:
        raise SystemExit(1)
