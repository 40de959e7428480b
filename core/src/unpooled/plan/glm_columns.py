"""Columns of the reports `.glm.*`, chosen as by `cols=` of plink2's --glm (tried with alpha 3.5).

ID and A1 are always there; the others follow the order of `COLUMN_SETS`, whatever the order they are named
in; `firth` only where some variants may be fitted so, and others not. plink2's sets about cases and controls
separately are not available.
"""

from __future__ import annotations

from collections.abc import Sequence

COLUMN_SETS = (
    *("chrom", "pos", "ref", "alt1", "alt", "ax", "a1count", "totallele", "a1freq", "machr2"),
    *("firth", "test", "nobs", "beta", "orbeta", "se", "ci", "tz", "p", "err"),
)

MACH_R2 = "machr2"
"""Imputation quality of the pool; a result has a column of this name only where it is asked for."""

USUAL = ("chrom", "pos", "ref", "alt", "firth", "test", "nobs", "orbeta", "se", "ci", "tz", "p", "err")


def chosen(text: str) -> tuple[str, ...]:
    """The sets that `chrom,pos,p` names; or the usual ones, with and without those of `+a1freq,-err`.

    ValueError for anything else.
    """
    words = text.split(",")
    changes = [word[:1] in ("+", "-") for word in words]
    if any(changes) and not all(changes):
        raise ValueError("either every set has a plus or a minus before it, or none has")
    names = [word[1:] for word in words] if all(changes) else words
    if unknown := [name for name in names if name not in COLUMN_SETS]:
        raise ValueError(
            f"no set of columns is called {', '.join(unknown)}; there are {','.join(COLUMN_SETS)}"
        )
    if not all(changes):
        return tuple(name for name in COLUMN_SETS if name in names)
    wanted = set(USUAL)
    for word, name in zip(words, names, strict=True):
        (wanted.add if word[0] == "+" else wanted.discard)(name)
    return tuple(name for name in COLUMN_SETS if name in wanted)


def problem(sets: Sequence[str], one_test: bool) -> str:
    """Say what is wrong with a plan's column sets; empty if nothing is. `one_test`: each variant has one
    line.
    """
    if not set(sets) <= set(COLUMN_SETS):
        return f"want some of {', '.join(COLUMN_SETS)}"
    if {"se", "ci"} & set(sets) and not {"beta", "orbeta"} & set(sets):
        return "se and ci need beta or orbeta"
    if sets and "test" not in sets and not one_test:
        return "test can only be left out with hide_covar"
    return ""
