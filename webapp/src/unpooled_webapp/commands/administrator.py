"""`unpooled administrator`: an administrator's account, from the command line of the platform's machine."""

from __future__ import annotations

import secrets

import click

from unpooled_webapp import environment


@click.command()
@click.argument("name")
def administrator(name: str) -> None:
    """Make NAME an administrator, or give an administrator a new password, and neither a second
    factor nor passkeys.

    Takes the password from UNPOOLED_ADMIN_PASSWORD or the file that UNPOOLED_ADMIN_PASSWORD_FILE names; makes
    one up and prints it otherwise.
    """
    import django

    django.setup()
    from django.contrib.auth.models import User

    from unpooled_webapp import accounts, audit, second_factor

    given = environment.secret("UNPOOLED_ADMIN_PASSWORD")
    password = given or secrets.token_urlsafe(12)
    user = User.objects.filter(username=name).first() or User(username=name)
    user.set_password(password)
    user.is_active = True
    accounts.set_role(user, accounts.ADMINISTRATOR)
    second_factor.remove(user)
    user.passkeys.all().delete()
    audit.record("the operator", "unpooled administrator", name)
    click.echo(
        f"{name} is an administrator" + ("" if given else f", with password {password}   (shown only once)")
    )
