"""Three cohorts of a real platform (`client_fixtures.py`), and studies with them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import client_fixtures
import pytest
import trustme
from client_network import HOST, Front, Proxy, TlsFront, running_proxy
from client_scripted import Scripted
from client_trials import Platform, Trial, make_trial

from unpooled.simulate import SimulationReport, simulate

cable, platform = client_fixtures.cable, client_fixtures.platform
study, trial = client_fixtures.study, client_fixtures.trial

VARIANTS = 600


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimulationReport:
    """Three cohorts of different size with different variants, and the pooled data."""
    folder = tmp_path_factory.mktemp("cohorts")
    return simulate(folder, cohorts=(80, 100, 120), variants=VARIANTS, oddities=True, seed=7)


@pytest.fixture(scope="session")
def smooth(platform: Platform, files: SimulationReport, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A study in which nothing went wrong, to be looked at only."""
    trial = make_trial(platform, files.cohorts, tmp_path_factory.mktemp("smooth"))
    trial.run_all()
    return trial


@pytest.fixture(scope="session")
def pooled(smooth: Trial) -> dict[str, bytes]:
    """Its result files."""
    return smooth.members[0].results()


@pytest.fixture(scope="session")
def done(platform: Platform, files: SimulationReport, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A study with --mind that is done. The files of the first cohort are its own, to be changed."""
    folder = tmp_path_factory.mktemp("done")
    trial = make_trial(platform, files.cohorts, folder, mind=0.99)
    member = trial.members[0]
    for kind in ("bed", "bim", "fam"):
        shutil.copy(f"{member.bfile}.{kind}", folder / f"mine.{kind}")
    member.bfile = folder / "mine"
    trial.run_all()
    return trial


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    script = Scripted()
    yield script
    script.close()


@pytest.fixture(scope="session")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running_proxy(tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.fixture
def hospital(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Proxy:
    """The way to every server by https, with the password that it wants."""
    monkeypatch.setenv("HTTPS_PROXY", proxy.with_password)
    return proxy


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA(organization_name="General Hospital")


@pytest.fixture(scope="session")
def bundle(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("authority") / "hospital.pem"
    authority.cert_pem.write_to_path(str(file))
    return file


@pytest.fixture
def front(authority: trustme.CA, platform: Platform) -> Iterator[Front]:
    """Puts TLS before the platform, with a certificate of the hospital's own."""
    fronts: list[TlsFront] = []

    def make(host: str = HOST, target: str = platform.url, **dates: datetime) -> TlsFront:
        fronts.append(TlsFront(target, authority.issue_cert(host, **dates)))  # type: ignore[arg-type]
        return fronts[-1]

    yield make
    for made in fronts:
        made.close()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy this computer has, tests set their own."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
