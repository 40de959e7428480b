"""Covariates that a rehearsal's plan names: those that PLINK would take from a --covar file.

A coordinator who never sees a cohort's files types their names. In a rehearsal the files are here, so the
names come from the first line, as PLINK chooses them: all columns, or by name or number, in the file's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unpooled.errors import UnpooledError


class NoSuchCovariate(UnpooledError):
    """A covariate that the file does not have, or a range of none."""


def names_in(file: Path) -> list[str]:
    """Names of the columns after FID and IID; COV1, COV2, … without a header line."""
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        words = next((line.split() for line in lines if line.strip()), [])
    if not words:
        raise NoSuchCovariate(f"{file} is empty.")
    if words[0] == "#IID":
        return words[1:]
    if words[0] in ("FID", "#FID") and words[1:2] == ["IID"]:
        return words[2:]
    return [f"COV{k + 1}" for k in range(len(words) - 2)]


def chosen(names: Sequence[str], by_name: Sequence[str], by_number: Sequence[str]) -> list[str]:
    """The names that --covar-name or --covar-number choose, in the file's order; all if neither does.

    Raises NoSuchCovariate.
    """
    if by_name:
        places = [_ends_by_name(part, names) for part in by_name]
    elif by_number:
        places = [_ends_by_number(part, len(names)) for part in by_number]
    else:
        return list(names)
    for part, (first, last) in zip(by_name or by_number, places, strict=True):
        if last < first:
            raise NoSuchCovariate(f"{part} ends before it begins.")
    wanted = {k for first, last in places for k in range(first, last + 1)}
    return [name for k, name in enumerate(names) if k in wanted]


def _ends_by_name(part: str, names: Sequence[str]) -> tuple[int, int]:
    ends = [part] if part in names else part.split("-")
    if len(ends) > 2 or not set(ends) <= set(names):
        raise NoSuchCovariate(f"no covariate is called {part}; there are {', '.join(names)}.")
    return names.index(ends[0]), names.index(ends[-1])


def _ends_by_number(part: str, columns: int) -> tuple[int, int]:
    ends = part.split("-")
    if len(ends) > 2 or not all(end.isdecimal() and 1 <= int(end) <= columns for end in ends):
        raise NoSuchCovariate(f"there is no covariate number {part}; there are {columns}.")
    return int(ends[0]) - 1, int(ends[-1]) - 1


def planned(names: Sequence[str], levels: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """Covariates as a plan has them; `levels` are those of the categorical ones, the reference first."""
    unknown = [name for name in levels if name not in names]
    if unknown:
        raise NoSuchCovariate(f"no covariate is called {', '.join(unknown)}; there are {', '.join(names)}.")
    return [{"name": name, "levels": list(levels.get(name, ()))} for name in names]
