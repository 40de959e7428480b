"""Behind a hospital's proxy and its certificates: what works, and what each thing that is wrong says."""

from __future__ import annotations

import logging
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from client_network import FORBIDDEN, HOST, PASSWORD, QUOTED, USER, Front, Proxy
from client_scripted import FINGERPRINT
from client_trials import Trial, ended
from test_engine_doctor import examined

from unpooled.protocol.invitation import Invitation
from unpooled_client.network import connection
from unpooled_client.network.answers import TokenRefused
from unpooled_client.network.api import Api, Network
from unpooled_client.network.connection import Unanswered, Unusable
from unpooled_client.state.events import Finished, Joined
from unpooled_client.study.engine import Until

YESTERDAY, TOMORROW = (datetime.now(UTC) + timedelta(days=d) for d in (-1, 1))


def ask(server: str, ca_bundle: Path | None = None, *, allow_http: bool = False) -> None:
    """Ask with a token that the platform does not know: its refusal shows that it was reached."""
    invitation = Invitation(server, "s1", "t" * 43, FINGERPRINT)
    api = Api(invitation, "ab" * 16, ca_bundle=ca_bundle, allow_http=allow_http, patient=False)
    try:
        api.study()
    finally:
        api.close()


def test_a_study_behind_a_proxy_with_a_password_and_a_private_authority(
    study: Callable[..., Trial],
    hospital: Proxy,
    bundle: Path,
    front: Front,
    caplog: pytest.LogCaptureFixture,
    pooled: dict[str, bytes],
) -> None:
    """One cohort sits behind the proxy; its results are those of all, and no word tells the password.

    The certificates are named when it joins, and remembered.
    """
    caplog.set_level(logging.DEBUG)
    trial = study()
    behind, *others = trial.members
    behind.invitation = replace(behind.invitation, server=front().url)
    threads = [member.beside() for member in others]
    behind.run(behind.engine(network=Network(ca_bundle=bundle), until=Until.JOINED))
    assert behind.told(Joined)
    seen = examined("--state", behind.state.path)
    assert {seen[what]["mark"] for what in ("Proxy", "TLS", "Server", "Study")} == {"good"}, seen
    last = behind.run(behind.engine(invitation=None))
    ended(*threads)
    assert isinstance(last, Finished), last
    assert behind.results() == pooled
    kept = [path.read_text(errors="replace") for path in behind.state.path.iterdir() if path.is_file()]
    for text in (caplog.text, *kept, *map(repr, behind.events)):
        assert not any(word in text for word in (PASSWORD, QUOTED, USER))


def test_the_usual_variables_do_too(
    proxy: Proxy, bundle: Path, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy.with_password)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    with pytest.raises(TokenRefused):
        ask(front().url)


