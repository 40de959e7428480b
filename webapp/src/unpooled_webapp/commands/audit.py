"""`unpooled audit`: the audit log, for whoever keeps it elsewhere."""

from __future__ import annotations

import json

import click


@click.command()
@click.option(
    "--check", is_flag=True, help="Print only how many entries there are, and the last one's digest."
)
def audit(check: bool) -> None:
    """Print who changed what, as lines of JSON, the oldest first, and check that no entry was changed."""
    import django

    django.setup()
    from unpooled_webapp.audit import Damaged, lines

    count, last = 0, ""
    try:
        for line in lines():
            count, last = count + 1, line["digest"]
            if not check:
                click.echo(json.dumps(line, ensure_ascii=False))
    except Damaged as error:
        raise click.ClickException(f"{error}. The entries before it are sound.") from None
    if check:
        click.echo(f"Entries: {count:,}. Digest of the last: {last or 'none'}")
