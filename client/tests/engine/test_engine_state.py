"""Files that are kept: state, ledger, results. Whole after every crash, private, never silently changed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from unpooled.described.what_leaves import Form
from unpooled.memory.spool import NoRoom
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.problems import Problem
from unpooled_client.data.options import DataOptions
from unpooled_client.network.answers import ResultFile
from unpooled_client.state import ledger
from unpooled_client.state.events import Exit
from unpooled_client.state.files import StateError
from unpooled_client.state.fingerprint import Fingerprint
from unpooled_client.state.folder import (
    Acceptance,
    Saved,
    StateFolder,
    folder_of,
    known_folders,
    with_invitation,
)
from unpooled_client.state.ledger import Ledger, LedgerError
from unpooled_client.study.delivery import DeliveryError, NoPlace, fetch
from unpooled_client.study.failures import explain
from unpooled_client.study.session import Session

INVITATION = Invitation("https://studies.example.org", "s1", "t" * 43, " ".join(["ab12"] * 8))


def full() -> Saved:
    return replace(
        Saved.new(INVITATION),
        cohort="Tartu",
        acceptance=Acceptance(b"p" * 32, b"r" * 32, b"s" * 32, b"box", b"signature"),
        options=DataOptions(bfile=Path("x"), pheno=Path("y"), covar_name=("age",), one=True).to_json(),
        files={"bed": Fingerprint(5, 6, "ab", True)},
    )


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    folder, saved = StateFolder(tmp_path / "s"), full()
    folder.save(saved)
    assert folder.load() == saved
    options = DataOptions.from_json(saved.options)
    assert (options.pheno, options.covar_name, options.one) == (Path("y").absolute(), ("age",), True)


@pytest.mark.skipif(sys.platform == "win32", reason="a profile's folder is private there")
def test_the_state_is_private(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "s")
    folder.save(full())
    Ledger(folder.ledger).record("x", b"", Form.CLEAR, "server")
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_state_that_others_may_read_is_refused_until_that_is_mended(tmp_path: Path, mode: int) -> None:
    folder, saved = StateFolder(tmp_path / "s"), full()
    folder.save(saved)
    folder.file.chmod(mode)
    with pytest.raises(StateError, match=f"chmod go= {folder.file}"):
        folder.load()
    folder.file.chmod(0o600)
    assert folder.load() == saved


def test_secrets_do_not_print() -> None:
    saved = full()
    text = repr(saved)
    assert saved.acceptance is not None
    for secret in (saved.signing_key, saved.acceptance.seed, saved.invitation.token):
        assert repr(secret) not in text


def test_a_crash_while_writing_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, old = StateFolder(tmp_path / "s"), full()
    folder.save(old)

    def crash(descriptor: int) -> None:
        raise OSError("power is off")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="power"):
        folder.save(replace(old, cohort="Oulu"))
    assert folder.load() == old
    assert [path.name for path in folder.path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"format": 99}', b"\xff\xfe", b"null"])
def test_a_spoiled_state_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    folder = StateFolder(tmp_path)
    folder.file.write_bytes(content)
    folder.file.chmod(0o600)
    with pytest.raises(StateError, match="backup"):
        folder.load()


def test_only_one_holds_a_state(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "s")
    with folder.locked(), pytest.raises(StateError, match="another client is running"), folder.locked():
        pass
    with folder.locked():
        pass


def test_each_token_has_a_folder_of_its_own(tmp_path: Path) -> None:
    one = folder_of(INVITATION, tmp_path)
    other = folder_of(replace(INVITATION, token="u" * 43), tmp_path)
    assert one.path != other.path
    one.save(full())
    assert [folder.path for folder in known_folders(tmp_path)] == [one.path]


def test_an_invitation_issued_anew_is_taken_for_the_same_study_only() -> None:
    saved = full()
    anew = replace(INVITATION, token="u" * 43)
    assert with_invitation(saved, anew).invitation == anew
    assert with_invitation(saved, anew).signing_key == saved.signing_key
    with pytest.raises(StateError, match="another study"):
        with_invitation(saved, replace(INVITATION, study="s2"))


# The ledger


def three_lines(path: Path) -> Ledger:
    book = Ledger(path)
    book.record("Public signing key", b"k" * 32, Form.CLEAR, "server")
    book.record("Mask seed", b"s" * 90, Form.SEALED, "compensator")
    book.record("Count people: people", b"x" * 112, Form.MASKED, "server", round=7, arrays=("people",))
    return book


def test_the_ledger_tells_all(tmp_path: Path) -> None:
    three_lines(tmp_path / "ledger")
    key, seed, share = ledger.read(tmp_path / "ledger")
    assert (key.bytes, key.form, seed.form, share.form) == (32, "in clear", "sealed", "masked")
    assert (share.round, share.arrays, share.to) == (7, ("people",), "server")
    assert share.sha256 == hashlib.sha256(b"x" * 112).hexdigest()
    assert share.time.endswith("+00:00")


def test_a_ledger_goes_on_after_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    three_lines(path)
    with path.open("ab") as file:
        file.write(b'{"previous": "12')  # killed while writing, so it was never sent
    Ledger(path).record("one more", b"", Form.CLEAR, "server")
    assert [entry.quantity for entry in ledger.read(path)][2:] == ["Count people: people", "one more"]


@pytest.mark.parametrize("line", [0, 1])
def test_a_changed_ledger_is_noticed(tmp_path: Path, line: int) -> None:
    path = tmp_path / "ledger"
    three_lines(path)
    lines = path.read_bytes().splitlines(keepends=True)
    changed = json.loads(lines[line])
    changed["bytes"] = 1
    path.write_bytes(b"".join([*lines[:line], json.dumps(changed).encode() + b"\n", *lines[line + 1 :]]))
    with pytest.raises(LedgerError, match="changed"):
        list(ledger.read(path))
    path.write_bytes(b"".join(lines[:line] + lines[line + 1 :]))
    with pytest.raises(LedgerError):
        list(ledger.read(path))


@pytest.mark.parametrize("kept", [0, 2])
def test_lines_cut_off_are_missed_for_ever(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "ledger"
    three_lines(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
    with pytest.raises(LedgerError, match=f":{kept + 1}: {3 - kept} lines at the end were removed"):
        list(ledger.read(path))
    three_lines(path)  # a client goes on, and there are as many lines as before
    with pytest.raises(LedgerError, match=f":{kept + 1}: the line before this one"):
        list(ledger.read(path))


@pytest.mark.parametrize("head", [None, b"", b"x y\n", b"3 " + b"0" * 64])
def test_a_head_that_is_gone_or_changed_is_noticed(tmp_path: Path, head: bytes | None) -> None:
    path = tmp_path / "ledger"
    three_lines(path)
    ledger.head_path(path).unlink() if head is None else ledger.head_path(path).write_bytes(head)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r":\d: "):
            list(ledger.read(path))
        Ledger(path).record("one more", b"", Form.CLEAR, "server")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size there")
def test_a_full_disk_leaves_no_half_line_before_another(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "ledger.jsonl"
    book = Ledger(path)
    book.record("a", b"a", Form.MASKED, "server")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
    try:
        with pytest.raises(OSError):
            book.record("b", b"b", Form.MASKED, "server")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    book.record("c", b"c", Form.MASKED, "server")
    assert [entry.quantity for entry in ledger.read(path)] == ["a", "c"]


def test_a_crash_between_a_line_and_the_head_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    three_lines(path)
    head = ledger.head_path(path).read_bytes()
    Ledger(path).record("one more", b"", Form.CLEAR, "server")
    ledger.head_path(path).write_bytes(head)
    assert len(list(ledger.read(path))) == 4
    Ledger(path).record("another", b"", Form.CLEAR, "server")
    assert len(list(ledger.read(path))) == 5


def test_a_line_that_is_no_entry_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"[]\n")
    with pytest.raises(LedgerError, match=":1:"):
        list(ledger.read(path))


# Result files


class Sender:
    """Stands for the server: writes what it is told to."""

    def __init__(self, content: bytes) -> None:
        self.content, self.asked = content, 0

    def result(self, name: str, part: Path) -> None:
        self.asked += 1
        part.write_bytes(self.content)


def session_with(sender: Sender, folder: Path) -> Session:
    return Session(StateFolder(folder), full(), sender, 1)  # type: ignore[arg-type]


def announced(content: bytes, name: str = "study.assoc") -> ResultFile:
    return ResultFile(name, len(content), hashlib.sha256(content).hexdigest())


def test_a_result_is_put_in_place_once(tmp_path: Path) -> None:
    sender, out = Sender(b"CHR SNP\n"), tmp_path / "out"
    out.mkdir()
    for _ in range(2):
        fetch(session_with(sender, tmp_path), announced(b"CHR SNP\n"), out)
    assert sender.asked == 1
    assert [path.name for path in out.iterdir()] == ["study.assoc"]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size there")
def test_a_result_that_finds_no_room_is_no_refusal(tmp_path: Path) -> None:
    import resource

    out, content = tmp_path / "out", b"CHR SNP\n" * 1000
    out.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) - 1, limits[1]))
    try:
        with pytest.raises(NoPlace) as caught:
            fetch(session_with(Sender(content), tmp_path), announced(content), out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (found := explain(caught.value)) is not None
    assert found.exit == Exit.COMPUTER and "Make room" in found.remedy and "study.assoc" in found.message
    fetch(session_with(Sender(content), tmp_path), announced(content), out)


@pytest.mark.parametrize(
    "error",
    [
        NoRoom("a long list is kept on the disk, which failed", remedy="Make room in /var/tmp."),
        OSError(errno.ENOSPC, "No space left on device", "state.json"),
    ],
    ids=type,
)
def test_a_full_disk_is_told_as_one(error: Exception) -> None:
    assert (found := explain(error)) is not None
    assert (found.exit, found.problem) == (Exit.COMPUTER, Problem.INTERNAL)
    assert "Make room" in found.remedy


def test_a_damaged_result_is_not_put_in_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(DeliveryError, match="damaged"):
        fetch(session_with(Sender(b"other"), tmp_path), announced(b"CHR SNP\n"), out)
    assert not list(out.iterdir())
