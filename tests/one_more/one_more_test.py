"""A test of variants that the platform does not have, with an option of each kind.

It counts as the chi-square test does, and writes what was asked of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

from unpooled.asking.question import Arrays
from unpooled.methods.algorithm import AboutFile
from unpooled.methods.chi_square import CHI_SQUARE
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import COVARIATES
from unpooled.plan.options import Answer, Choice, Number, Numbers, Place, Switch, Whole, Wholes, Words
from unpooled.plan.plan import Plan

OPTIONS = (
    COVARIATES,
    Choice(
        name="prior",
        label="Prior",
        default="flat",
        place=Place.MODEL,
        answers=(
            Answer("flat", "Flat prior", "Every effect is as likely."),
            Answer("normal", "Normal prior", "Small effects are likelier.", methods="The prior was normal."),
        ),
    ),
    Number(name="shrinkage", label="Shrinkage", hint="0 for none.", default=0.0, least=0, most=1,
           fact="by {} towards the mean", methods="Effects were shrunk by {}."),
    Whole(name="rounds", label="Rounds", default=3, least=1, most=9, methods="It took {} rounds."),
    Switch(name="mirrored", label="Mirrored", fact="on both strands", methods="Strands were mirrored."),
    Numbers(name="weights", label="Weights", least=0, most=1),
    Wholes(name="lags", label="Lags"),
    Words(name="panels", label="Panels", among=("exome", "array", "genome")),
)  # fmt: skip


def _write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Each option with its value, and how many variants were tested."""
    for option in OPTIONS:
        out.write(f"{option.name}\t{option.shown(option.of(plan))}\n".encode())
    out.write(f"variants\t{len(columns['variant'])}\n".encode())


ONE_MORE = replace(
    CHI_SQUARE,
    name="one-more",
    title="One more test",
    method="Options were written down.",
    files={**CHI_SQUARE.files, "asked": _write},
    usual_files=("assoc", "asked"),
    about_files={"asked": AboutFile("What was asked", "each option with its value")},
    file_name=lambda file, plan: "asked.tsv" if file == "asked" else CHI_SQUARE.file_name(file, plan),
    options=OPTIONS,
)
