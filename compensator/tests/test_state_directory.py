"""The files of the state directory, and the commands that make and show them."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from unpooled.protocol.sealing import SealingKey, fingerprint
from unpooled_compensator import state
from unpooled_compensator.cli import main
from unpooled_compensator.state import StateProblem

from .conftest import SECRET, Caller, Federation

posix = pytest.mark.skipif(os.name != "posix", reason="file modes")


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def secrets_shown(directory: Path, secret_file: Path | None = None) -> tuple[bytes, list[str]]:
    shown: list[str] = []
    return state.caller_hash(directory, secret_file, shown.append), shown


def test_the_key_is_made_once(tmp_path: Path) -> None:
    keys = set()
    for _ in range(3):
        store, key = state.open_state(tmp_path / "deep" / "state")
        store.close()
        keys.add(key.public)
    assert len(keys) == 1


@posix
def test_no_file_of_the_state_is_for_others(tmp_path: Path, secret_file: Path) -> None:
    directory = tmp_path / "state"
    umask = os.umask(0)  # the worst there is
    try:
        store, _ = state.open_state(directory)
        state.caller_hash(directory, tmp_path / "made-secret", print)
    finally:
        os.umask(umask)
    store.close()
    assert directory.stat().st_mode & 0o777 == 0o700
    for path in (directory / "compensator.key", directory / "caller-secret.sha256", tmp_path / "made-secret"):
        assert path.stat().st_mode & 0o777 == 0o600, path


@posix
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, key: SealingKey) -> None:
    path = tmp_path / "state" / "compensator.key"
    path.chmod(0o640)
    with pytest.raises(StateProblem, match="chmod 600"):
        state.open_state(tmp_path / "state")


def test_a_half_written_key_of_an_earlier_crash_does_no_harm(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    directory.mkdir()
    (directory / ".compensator.key.part").write_text("12")
    store, key = state.open_state(directory)
    store.close()
    assert state.read_key(directory).public == key.public
    assert not (directory / ".compensator.key.part").exists()


def test_a_key_without_its_database_is_refused(tmp_path: Path, key: SealingKey) -> None:
    """A fresh database would release a second time."""
    (tmp_path / "state" / "compensator.sqlite3").unlink()
    with pytest.raises(StateProblem, match="holds what was released"):
        state.open_state(tmp_path / "state")


def test_a_database_without_its_key_is_refused(
    make_caller: Callable[..., Caller], federation: Federation, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "compensator.key"
    path.unlink()
    store, key = state.open_state(tmp_path / "state")  # nothing had enrolled: a new key does no harm
    store.close()
    federation.compensator_key = key.public
    assert make_caller().enrol(federation.enrolment()).status_code == 201
    path.unlink()
    with pytest.raises(StateProblem, match="the key is missing"):
        state.open_state(tmp_path / "state")
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, "ab" * 31, "ä" * 64])
def test_a_spoilt_key_is_refused_without_showing_it(tmp_path: Path, key: SealingKey, text: str) -> None:
    path = tmp_path / "state" / "compensator.key"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StateProblem, match="64 hex digits") as caught:
        state.read_key(tmp_path / "state")
    assert not text or text not in str(caught.value)


def test_a_database_of_another_version_is_refused(tmp_path: Path, key: SealingKey) -> None:
    path = tmp_path / "state" / "compensator.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(state.StateProblem, match="another version"):
        state.open_state(tmp_path / "state")


def test_the_callers_secret_is_made_and_shown_once_and_kept_hashed(tmp_path: Path) -> None:
    digest, shown = secrets_shown(tmp_path)
    (secret,) = shown
    assert len(bytes.fromhex(secret)) == 32
    assert hashlib.sha256(secret.encode()).digest() == digest
    assert secrets_shown(tmp_path) == (digest, [])
    assert not any(secret in path.read_text() for path in tmp_path.iterdir())


def test_a_secret_file_is_made_if_missing_and_counts_if_there(tmp_path: Path, secret_file: Path) -> None:
    made = tmp_path / "made"
    digest, shown = secrets_shown(tmp_path, made)
    assert shown == [] and hashlib.sha256(made.read_text().strip().encode()).digest() == digest
    assert secrets_shown(tmp_path, secret_file) == (hashlib.sha256(SECRET.encode()).digest(), [])
    assert secrets_shown(tmp_path) == (hashlib.sha256(SECRET.encode()).digest(), [])


@pytest.mark.parametrize("text", ["", "hunter2", "with space " * 5, "ä" * 50, "x" * 1000])
def test_a_weak_secret_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "weak"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StateProblem, match="256 random bits") as caught:
        secrets_shown(tmp_path, path)
    assert not text or text not in str(caught.value)


def test_a_new_secret_replaces_the_old(tmp_path: Path, key: SealingKey) -> None:
    directory = tmp_path / "state"
    before, _ = secrets_shown(directory)
    result = command("caller-secret", "--state", directory)
    assert result.exit_code == 0
    after, shown = secrets_shown(directory)
    assert after == hashlib.sha256(result.output.split()[-1].encode()).digest() != before
    assert shown == []
    made = tmp_path / "made"
    result = command("caller-secret", "--state", directory, "--caller-secret-file", made)
    assert (result.exit_code, result.output) == (0, "")
    assert secrets_shown(directory)[0] == hashlib.sha256(made.read_text().strip().encode()).digest()


def test_the_fingerprint_is_shown(tmp_path: Path, key: SealingKey) -> None:
    result = command("fingerprint", "--state", tmp_path / "state")
    assert result.exit_code == 0
    assert fingerprint(key.public) in result.output
    assert key.private.hex() not in result.output


@pytest.mark.parametrize("name", ["fingerprint", "caller-secret"])
def test_a_directory_without_a_key_is_said_to_be_so(tmp_path: Path, name: str) -> None:
    result = command(name, "--state", tmp_path / "nothing")
    assert result.exit_code == 1
    assert "no key yet" in result.output
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--known-keys", "{tmp}/missing"], "missing"),
        (["--known-keys", "{tmp}/spoilt"], "spoilt:2:"),
        (["--caller-secret-file", "{tmp}/spoilt"], "256 random bits"),
        (["--caller-secret-file", "{tmp}/no/such/place"], "no/such"),
        (["--tls-key", "{tmp}/spoilt"], "go together"),
        (["--tls-key", "{tmp}/missing", "--tls-certificate", "{tmp}/missing"], "does not exist"),
        (["--tls-key", "{tmp}/spoilt", "--tls-certificate", "{tmp}/spoilt"], "in PEM"),
        (["--host", "no.such.host.invalid"], "no such host"),
        (["--host", "192.0.2.1"], "192.0.2.1 port"),
        (["--port", "65536"], "65536"),
    ],
)
def test_serve_says_what_is_wrong_and_stops(tmp_path: Path, arguments: list[str], want: str) -> None:
    (tmp_path / "spoilt").write_text("# names\nGraz\n")
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    result = command("serve", "--state", tmp_path / "state", "--port", "0", *given)
    assert result.exit_code in (1, 2), result.output
    assert want in result.output
    assert "Traceback" not in result.output
    assert "shown only once" not in result.output


def test_a_list_of_known_keys_holds_keys_and_fingerprints(tmp_path: Path) -> None:
    keys = [os.urandom(32) for _ in range(3)]
    path = tmp_path / "known"
    path.write_text(f"{keys[0].hex()} # a\n\n# b\n {fingerprint(keys[1]).upper()}\n{fingerprint(keys[2])}#c")
    assert state.known_keys(path) == {fingerprint(key) for key in keys}
