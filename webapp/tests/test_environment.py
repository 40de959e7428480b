"""Settings from the environment: secrets from files, databases from addresses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unpooled_webapp import environment


def test_a_secret_comes_from_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.secret("UNPOOLED_X") == ""
    monkeypatch.setenv("UNPOOLED_X", "plain")
    assert environment.secret("UNPOOLED_X") == "plain"
    (tmp_path / "x").write_text("from a file\n")
    monkeypatch.setenv("UNPOOLED_X_FILE", str(tmp_path / "x"))
    assert environment.secret("UNPOOLED_X") == "from a file"
    monkeypatch.setenv("UNPOOLED_X_FILE", str(tmp_path / "y"))
    with pytest.raises(SystemExit, match="UNPOOLED_X_FILE"):
        environment.secret("UNPOOLED_X")


def test_a_made_up_secret_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = environment.kept_secret(path)
    assert len(made) >= 43
    assert environment.kept_secret(path) == made
    assert path.stat().st_mode & 0o777 == 0o600


def test_databases(tmp_path: Path) -> None:
    found = environment.database("postgresql://ann:p%40ss@db.example:5433/unpooled", tmp_path / "x")
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"], found["NAME"]) == (
        "ann",
        "p@ss",
        "db.example",
        "5433",
        "unpooled",
    )
    assert environment.database("", tmp_path / "x")["NAME"] == tmp_path / "x"
    assert environment.database("sqlite:////data/y", tmp_path / "x")["NAME"] == Path("/data/y")
    options = environment.database("", tmp_path / "x")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert "synchronous=FULL" in options["init_command"]
    with pytest.raises(SystemExit, match="UNPOOLED_DATABASE_URL"):
        environment.database("mysql://x/y", tmp_path / "x")


def test_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.number("UNPOOLED_N", 5) == 5
    monkeypatch.setenv("UNPOOLED_N", "2.5")
    assert environment.number("UNPOOLED_N", 5) == 2.5
    monkeypatch.setenv("UNPOOLED_N", "many")
    with pytest.raises(SystemExit, match="UNPOOLED_N"):
        environment.number("UNPOOLED_N", 5)


def settings_with(tmp_path: Path, **variables: str) -> str:
    """Return the settings of a deployment with these variables, as a fresh process prints them."""
    names = ("DEBUG", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS", "ALLOWED_HOSTS")
    code = f"from unpooled_webapp import settings as s; print(*[getattr(s, n) for n in {names}])"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("UNPOOLED_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, "UNPOOLED_HOME": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_behind_https_cookies_are_for_https_only(tmp_path: Path) -> None:
    said = settings_with(tmp_path, UNPOOLED_PUBLIC_URL="https://studies.example.org")
    assert said.startswith("False True True 31536000 ['studies.example.org'")
    assert settings_with(tmp_path).startswith("False False False 0 ['localhost'")


@pytest.mark.parametrize(
    ("arguments", "variables", "want"),
    [
        (["administrator", "bob"], {}, "is not set up"),
        (["up", "--port", "0"], {"UNPOOLED_DATABASE_URL": "sqlite:////dev/null/x"}, "cannot be used"),
        (["up", "--port", "0"], {"UNPOOLED_HOME": "/dev/null/x"}, "/dev/null/x: Not a directory"),
        (["demo", "--exit", "--out", "/dev/null/x"], {}, "/dev/null/x"),
    ],
)
def test_a_disk_or_a_database_that_is_not_there_is_said_to_be_so(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], want: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unpooled_webapp", *arguments],
        env={**os.environ, "UNPOOLED_HOME": str(tmp_path), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert want in done.stderr
    assert "Traceback" not in done.stderr


def test_mail_is_off_until_a_server_is_named() -> None:
    assert environment.mail("") == {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    assert environment.mail_sender("") == ""


@pytest.mark.parametrize(
    "url, port, tls, starttls",
    [
        ("smtps://mail.example.org", 465, True, False),
        ("smtp://ann:p%40ss@mail.example.org", 587, False, True),
        ("smtp://mail.example.org:25", 25, False, True),
        ("smtp://localhost:1025", 1025, False, False),
    ],
)
def test_mail_is_encrypted_wherever_there_is_a_network(
    url: str, port: int, tls: bool, starttls: bool
) -> None:
    found = environment.mail(url)
    assert (found["EMAIL_PORT"], found["EMAIL_USE_SSL"], found["EMAIL_USE_TLS"]) == (port, tls, starttls)
    assert found["EMAIL_HOST_PASSWORD"] in ("", "p@ss")


@pytest.mark.parametrize("url", ["mail.example.org", "https://mail.example.org", "smtp://"])
def test_what_is_no_mail_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SystemExit, match="UNPOOLED_MAIL_URL: want smtp"):
        environment.mail(url)


@pytest.mark.parametrize(("said", "ports"), [("", []), ("8443", [8443]), ("8443, 9443", [8443, 9443])])
def test_further_ports_of_webhooks(said: str, ports: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNPOOLED_WEBHOOK_PORTS", said)
    assert environment.ports("UNPOOLED_WEBHOOK_PORTS") == ports


@pytest.mark.parametrize("said", ["0", "65536", "https", "8443 9443", "-1"])
def test_what_is_no_port_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNPOOLED_WEBHOOK_PORTS", said)
    with pytest.raises(SystemExit, match="UNPOOLED_WEBHOOK_PORTS: got"):
        environment.ports("UNPOOLED_WEBHOOK_PORTS")


def test_a_platform_that_sends_mail_says_from_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="UNPOOLED_MAIL_FROM"):
        environment.mail_sender("smtp://mail.example.org")
    monkeypatch.setenv("UNPOOLED_MAIL_FROM", "studies@example.org")
    assert environment.mail_sender("smtp://mail.example.org") == "studies@example.org"
