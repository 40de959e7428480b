"""The doctor: each thing that can be wrong is named in its line, with the remedy, and shows in the status."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from client_network import HOST, PASSWORD, QUOTED, Front, Proxy
from client_scripted import Scripted
from client_trials import Platform, Trial

from unpooled.protocol import VERSION
from unpooled_client.commands import doctor as doctor_command
from unpooled_client.commands.cli import cli
from unpooled_client.network import machine
from unpooled_client.network.doctor import check_for_update
from unpooled_client.state.events import UpdateChecked
from unpooled_client.study.engine import Until

Seen = dict[str, dict[str, str]]


@pytest.fixture(autouse=True)
def profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A profile in which no study was joined."""
    monkeypatch.setattr("unpooled_client.state.folder.default_root", lambda: tmp_path / "profile")
    return tmp_path / "profile"


def examined(*arguments: object, code: int = 0) -> Seen:
    """Return the command's findings, by what it looked at."""
    done = CliRunner().invoke(cli, ["doctor", "--json", *map(str, arguments)], standalone_mode=False)
    assert done.exception is None, done.exception
    values: dict[str, Any] = json.loads(done.stdout)
    assert done.return_value == code, values
    assert values["ok"] == (code == 0)
    assert all(found["remedy"] for found in values["findings"] if found["mark"] == "problem"), values
    return {found["what"]: found for found in values["findings"]}


def test_without_a_server_this_computer_is_looked_at() -> None:
    done = CliRunner().invoke(cli, ["doctor"])
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[:4]] == ["Versions", "Memory", "State", "Results"]
    assert all(line[0] in "✓!" for line in lines[:4])
    assert "--server" in lines[4]
    assert len(lines) == 5


@pytest.mark.parametrize("address", ["ftp://x.org", "https://x..org", "https://x.org:99999", "https://[::1"])
def test_an_address_that_cannot_be_is_refused(address: str) -> None:
    done = CliRunner().invoke(cli, ["doctor", "--server", address])
    assert done.exit_code == 2 and "needs an address" in done.output


def test_signs_that_a_terminal_lacks_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        encoding = "cp437"

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert set(doctor_command._signs().values()) == {"+", "!", "x"}


def test_a_server_on_this_computer(platform: Platform) -> None:
    seen = examined("--server", platform.url)
    assert {found["mark"] for found in seen.values()} == {"good"}
    assert f"protocol {VERSION}" in seen["Server"]["text"]
    assert seen["Release"]["text"].count(version("unpooled-client")) == 2
    assert " s " in seen["Clock"]["text"]


def test_behind_a_proxy_and_a_private_authority(hospital: Proxy, bundle: Path, front: Front) -> None:
    seen = examined("--server", front().url, "--ca-bundle", bundle)
    assert "left to the proxy" in seen["Name"]["text"]
    assert seen["Proxy"]["text"] == f"{hospital.address} from HTTPS_PROXY, with a user name and a password"
    assert "General Hospital" in seen["TLS"]["text"]
    assert seen["Server"]["mark"] == "good"
    assert not any(word in str(seen) for word in (PASSWORD, QUOTED))


def test_who_issued_a_certificate_that_is_not_trusted(hospital: Proxy, front: Front) -> None:
    seen = examined("--server", front().url, code=1)
    assert "issued by General Hospital" in seen["TLS"]["text"]
    assert "--ca-bundle" in seen["TLS"]["remedy"]
    assert "Server" not in seen


def test_a_certificate_that_ends_soon(hospital: Proxy, bundle: Path, front: Front) -> None:
    soon = datetime.now(UTC) + timedelta(days=3)
    seen = examined("--server", front(not_after=soon).url, "--ca-bundle", bundle)
    assert seen["TLS"]["mark"] == "warning"
    assert f"{soon:%Y-%m-%d}" in seen["TLS"]["text"]


