"""Shows what a change did to results: to every method, and to every small study of `tests.contract`.

    python -m tests.same_bytes --keep FILE     before a change: keeps what these studies ask, say and write
    python -m tests.same_bytes --bytes FILE    after it, on the same machine: compares every byte
    python -m tests.same_bytes --digits        compares the small studies with the committed files, anywhere
    python -m tests.same_bytes --commit        makes the committed files anew

A study is its result files, its questions without their salts, its plan's hash, and what people read before
they agree. Masks and salts differ each time, and cancel; Gaussian masks, which do not, are left out.
What follows the words above are beginnings of names of studies: only these are kept or compared.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .contract.digits import Lines, differences, lines_of
from .contract.options import OPTIONS
from .contract.runs import consent, run, small
from .contract.studies import STUDIES

FOLDER = Path(__file__).parent / "contract" / "digits"
QUESTIONS, CONSENT = "questions", "consent"
MOST_LINES, MOST_LETTERS = 600, 2000
"""So much of a file, and of a line, is committed, and how much more there is."""
MOST_SHOWN = 20
# Its rows are drawn by questions that hold what was computed before; the last bits of that go by the
# processor (another OPENBLAS_CORETYPE is enough), and with them go the rows.
BY_PROCESSOR = "local-updates, scaled"
_HEAD = "== "

Place = tuple[str, str]
"""A study and a file."""
Found = dict[Place, bytes]


def everything(studies: Sequence[str]) -> Found:
    """All of these studies, to the byte."""
    found: Found = {}
    for study in studies:
        asked = ["kind SHA-256", *(f"{kind} {sha256(message)}" for kind, message in run(study).messages())]
        agreed = (small(study).plan.hash().hex(), *consent(small(study)))
        found |= {(study, name): content for name, content in run(study).files.items()}
        found[study, QUESTIONS], found[study, CONSENT] = "\n".join(asked).encode(), "\n".join(agreed).encode()
    return found


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# To the byte, on one machine


def keep(file: Path, studies: Sequence[str]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for place, content in everything(studies).items():
            out.writestr(" / ".join(place), content)


def kept(file: Path, studies: Sequence[str]) -> Found:
    with zipfile.ZipFile(file) as archive:
        places = {name: tuple(name.split(" / ")) for name in archive.namelist()}
        return {(study, name): archive.read(at) for at, (study, name) in places.items() if study in studies}


def unlike_bytes(before: Found, now: Found) -> Iterator[str]:
    """Find what is not as it was kept, a line for each place."""
    yield from _missing(before, now)
    for place in before.keys() & now.keys():
        was, found = before[place], now[place]
        if was != found:
            yield f"{' / '.join(place)}: SHA-256 {sha256(was)} before, now {sha256(found)}"
            for number, each in enumerate(differences(lines_of(was), lines_of(found), exactly=True)):
                if number < MOST_SHOWN:
                    yield f"    {each}"


def _missing(before: Mapping[Place, object], now: Mapping[Place, object]) -> Iterator[str]:
    for place in sorted(before.keys() ^ now.keys()):
        yield f"{' / '.join(place)}: {'no longer there' if place in before else 'was not there before'}"


# By the digits, on any machine


def digits_of(study: str) -> dict[Place, Lines]:
    """Return what is committed of a study.

    Of questions how many there are of each kind, in order: what is in them follows from sums. Of consent the
    words, but a digest where another study of the method has its words there.
    """
    files = run(study).files if study != BY_PROCESSOR else {}
    found = {(study, name): lines_of(content) for name, content in files.items()}
    found = {place: shortened(lines) for place, lines in found.items()}
    kinds = Counter(kind for kind, _ in run(study).messages())
    found[study, QUESTIONS] = [f"{kind} {number}" for kind, number in kinds.items()]
    words, plan = list(consent(small(study))), small(study).plan
    is_first = next(name for name in STUDIES if small(name).plan.test == plan.test) == study
    found[study, CONSENT] = [plan.hash().hex(), *(words if is_first else [sha256("\n".join(words).encode())])]
    return found


def shortened(lines: Lines) -> Lines:
    """The lines that are committed; the other ones by their number, and their letters by their number."""
    found = [
        line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]} and {len(line) - MOST_LETTERS} letters"
        for line in lines[:MOST_LINES]
    ]
    return [*found, f"and {more} lines"] if (more := len(lines) - MOST_LINES) > 0 else found


def unlike_digits(study: str) -> Iterator[str]:
    """Find what of a study is not as it is committed."""
    before = {place: lines for place, lines in committed(file_of(study)).items() if place[0] == study}
    now = digits_of(study)
    yield from _missing(before, now)
    for place in before.keys() & now.keys():
        for each in differences(before[place], now[place], exactly=place[1] in (QUESTIONS, CONSENT)):
            yield f"{' / '.join(place)}: {each}"


def file_of(study: str) -> Path:
    return FOLDER / f"{small(study).plan.test}.txt"


def committed(file: Path) -> dict[Place, Lines]:
    """Read a committed file: sections, each with a study and a file, or the place of the same lines."""
    found: dict[Place, Lines] = {}
    for section in file.read_text(encoding="utf-8").split(f"\n{_HEAD}")[1:]:
        head, *lines = section.split("\n")
        place, _, same = head.partition(" = ")
        study, name = place.split(" / ")
        found[study, name] = found[_place(same)] if same else lines
    return found


def _place(text: str) -> Place:
    study, name = text.split(" / ")
    return study, name


def commit() -> None:
    """Make the committed files anew."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for file in dict.fromkeys(map(file_of, STUDIES)):
        written: dict[tuple[str, ...], Place] = {}
        with file.open("w", encoding="utf-8", newline="\n") as out:
            for study in (name for name in STUDIES if file_of(name) == file):
                for place, lines in digits_of(study).items():
                    before = written.setdefault(tuple(lines), place)
                    head = " = ".join(map(" / ".join, dict.fromkeys([place, before])))
                    out.write("\n".join(["", f"{_HEAD}{head}", *(lines if before == place else [])]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what studies ask, say and write with before.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--keep", type=Path, metavar="FILE", help="keep it for --bytes")
    what.add_argument("--bytes", type=Path, metavar="FILE", help="compare every byte with what was kept")
    what.add_argument("--digits", action="store_true", help="compare numbers with the committed files")
    what.add_argument("--commit", action="store_true", help="make the committed files anew")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="beginnings of names; all without any")
    asked = parser.parse_args()
    if asked.commit and asked.studies:
        parser.error("--commit makes all of the files anew")
    studies = [name for name in STUDIES | OPTIONS if name.startswith(tuple(asked.studies) or "")]
    if asked.commit:
        commit()
    elif asked.keep:
        keep(asked.keep, studies)
    else:
        if asked.digits:
            studies = [name for name in studies if name in STUDIES]
            unlike = [line for study in studies for line in unlike_digits(study)]
        else:
            unlike = list(unlike_bytes(kept(asked.bytes, studies), everything(studies)))
        print(*unlike, f"{len(studies)} studies: {'as before' if not unlike else 'not as before'}", sep="\n")
        sys.exit(bool(unlike))


if __name__ == "__main__":
    main()