def test_the_proxy_itself_may_speak_tls(
    proxy: Proxy, bundle: Path, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = front("127.0.0.1", proxy.address)
    monkeypatch.setenv("HTTPS_PROXY", f"https://{USER}:{QUOTED}@127.0.0.1:{secure.port}")
    with pytest.raises(TokenRefused):
        ask(front().url, bundle)
    with pytest.raises(Unusable, match=r"or of its proxy .* is not trusted"):
        ask(front().url)


@pytest.mark.skipif(sys.platform != "linux", reason="the store of this system is not ours to change")
def test_the_systems_own_store_is_believed(
    hospital: Proxy, bundle: Path, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truststore._openssl._CA_FILE_CANDIDATES", [str(bundle)])
    monkeypatch.setattr("truststore._openssl._capath_contains_certs", lambda folder: False)
    monkeypatch.setattr(
        "ssl.get_default_verify_paths", lambda: ssl.DefaultVerifyPaths(*[None] * 2, *[""] * 4)
    )
    with pytest.raises(TokenRefused):
        ask(front().url)


def test_a_file_of_certificates_is_believed_and_no_other(
    hospital: Proxy, front: Front, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with pytest.raises(Unusable, match="not trusted"):
        ask(front().url, other)
    with pytest.raises(Unusable, match="not trusted"):  # however the address is written
        ask(front().url.replace("https:", "HTTPS:"))


@pytest.mark.parametrize(
    "host, dates, message, remedy",
    [
        (HOST, {}, "not trusted", "--ca-bundle"),
        (HOST, {"not_before": YESTERDAY, "not_after": YESTERDAY}, "has expired", "date"),
        (HOST, {"not_before": TOMORROW, "not_after": TOMORROW}, "not valid yet", "date"),
        ("other.test", {}, "is for another name", "address"),
    ],
    ids=["authority", "expired", "early", "name"],
)
def test_a_certificate_that_is_not_right_is_named(
    host: str,
    dates: dict[str, datetime],
    message: str,
    remedy: str,
    hospital: Proxy,
    bundle: Path,
    front: Front,
) -> None:
    with pytest.raises(Unusable, match=message) as caught:
        ask(front(host, **dates).url, None if message == "not trusted" else bundle)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "login, message", [("", "wants a user name"), (f"{USER}:wr%40ng@", "does not accept")]
)
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxy_that_wants_another_password_says_so(
    scheme: str, login: str, message: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", f"http://{login}127.0.0.1:{proxy.port}")
    with pytest.raises(Unusable, match=message) as caught:
        ask(f"{scheme}://{HOST}:9", allow_http=True)
    assert proxy.address in str(caught.value)
    assert "407" in str(caught.value)
    assert not any(word in str(caught.value) for word in (USER, "wr%40ng", "wr@ng"))


@pytest.mark.parametrize(
    "address, message",
    [
        ("http://ward-7:secret@127.0.0.1:9", r"no connection to the proxy http://127\.0\.0\.1:9"),
        ("http://ward-7:secret@nowhere.invalid:3128", "name of the proxy .* is not known"),
    ],
)
def test_a_proxy_that_is_not_there_is_named_without_its_password(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(Unanswered, match=message) as caught:
        ask(f"https://{HOST}")
    assert "HTTPS_PROXY" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_server_that_the_proxy_cannot_reach_is_waited_for(hospital: Proxy) -> None:
    with pytest.raises(Unanswered, match=f"does not reach {HOST}"):
        ask(f"https://{HOST}:9")


def test_a_proxy_that_forbids_the_server_says_whom_to_ask(hospital: Proxy) -> None:
    with pytest.raises(Unusable, match=rf"refuses to connect to {FORBIDDEN} \(status 403\)") as caught:
        ask(f"https://{FORBIDDEN}")
    assert "hospital IT" in caught.value.remedy


@pytest.mark.parametrize("text", ["http://a:se#cret@proxy:1", "socks5://a:secret@proxy:1", "http://", "a:b"])
def test_a_setting_that_is_no_proxy_is_named_without_its_password(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", text)
    with pytest.raises(Unusable, match="HTTPS_PROXY") as caught:
        connection.proxy_for("https://studies.example.org")
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    "server, variables, want",
    [
        ("https://studies.example.org", {}, None),
        ("https://studies.example.org", {"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128 HTTPS_PROXY"),
        ("https://studies.example.org", {"ALL_PROXY": "https://proxy"}, "https://proxy ALL_PROXY"),
        ("https://studies.example.org", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("http://studies.example.org", {"HTTP_PROXY": "http://proxy:3128"}, "http://proxy:3128 HTTP_PROXY"),
        ("https://studies.example.org", {"HTTPS_PROXY": "proxy:1", "NO_PROXY": "other, .example.org"}, None),
        ("https://studies.example.org", {"HTTPS_PROXY": "proxy:1", "NO_PROXY": "*"}, None),
        ("https://studies.example.org:8443", {"HTTPS_PROXY": "proxy:1", "NO_PROXY": "example.org"}, None),
        ("https://127.0.0.1:8443", {"HTTPS_PROXY": "proxy:1"}, None),
        ("https://[2001:db8::1]", {"HTTPS_PROXY": "[2001:db8::2]:1"}, "http://[2001:db8::2]:1 HTTPS_PROXY"),
    ],
)
def test_which_proxy_is_taken(
    server: str, variables: dict[str, str], want: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = connection.proxy_for(server)
    assert (found and f"{found.address} {found.source}") == want


def test_a_password_may_hold_any_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://{USER}:{QUOTED}@proxy:3128")
    found = connection.proxy_for("https://studies.example.org")
    assert found and (found.user, found.password) == (USER, PASSWORD)
    assert PASSWORD not in repr(found)