@pytest.mark.parametrize(
    "variable, what, text",
    [
        ("http://127.0.0.1:{port}", "Proxy", "wants a user name"),
        ("http://127.0.0.1:9", "Proxy", "no connection"),
        ("socks5://127.0.0.1:9", "Settings", "HTTPS_PROXY"),
    ],
)
def test_a_proxy_that_does_not_let_us_through(
    variable: str, what: str, text: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", variable.format(port=proxy.port))
    seen = examined("--server", f"https://{HOST}", code=1)
    assert text in seen[what]["text"]
    assert not {"TLS", "Server", "Clock"} & set(seen)


@pytest.mark.parametrize(
    "server, what, text",
    [
        ("nowhere.invalid", "Name", "not known here"),
        ("http://127.0.0.1:9", "Server", "no connection"),
        ("http://nowhere.invalid", "TLS", "no https"),
    ],
)
def test_a_server_that_is_not_there(server: str, what: str, text: str) -> None:
    assert text in examined("--server", server, code=1)[what]["text"]


def speaking(protocol: int, release: object = "0.0.1") -> bytes:
    """Return the answer of a server of this protocol version and this release."""
    return json.dumps({"protocol": protocol, "release": release}).encode()


@pytest.mark.parametrize(
    "status, body, headers, what, text",
    [
        (200, b"<html>Sign in</html>", {}, "Server", "not as an Unpooled server"),
        (200, b'{"protocol": Infinity}', {}, "Server", "not as an Unpooled server"),
        (200, speaking(VERSION + 1), {}, "Server", "the client is too old"),
        (200, speaking(0), {}, "Server", "the server is too old"),
        (503, speaking(VERSION), {}, "Server", "status 503"),
        (200, speaking(VERSION), {"Date": "Tue, 01 Jan 2030 00:00:00 GMT"}, "Clock", "behind"),
        (200, speaking(VERSION) + b" " * (1 << 17), {}, "Server", "larger than"),
    ],
    ids=["page", "infinite", "new", "old", "starting", "clock", "large"],
)
def test_a_server_that_answers_otherwise(
    scripted: Scripted, status: int, body: bytes, headers: dict[str, str], what: str, text: str
) -> None:
    scripted.says(status, body, **headers)
    warned = what == "Clock" or status == 503
    seen = examined("--server", scripted.url, code=0 if warned else 1)
    assert text in seen[what]["text"]
    assert seen[what]["mark"] == ("warning" if warned else "problem")


@pytest.mark.parametrize(
    "release, mark, text",
    [
        ("10.0.1", "warning", "release 10.0.1 of the client is there"),
        ("0.0.10", "good", "the server, of release 0.0.10, has none newer"),
        ("10.0.1\x1b[2J", "good", "does not say"),
        ("9" * 5000 + ".1", "good", "does not say"),
        (None, "good", "does not say"),
    ],
    ids=["newer", "older", "escape", "endless", "none"],
)
def test_a_newer_release_is_told(scripted: Scripted, release: object, mark: str, text: str) -> None:
    scripted.says(200, speaking(VERSION, release))
    found = examined("--server", scripted.url)["Release"]
    assert found["mark"] == mark and text in found["text"]
    assert ("coordinator" in found["remedy"]) == (mark == "warning")


def test_the_look_for_an_update_tells_the_server_nothing(scripted: Scripted) -> None:
    told = check_for_update(scripted.says(200, speaking(VERSION, "10.0.1")).url, None)
    assert told.is_newer and "10.0.1" in told.text and "Get it from" in told.text
    ((method, path, headers, body),) = scripted.requests
    assert (method, path, body) == ("GET", "/health", b"")
    assert not {"Authorization", "Unpooled-Client"} & set(headers) and "unpooled" not in str(headers)


def test_a_look_for_an_update_without_an_answer_is_told(scripted: Scripted) -> None:
    told = check_for_update(scripted.says(0).url, None)
    assert told == UpdateChecked(False, "Release: not known, for the server did not answer when it was asked")


@pytest.mark.parametrize("wish", ["", "1"])
def test_whoever_joins_hears_of_releases_only_if_they_wish(trial: Trial, wish: str) -> None:
    member = trial.members[0]
    arguments = ["join", member.invitation.to_text(), "--state", str(member.state.path), "--json"]
    done = CliRunner().invoke(cli, arguments, env={"UNPOOLED_CHECK_UPDATE": wish})
    assert done.exit_code == 0, done.output
    events = [json.loads(line) for line in done.stdout.splitlines()]
    told = [event["text"] for event in events if event["event"] == "update-checked"]
    assert len(told) == len(wish) and all(version("unpooled-client") in text for text in told)


def test_the_study_of_a_cohort_that_has_joined(trial: Trial) -> None:
    member = trial.members[0]
    member.run(member.engine(until=Until.JOINED))
    seen = examined("--state", member.state.path)
    assert "cohort: joined" in seen["Study"]["text"]
    trial.call("POST", f"invitations/{member.name}/revoke")
    assert "revoked" in examined("--state", member.state.path, code=1)["Study"]["text"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_state_that_others_may_read(trial: Trial) -> None:
    member = trial.members[0]
    member.run(member.engine(until=Until.JOINED))
    member.state.file.chmod(0o640)
    found = examined("--state", member.state.path, code=1)["State folder"]
    assert "other accounts" in found["text"]
    assert f"chmod go= {member.state.file}" in found["remedy"]


def test_a_state_that_cannot_be_read(tmp_path: Path) -> None:
    found = examined("--state", tmp_path / "empty", code=1)["State folder"]
    assert "no study" in found["text"]
    assert "unpooled-client run" in found["remedy"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """The folder is below a file: root may write anywhere else."""
    (tmp_path / "file").touch()
    found = examined("--out", tmp_path / "file" / "results", code=1)["Results"]
    assert "cannot be written" in found["text"]
    assert "--out" in found["remedy"]


def test_memory_is_what_a_batch_system_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path("/proc/self/cgroup")
    if not own.exists():
        pytest.skip("only Linux has control groups")
    group = tmp_path / own.read_text().strip().rpartition("::")[2].strip("/")
    group.mkdir(parents=True, exist_ok=True)
    (group / "memory.max").write_text("300000000\n")
    (group / "memory.current").write_text("100000000\n")
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    assert machine.memory() == machine.Memory(300_000_000, 200_000_000)
    assert examined()["Memory"]["mark"] == "warning"
