"""Lists of variants: what cohorts and coordinators may send, and who is asked for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federation_fixtures import Federation, variants
from hypothesis import given
from hypothesis import strategies as st

from tests import list_text
from unpooled.errors import ProtocolError
from unpooled.panel.alleles import capital
from unpooled.panel.panel import Panel
from unpooled_server.errors import Conflict, Refused, Unauthorized
from unpooled_server.models import Cohort, Study
from unpooled_server.services import changing, invitations, lists, panels
from unpooled_server.storage import store

Make = Callable[..., Federation]


@pytest.fixture
def accepted(trial: Federation) -> Federation:
    """A study whose plan and roster all have accepted."""
    trial.join()
    trial.accept()
    return trial


def announce(trial: Federation, number: int, digest: str = "") -> bool:
    client = trial.clients[number]
    return bool(
        client.ok("PUT", "panel/digest", json={"digest": digest or client.own.digest.hex()})["list_wanted"]
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [(b"1\t10\trs1\tA\tG\n", "wrong-digest"), (b"", "wrong-digest"), (b"\x00" * 1000, "wrong-digest")],
)
def test_a_list_that_is_not_the_announced_one_is_refused(
    accepted: Federation, text: bytes, code: str
) -> None:
    announce(accepted, 0)
    answer = accepted.clients[0].call("PUT", "panel/list", content=text)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert list((store.study_folder(accepted.study_id) / "lists").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"1 10 rs1 A G\n",
        b"1\t10\trs1\tG\tA\n",
        b"2\t5\tb\tA\tG\n1\t5\ta\tA\tG\n",
        b"1\t10\trs1\tA\tG",
        b"\xff\n",
    ],
)
def test_a_list_that_is_not_canonical_is_refused(accepted: Federation, text: bytes) -> None:
    import hashlib

    assert announce(accepted, 0, hashlib.sha256(text).hexdigest())
    answer = accepted.clients[0].call("PUT", "panel/list", content=text)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad-list")
    assert accepted.clients[0].study()["cohort_state"] == "accepted"


def test_a_list_without_its_digest_is_refused(accepted: Federation) -> None:
    answer = accepted.clients[0].call("PUT", "panel/list", content=variants().canonical)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "digest-first")


def test_a_list_sent_again_is_fine(accepted: Federation) -> None:
    accepted.announce()
    assert accepted.clients[0].call("PUT", "panel/list", content=variants().canonical).status_code == 201


def test_another_cohort_is_asked_when_the_one_that_was_asked_changes_its_list(accepted: Federation) -> None:
    assert [announce(accepted, k) for k in range(3)] == [True, False, False]
    other = variants(9)
    assert announce(accepted, 0, other.digest.hex())
    assert [client.study()["list_wanted"] for client in accepted.clients] == [True, True, False]
    accepted.clients[0].ok("PUT", "panel/list", content=other.canonical)
    assert accepted.study.state == "open"
    accepted.clients[1].ok("PUT", "panel/list", content=variants().canonical)
    assert accepted.study.ready_at is not None


def test_another_cohort_is_asked_when_the_one_that_was_asked_joins_anew(accepted: Federation) -> None:
    from unpooled.protocol.sealing import SigningKey

    assert [announce(accepted, k) for k in range(3)] == [True, False, False]
    accepted.clients[0].key = SigningKey.generate()
    accepted.clients[0].join()
    assert Cohort.objects.get(name="Oslo").list_wanted
    accepted.accept()
    accepted.clients[1].ok("PUT", "panel/list", content=variants().canonical)
    assert not announce(accepted, 0)
    assert accepted.study.ready_at is not None


def lists_of(trial: Federation) -> list[str]:
    return sorted(path.name for path in (store.study_folder(trial.study_id) / "lists").iterdir())


def test_a_cohort_has_room_for_one_list(accepted: Federation) -> None:
    for size in range(3, 12):
        assert announce(accepted, 0, variants(size).digest.hex())
        accepted.clients[0].ok("PUT", "panel/list", content=variants(size).canonical)
        assert lists_of(accepted) == [f"{variants(size).digest.hex()}.bin"]
    assert not announce(accepted, 1, variants(11).digest.hex())  # it is another's list now, and stays
    announce(accepted, 0, variants(3).digest.hex())
    assert lists_of(accepted) == [f"{variants(11).digest.hex()}.bin"]


def test_a_list_that_is_stored_leaves_the_next_one_alone(accepted: Federation) -> None:
    """The draft of the next may have its name before the first upload is over."""
    study, cohort = accepted.study_id, 1
    stored = store.list_path(study, "0" * 64)
    with pytest.raises(OSError, match="late"), store.list_draft(study, cohort, 0) as draft:
        assert draft is not None
        draft.write(b"first")
        draft.flush()
        Path(draft.name).replace(stored)
        with store.list_draft(study, cohort, 0) as following:
            assert following is not None
            following.write(b"next")
        raise OSError("late")
    assert (stored.read_bytes(), Path(following.name).read_bytes()) == (b"first", b"next")


@pytest.mark.services
def test_a_cohort_sends_one_list_at_a_time(accepted: Federation) -> None:
    announce(accepted, 0)
    cohort = Cohort.objects.select_related("study").get(name="Graz")
    text = variants().canonical

    def body() -> Iterator[bytes]:
        yield text[:10]
        answer = accepted.clients[0].call("PUT", "panel/list", content=text)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "list-is-coming")
        yield text[10:]

    panels.receive_list(cohort, 0, len(text), body())
    assert lists_of(accepted) == [f"{variants().digest.hex()}.bin"]


def parts_of(data: bytes) -> list[tuple[str, bytes]]:
    """A list in parts of 500 bytes, with what their addresses say."""
    starts = range(0, len(data), 500)
    return [(f"panel/list?start={k}&size={len(data)}", data[k : k + 500]) for k in starts]


def test_a_list_comes_in_parts(accepted: Federation) -> None:
    announce(accepted, 0)
    put = accepted.clients[0].call
    first, *further = parts_of(variants().canonical)
    assert len(further) > 1
    answer = put("PUT", further[0][0], content=further[0][1])
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "gap")
    assert lists_of(accepted) == []
    for address, part in (first, further[0], first, *further[:-1], further[-2]):  # some come again
        answer = put("PUT", address, content=part)
        assert (answer.status_code, answer.json()) == (201, {"stored": False})
    assert put("PUT", further[-1][0], content=further[-1][1]).json() == {"stored": True}
    assert lists_of(accepted) == [f"{variants().digest.hex()}.bin"]


def test_of_a_part_that_breaks_off_nothing_is_kept(accepted: Federation) -> None:
    announce(accepted, 0)
    cohort = Cohort.objects.select_related("study").get(name="Graz")
    data = variants().canonical

    def broken() -> Iterator[bytes]:
        yield data[500:600]
        raise Refused("truncated", "The connection broke.")

    assert not panels.receive_list(cohort, 0, len(data), iter([data[:500]]))
    with pytest.raises(Refused):
        panels.receive_list(cohort, 500, len(data), broken())
    assert panels.receive_list(cohort, 500, len(data), iter([data[500:]]))


@pytest.mark.parametrize("query", ["start=x", "size=-1", "start=1&size=2", f"size={1 << 40}"])
def test_a_part_that_cannot_be_is_refused_unread(accepted: Federation, query: str) -> None:
    announce(accepted, 0)
    answer = accepted.clients[0].call("PUT", f"panel/list?{query}", content=variants().canonical)
    assert answer.status_code in (400, 413)


def test_a_list_that_names_variants_in_another_way_than_the_plan_is_refused(accepted: Federation) -> None:
    other = dataclasses.replace(variants(), ids=None, autosomes=22)
    announce(accepted, 0, other.digest.hex())
    answer = accepted.clients[0].call("PUT", "panel/list", content=other.canonical)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad-list")
    assert lists_of(accepted) == []


def test_a_list_that_is_another_one_by_now_is_not_kept(accepted: Federation) -> None:
    announce(accepted, 0)
    cohort = Cohort.objects.select_related("study").get(name="Graz")

    def body() -> Iterator[bytes]:
        announce(accepted, 0, variants(9).digest.hex())
        yield variants().canonical

    with pytest.raises(Conflict, match="in the meantime"):
        panels.receive_list(cohort, 0, len(variants().canonical), body())
    assert lists_of(accepted) == []


@pytest.mark.services
def test_a_token_that_is_revoked_in_the_middle_of_a_list_stores_nothing(accepted: Federation) -> None:
    announce(accepted, 0)
    cohort = Cohort.objects.select_related("study").get(name="Graz")

    def body() -> Iterator[bytes]:
        invitations.revoke(accepted.study, Cohort.objects.get(name="Graz"), "coordinator")
        yield variants().canonical

    with pytest.raises(Unauthorized, match="revoked"):
        panels.receive_list(cohort, 0, len(variants().canonical), body())
    assert lists_of(accepted) == []


def test_the_agreed_panel_is_handed_out(trial: Federation) -> None:
    assert trial.clients[0].call("GET", "panel").status_code == 404
    trial.running()
    answer = trial.clients[0].call("GET", "panel")
    assert Panel.from_canonical(answer.content).digest.hex() == trial.clients[0].study()["panel_digest"]
    assert trial.clients[0].call("GET", "list").status_code == 404


@pytest.mark.services
def test_a_reconciliation_that_took_too_long_is_dropped(trial: Federation) -> None:
    trial.ready()
    stale = trial.study
    trial.clients[0].key = type(trial.clients[0].key).generate()
    trial.clients[0].join()
    panels.compare(stale)
    assert trial.study.panel_digest == ""


BIM = b"""1 rs1 0 100 G A
chrX rs9 0 50 0 T
2\trs3\t0\t7\tC\tT
1 rs2 0 100 A C
"""


def test_a_bim_file_serves_as_a_list() -> None:
    panel = lists.read(BIM, 22)
    assert list_text.write(panel) == (
        b"1\t100\trs1\tA\tG\n1\t100\trs2\tA\tC\n2\t7\trs3\tC\tT\n23\t50\trs9\t0\tT\n"
    )
    assert lists.read(list_text.write(panel), 22).digest == panel.digest


def test_a_list_of_no_lines_has_no_variants() -> None:
    assert len(lists.read(b"", 22)) == len(lists.read(b"\n \n", 22)) == 0


def test_a_text_with_one_id_far_longer_than_the_others_is_refused() -> None:
    """Each ID takes the room of the longest; also where that stands in another piece."""
    short = b"".join(b"1 %d r%d A C\n" % (k, k) for k in range(1 << 16))
    data = short + b"1 1 %b A C\n" % (b"x" * 4000)
    for piece in (lists.PIECE, len(short)):
        with pytest.raises(ProtocolError, match="far longer than the others"):
            lists.read(data, 22, piece)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("six", [False, True])
def test_a_list_that_is_read_in_pieces_is_that_of_the_whole(seed: int, six: bool) -> None:
    """Against the same variants one by one; and the line of an ID that stands twice."""
    random = np.random.default_rng(seed)
    alleles = [b"A", b"c", b"G", b"t", b"0", b"AT", b"<DEL>", b"ga"]
    words = [b"0", b"1", b"chr2", b"22", b"X", b"chrM"]
    codes = [0, 1, 2, 22, 23, 26]
    variants, lines = [], []
    for k in random.permutation(80).tolist():
        chromosome, position = int(random.integers(len(words))), int(random.integers(9))
        pair = [alleles[i] for i in random.integers(len(alleles), size=2)]
        variants.append((codes[chromosome], position, b"rs%d" % k, *sorted(map(capital, pair))))
        place = [b"rs%d" % k, b"0", b"%d" % position] if six else [b"%d" % position, b"rs%d" % k]
        lines.append(b" ".join([words[chromosome], *place, *pair]) + b"\n" * int(random.integers(1, 3)))
    piece = int(random.integers(1, 400))
    found = lists.read(b"".join(lines), 22, piece)
    assert found.canonical == Panel.of(variants).canonical
    lines.append(lines[int(random.integers(80))])
    number = b"".join(lines[:-1]).count(b"\n") + 1
    with pytest.raises(ProtocolError, match=f"line {number}: rs[0-9]+ appears twice"):
        lists.read(b"".join(lines), 22, piece)


@given(st.binary(max_size=60), st.integers(1, 30))
def test_hostile_bytes_are_a_list_or_refused(data: bytes, piece: int) -> None:
    try:
        panel = lists.read(data, 22, piece)
    except ProtocolError:
        return
    assert lists.read(list_text.write(panel), 22).digest == panel.digest


def test_bases_in_small_letters_are_capitals() -> None:
    """Small letters are read in a .bim, in any other text, and in one that is canonical but for them."""
    small = BIM.replace(b"G A", b"g a").replace(b"C\tT", b"c\tT")
    assert lists.read(small, 22).digest == lists.read(BIM, 22).digest
    canonical = list_text.write(lists.read(BIM, 22))
    assert list_text.write(lists.read(canonical.replace(b"A\tC", b"a\tc"), 22)) == canonical


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1 2 3\n", "five words"),
        (b"1 100 rs1 A G\n1 100 rs1 A G\n", "line 2: rs1 appears twice"),
        (b"1 100 rs1 A G\n77 100 rs2 A G\n", "line 2: the chromosome '77'"),
        (b"1 1e6 rs1 A G\n", "line 1: the position"),
        (b"1 -4 rs1 A G\n", "line 1: the position"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_the_line(
    federation: Make, text: bytes, words: str
) -> None:
    trial = federation(panel_mode="list", panel_list=variants())
    with pytest.raises(Refused, match=words):
        panels.set_list(trial.study, text, "coordinator")


def test_a_list_is_for_studies_that_go_by_one(federation: Make) -> None:
    with pytest.raises(Refused, match="does not use a list"):
        panels.set_list(federation().study, list_text.write(variants()), "coordinator")


def test_nobody_is_invited_before_the_list_is_there(federation: Make) -> None:
    with pytest.raises(Refused, match="list of variants that has not been uploaded yet"):
        federation(panel_mode="list")


def test_a_list_can_be_replaced_until_a_sum_is_asked_for(federation: Make) -> None:
    trial = federation(panel_mode="list", panel_list=variants())
    trial.join()
    trial.accept()
    panels.set_list(trial.study, list_text.write(variants()), "coordinator")
    assert [client.study()["cohort_state"] for client in trial.clients] == ["accepted"] * 3  # it is the same
    panels.set_list(trial.study, list_text.write(variants(5)), "coordinator")
    assert trial.study.plan.panel_digest == variants(5).digest
    assert [client.study()["cohort_state"] for client in trial.clients] == ["joined"] * 3
    Study.objects.filter(pk=trial.study_id).update(enrolled_at=trial.study.created_at)
    with pytest.raises(Conflict, match="can no longer be changed"):
        panels.set_list(trial.study, list_text.write(variants()), "coordinator")


@pytest.mark.parametrize("other", [{"panel_mode": "names"}, {"autosomes": 19}])
def test_a_list_has_to_come_again_once_the_plan_would_read_it_otherwise(
    federation: Make, other: dict[str, Any]
) -> None:
    trial = federation(panel_mode="list", panel_list=variants())
    Study.objects.filter(pk=trial.study_id).update(state="draft")
    changing.change(trial.study, "coordinator", plan=other)
    changing.change(trial.study, "coordinator", plan={"panel_mode": "list"})
    assert not trial.study.list_ready
    with pytest.raises(Conflict, match="has not been uploaded yet"):
        invitations.invite(trial.study, "Riga", "https://x", "coordinator")
    panels.set_list(trial.study, list_text.write(variants()), "coordinator")
    assert trial.study.plan.panel_digest == variants().digest


def test_a_plan_whose_list_is_missing_is_refused_once_cohorts_are_invited(trial: Federation) -> None:
    with pytest.raises(Conflict, match="has not been uploaded yet"):
        changing.change(trial.study, "coordinator", plan={"panel_mode": "list"})
    assert trial.clients[0].study()["plan"]["panel_mode"] == "names"
