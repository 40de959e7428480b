"""The pages about oneself: name, notifications, API tokens; and the message that goes with an invitation."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
from playwright.sync_api import expect

from ..patience import PATIENCE
from .conftest import Site
from .pages import Pages
from .studies import create_study_of_variants
from .test_people import FIRST, create_account


def test_a_display_name_is_shown_in_place_of_the_user_name(pages: Pages, window: Callable[[], Pages]) -> None:
    create_account(pages, "ada", "coordinator")
    theirs = window()
    theirs.sign_in("ada", FIRST)
    theirs.follow("ada")
    theirs.heading("ada")
    theirs.fill("Display name", "Ada of Tartu")
    theirs.press("Change name")
    theirs.sees("Your name is changed.")
    theirs.heading("Ada of Tartu")
    theirs.look("account-name")
    expect(theirs.page.get_by_role("link", name="Ada of Tartu")).to_be_visible()
    create_study_of_variants(theirs, "Named")
    theirs.sees("coordinated by Ada of Tartu")
    theirs.follow("Log")
    expect(theirs.page.get_by_role("cell", name="Ada of Tartu").first).to_be_visible()
    pages.open("/people")
    expect(pages.page.get_by_role("row", name="ada").get_by_text("Ada of Tartu")).to_be_visible()
    pages.press("Change name of ada")
    pages.fill("Display name", "administrator", pages.dialog)
    pages.press("Change name", pages.dialog)
    pages.sees("Somebody is called this already.")
    pages.fill("Display name", "", pages.dialog)
    pages.press("Change name", pages.dialog)
    expect(pages.dialog).to_be_hidden()
    expect(pages.page.get_by_text("Ada of Tartu")).to_have_count(0)


def test_a_second_factor_is_turned_on_asked_for_and_turned_off(
    pages: Pages, window: Callable[[], Pages]
) -> None:
    create_account(pages, "grace", "observer")
    theirs = window()
    theirs.sign_in("grace", FIRST)
    theirs.follow("grace")
    theirs.press("Set up an app")
    expect(theirs.page.get_by_role("img", name="QR code of the secret")).to_be_visible()
    app = pyotp.TOTP(theirs.page.get_by_text(re.compile("^[A-Z2-7]{32}$")).inner_text())
    theirs.look("second-factor-begun")
    theirs.fill("Code of the app", app.now())
    theirs.press("Turn on")
    codes = theirs.dialog.get_by_label("Codes", exact=True).input_value().split()
    theirs.press("Close", theirs.dialog)
    theirs.sees("You sign in with your password and a code of your app.")
    again = window()
    again.sign_in("grace", FIRST)
    again.sees("This account wants a code, too.")
    again.look("sign-in-code")
    again.fill("Code of the app", codes[0])
    again.press("Sign in")
    again.follow("grace")
    again.fill("Code of the app", codes[0])
    again.press("Turn off")
    again.sees("has already been used")
    pages.open("/people")
    pages.press("Turn off second factor of grace")
    pages.press("Turn off second factor", pages.dialog)
    expect(pages.page.get_by_role("button", name="Turn off second factor of grace")).to_have_count(0)


def test_a_passkey_is_added_signs_in_and_is_removed(pages: Pages, window: Callable[[], Pages]) -> None:
    create_account(pages, "mary", "observer")
    theirs = window()
    theirs.address = theirs.address.replace("127.0.0.1", "localhost")  # passkeys are for names
    devtools = theirs.page.context.new_cdp_session(theirs.page)
    devtools.send("WebAuthn.enable")
    device = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "isUserVerified": True}
    device |= {"hasUserVerification": True, "automaticPresenceSimulation": True}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": device})
    theirs.page.goto(theirs.address)
    theirs.fill("User name", "mary")
    theirs.fill("Password", FIRST)
    theirs.press("Sign in")
    theirs.follow("mary")
    row = theirs.page.get_by_role("row", name="Phone")
    for answer in (row, theirs.dialog.get_by_text("The browser gave no passkey.")):  # a device keeps one
        theirs.press("Add a passkey")
        theirs.fill("Name of the device", "Phone", theirs.dialog)
        theirs.fill("Password", FIRST, theirs.dialog)
        theirs.press("Add a passkey", theirs.dialog)
        expect(answer).to_be_visible()
    theirs.look("passkey-refused")
    theirs.press("Cancel", theirs.dialog)
    expect(row).to_contain_text("never")
    theirs.look("passkeys")
    theirs.press("Sign out")
    theirs.press("Sign in with a passkey")
    theirs.follow("mary")
    expect(row).to_contain_text("ago")
    theirs.press("Remove Phone")
    theirs.press("Remove", theirs.dialog)
    expect(row).to_be_hidden()
    theirs.press("Sign out")
    theirs.press("Sign in with a passkey")
    theirs.sees("No account here has this passkey.")


def test_an_api_token_works_until_it_is_revoked(pages: Pages, site: Site) -> None:
    pages.open("/account/tokens")
    pages.sees("You have no API token.")
    pages.fill("What it is for", "nightly report")
    pages.press("Create token")
    token = pages.dialog.get_by_label("Token", exact=True).input_value()
    pages.look("token-once")
    pages.press("Close", pages.dialog)

    def asked() -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{site.address}/api/v1/studies", headers=headers).status_code

    assert asked() == 200
    pages.open("/account/tokens")
    expect(pages.page.get_by_role("row", name="nightly report")).to_contain_text("ago")
    assert token not in pages.page.content()
    pages.look("tokens")
    pages.press("Revoke nightly report")
    pages.press("Revoke", pages.dialog)
    pages.sees("You have no API token.")
    assert asked() == 401


def test_notifications_are_asked_for_and_their_deliveries_are_listed(pages: Pages) -> None:
    """The receiver is on this machine, where the platform sends nothing: the list says so."""
    pages.open("/account/notifications")
    pages.sees("This platform sends no mail")
    pages.fill("Address of the webhook", "http://localhost/")
    pages.press("Add address")
    pages.sees("does not begin with https://")
    pages.look("notifications-refused")
    pages.fill("Address of the webhook", "https://localhost/hook")
    pages.page.get_by_label("is paused", exact=True).uncheck()
    pages.press("Add address")
    secret = pages.dialog.get_by_label("Secret", exact=True).input_value()
    assert secret.startswith("whsec_")
    pages.press("Close", pages.dialog)
    row = pages.page.get_by_role("row", name="https://localhost/hook").first
    expect(row).to_contain_text("is done, has failed, has long been waiting for a cohort")
    assert secret not in pages.page.content()
    pages.press("Send a test to https://localhost/hook")
    pages.sees("1 attempt: its host is in a private network, where this platform sends nothing")
    pages.look("notifications")
    pages.press("Change https://localhost/hook")
    pages.dialog.get_by_label("Of all studies that I coordinate", exact=True).uncheck()
    pages.press("Change", pages.dialog)
    expect(row).to_contain_text("Those that you chose")
    create_study_of_variants(pages, "Followed")
    pages.follow("Plan")
    with pages.page.expect_response(lambda answer: answer.url.endswith("/following")):
        pages.choose("Notify me about this study")
    pages.page.reload()
    expect(pages.page.get_by_label("Notify me about this study", exact=True)).to_be_checked()
    pages.look("plan-followed")
    pages.follow("Notifications")
    pages.press("Remove https://localhost/hook")
    pages.press("Remove", pages.dialog)
    pages.sees("No address yet.")


def test_the_message_with_an_invitation_has_commands_that_run(
    pages: Pages, small: tuple[Path, ...], tmp_path: Path
) -> None:
    create_study_of_variants(pages, "Ready to send")
    pages.fill("Names", "Graz")
    pages.press("Invite")
    invitation = pages.dialog.get_by_label("Invitation", exact=True).input_value()
    field = pages.dialog.get_by_label("Message to the data manager", exact=True)
    pages.look("invitation-message")
    message = field.input_value()
    assert invitation not in message
    pages.choose("Put the invitation into the message")
    assert invitation in field.input_value()
    mail = pages.dialog.get_by_role("link", name="Write it as a mail").get_attribute("href")
    assert mail is not None
    assert parse_qs(urlsplit(mail).query)["body"] == [field.input_value().replace("\n", "\r\n")]
    pages.press("Close", pages.dialog)

    commands = {line.split()[1]: line for line in message.splitlines() if "/unpooled-client " in line}
    assert set(commands) == {"check", "run"}
    people = [line.split() for line in small[0].with_suffix(".fam").read_text().splitlines()]
    rows = ["FID IID asthma", *(f"{row[0]} {row[1]} {row[5]}" for row in people)]
    (tmp_path / "phenotypes.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "invitation.txt").write_text(invitation)
    files = {"PREFIX": str(small[0]), "PHENOTYPES": "phenotypes.txt"}

    def start(what: str, *more: str) -> subprocess.Popen[str]:
        _, *words = [files.get(word, word) for word in shlex.split(commands[what])]
        client = [sys.executable, "-m", "unpooled_client", *words, *more]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(client, cwd=tmp_path, text=True, **streams)

    checked = start("check", "--min-samples", "20", "--min-per-class", "1")  # as few as these are
    said, _ = checked.communicate(timeout=PATIENCE)
    assert checked.returncode == 0, said
    taking_part = start("run", "--state", str(tmp_path / "state"))
    try:
        expect(pages.page.get_by_role("row", name="Graz")).to_contain_text("Joined")
    finally:
        taking_part.kill()
        taking_part.wait()
