"""A platform in one file: read while it runs, put somewhere else, and opened there."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from pathlib import Path

import pytest

from ..federation import PASSWORD, SMALL_CHUNK, Federation
from ..parties import Party
from ..services import fresh_stores
from ..starting import Program

pytestmark = pytest.mark.services


def said_by(platform: Federation, *words: object, status: int = 0) -> str:
    """Run a command on a platform's database and home, and return what it says."""
    program = Program("unpooled_webapp", [str(word) for word in words])
    command = Party(str(words[0]), program, platform.logs / str(words[0]), "", platform.environment)
    command.spawn()
    assert command.wait() == status, command.said()
    return command.said()


def files_of(home: Path, study: str) -> dict[str, bytes]:
    folder = home / "studies" / study
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_study_is_opened_where_the_backup_is_restored(
    running: Federation, small: tuple[Path, ...], tmp_path: Path
) -> None:
    trial = running.study(small, chunk_size=SMALL_CHUNK)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    file = tmp_path / "unpooled.zip"
    assert str(file) in said_by(running, "backup", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "is there already" in said_by(running, "backup", file, status=1)

    elsewhere = Federation(tmp_path / "elsewhere", fresh_stores())
    try:
        assert_nothing_damaged_is_restored(elsewhere, file)
        if elsewhere.stores.database:
            assert_what_cannot_be_filled_is_empty_again(elsewhere, file)
        assert "could be restored" in said_by(elsewhere, "restore", "--check", file)
        assert "are restored" in said_by(elsewhere, "restore", file)
        assert files_of(elsewhere.home, trial.id) == files_of(running.home, trial.id) != {}
        assert "is the home of a platform" in said_by(elsewhere, "restore", file, status=1)
        for party in (elsewhere.compensator, elsewhere.web):
            party.start()
        elsewhere.coordinator.sign_in("admin", PASSWORD)
        for address in ("", "/log", "/results", "/table"):
            path = f"studies/{trial.id}{address}"
            assert elsewhere.coordinator.call("GET", path) == running.coordinator.call("GET", path)
        elsewhere.study(small)  # the numbers of new rows follow those of old ones
    finally:
        elsewhere.stop()


def assert_what_cannot_be_filled_is_empty_again(elsewhere: Federation, file: Path) -> None:
    other = file.with_name("other.zip")
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(other, "w") as changed:
        manifest = json.loads(whole.read("manifest.json"))
        for name in manifest["files"]:
            changed.writestr(name, whole.read(name))
        changed.writestr("database/no_table_of_ours", b"")
        manifest["files"]["database/no_table_of_ours"] = hashlib.sha256().hexdigest()
        changed.writestr("manifest.json", json.dumps(manifest))
    said_by(elsewhere, "restore", other, status=1)
    assert elsewhere.dump() == {} and not (elsewhere.home / "studies").exists()


def assert_nothing_damaged_is_restored(elsewhere: Federation, file: Path) -> None:
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    # Within what is packed: a bit of a member's date could flip, and nothing would be damaged.
    damaged, place = file.with_name("damaged.zip"), largest.header_offset + largest.compress_size // 2
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for content in (flipped, whole[:place], b"no archive"):
        damaged.write_bytes(content)
        assert "Take another" in said_by(elsewhere, "restore", damaged, status=1)
    assert not (elsewhere.home / "studies").exists()
