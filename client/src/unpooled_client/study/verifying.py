"""Verifying results: their manifest beside what this cohort's own run of the study was, as its book has it.

The server could follow the protocol to the end, and then publish something else. The manifest says for each
round what was asked and which sum was found; this cohort knows what it answered, and which sums it verified.
Nothing is asked of the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unpooled.described.file_list import manifest_name, result_files
from unpooled.described.manifest import ListedRound
from unpooled.errors import ProtocolError, UnpooledError
from unpooled.protocol.sealing import fingerprint
from unpooled_client.state.folder import Acceptance, Agreement, StateFolder
from unpooled_client.state.written import digest_of
from unpooled_client.study.book import Entry, Heard, lines_of
from unpooled_client.study.failures import UsageProblem

_FETCH = "Fetch the results into another folder (unpooled-client results --out DIR) and verify once more."
_TELL = "Do not rely on these results. Tell the coordinator, the other cohorts and the server's operator."


class Differs(UnpooledError):
    """The results are not those of this cohort's own run: what, where, what was expected, and the remedy."""

    def __init__(self, where: Path, what: str, expected: str, remedy: str = _TELL) -> None:
        super().__init__(f"{where}: {what}; expected was {expected}. {remedy}")


@dataclass(frozen=True)
class Verified:
    """Result of a verification in which everything was the same."""

    manifest: Path
    sha256: str
    rounds: int
    told: int
    """Number of rounds whose sum this cohort was told."""
    files: tuple[str, ...]


def verify(folder: StateFolder) -> Verified:
    """Compare the delivered results of a study with this cohort's own run of it; Differs at the first place.

    UsageProblem where there are no results, or none that say enough.
    """
    saved = folder.load()
    if saved.agreement is None or saved.acceptance is None or not saved.delivered:
        raise UsageProblem(
            "the results of this study are not here yet.", "Take part in it first: unpooled-client run."
        )
    path = Path(saved.out) / manifest_name(saved.agreement.plan)
    found = _read(path)
    _compare_terms(path, found, saved.invitation.study, saved.agreement)
    told = _compare_rounds(path, found["rounds"], folder.book, saved.acceptance)
    files = _compare_files(path, found["files"], result_files(saved.agreement.plan))
    return Verified(path, digest_of(path), len(found["rounds"]), told, files)


def _read(path: Path) -> dict[str, Any]:
    """The manifest, of the form that `_compare_…` read."""
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found["rounds"], int):
            raise UsageProblem(
                f"{path} was written by an earlier release, and does not say what the rounds were.",
                "Results of studies that end from this release on can be verified.",
            )
        return {
            "study": found["study"]["id"],
            "plan_hash": found["plan_hash"],
            "roster": {member["name"]: member["fingerprint"] for member in found["roster"]},
            "rounds": [ListedRound.of(line) for line in found["rounds"]],
            "files": {file["name"]: file["sha256"] for file in found["files"]},
        }
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}.", _FETCH) from error
    except (ValueError, LookupError, TypeError, ProtocolError) as error:
        raise Differs(path, f"this is no manifest ({error})", "what the server writes", _FETCH) from error


def _compare_terms(path: Path, found: Mapping[str, Any], study: str, agreement: Agreement) -> None:
    expected = {
        "study": study,
        "plan_hash": agreement.plan.hash().hex(),
        "roster": {name: fingerprint(key) for name, key in agreement.roster.members},
    }
    for name, value in expected.items():
        if found[name] != value:
            raise Differs(path, f"{name} is {found[name]}", f"{value}, as it was accepted here")


def _compare_rounds(path: Path, rounds: Sequence[ListedRound], book: Path, acceptance: Acceptance) -> int:
    """Compare the rounds in the manifest with this cohort's book, and count those whose sum it was told."""
    listed, lines = {each.round: each for each in rounds}, list(lines_of(book, acceptance.seed))
    answered = {line.round: line for line in lines if isinstance(line, Entry)}
    heard = sorted((line for line in lines if isinstance(line, Heard)), key=lambda line: line.round)
    # All numbers of either side: a round that only one knows of is what would be hidden.
    for number in sorted(listed.keys() | answered.keys()):
        _compare_round(path, number, listed.get(number), answered.get(number))
    for each in heard:
        one = listed.get(each.round)
        if one is None or (one.place, one.told) != (each.place, each.digest.hex()):
            raise Differs(
                path,
                f"round {each.round}, at the place {each.place} in the study, has "
                f"{f'a sum with the digest {one.told}' if one and one.told else 'no sum'}",
                f"{each.digest.hex()}, of the sum that this cohort was told and has verified",
            )
    return len(heard)


def _compare_round(path: Path, number: int, listed: ListedRound | None, answered: Entry | None) -> None:
    if answered is None:
        raise Differs(path, f"round {number} is one that this cohort never answered", "no such round")
    asked = f"{answered.digest.hex()} at the place {answered.place or '-'}, as this cohort answered it"
    if listed is None:
        if answered.place:  # a list is agreed on once more if another cohort accepts again
            raise Differs(path, f"round {number} is missing", asked)
    elif (listed.place, listed.asked) != (answered.place, answered.digest.hex()):
        raise Differs(path, f"round {number} asked {listed.asked} at the place {listed.place or '-'}", asked)


def _compare_files(path: Path, named: Mapping[str, str], possible: Sequence[str]) -> tuple[str, ...]:
    """The names of the files that are as the manifest has them; all that the plan can give must be in it."""
    for name in possible:
        file = path.with_name(name)
        if name in named and not file.is_file():
            raise Differs(file, "this file is not there", "the one that the manifest names", _FETCH)
        if name in named and (found := digest_of(file)) != named[name]:
            raise Differs(file, f"its SHA-256 is {found}", f"{named[name]}, as the manifest has it", _FETCH)
        if name not in named and name != path.name and file.exists():
            raise Differs(file, "the manifest does not name this file", "a file that it names")
    if strange := named.keys() - set(possible):
        raise Differs(path, f"it names {min(strange)}", "only files that follow from the plan")
    return tuple(named)
