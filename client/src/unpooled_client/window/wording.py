"""Rewording of the engine's messages, from command line terms to those of the window.

Its sentences name options where the window has fields. Here each option has the name that it has in the
window; one that the window has not is of the command line, and is called so.
"""

from __future__ import annotations

import re

from unpooled_client.window.form import FLAGS, LISTS, TEXTS, option_of

FIELDS = {
    "--table": "the table",
    "--bfile": "the genotypes",
    "--pfile": "the genotypes",
    "--vcf": "the genotypes",
    "--vcf-dosage": "“Dosages from”",
    "--bgen": "the genotypes",
    "--sample": "“People of the BGEN”",
    "--psam": "“Sexes and phenotypes”",
    "--bed": "the genotypes",
    "--bim": "the genotypes",
    "--fam": "the genotypes",
    "--pheno": "the phenotype file",
    "--pheno-name": "“Phenotype column”",
    "--mpheno": "“Phenotype column”",
    "--covar": "the covariate file",
    **{option_of(name): f"“{label.replace('&', '')}”" for name, label in (LISTS | TEXTS | FLAGS).items()},
    "--threads": "cores",
    "--out": "the folder for the results",
    "--join-anew": "“Join anew”",
    "--few-apart": "“I know what this tells”",
    "--categorical": "the levels in the plan",
    "--nonfounders": "that nonfounders count",
}
"""Options by the names of their fields, or of what they are in the plan."""

COMMANDS = {
    "join": "the step Join",
    "check": "the step Check",
    "review": "the step Review",
    "run": "the step Run",
    "results": "“Compare again” at the step Results",
    "ledger": "“Everything that was sent” at the step Results",
    "doctor": "“Test the connection”",
}
"""Commands by what does the same in the window."""

_COMMAND = re.compile(r"unpooled-client ([a-z]\w*)((?: (?:--[a-z-]+|[A-Z]{3,}|…|/\S*))*)")
_BESIDE = re.compile(r"(.+) \((--[a-z0-9-]+)\)")
_QUOTED = re.compile(r"`[^`]*`")
_OPTION = re.compile(r"(?<![\w-])(--[a-z0-9][a-z0-9-]*)(?: (?:FILE|PREFIX|DIR|NAME|N)\b)?")
_FILE = re.compile(r"\bthe (--(?:pheno|covar|keep|remove|extract|exclude)) file\b")
_SAME = re.compile(r"(“[^”]+”), \1")


def name_and_option(label: str) -> tuple[str, str]:
    """A label without the option in brackets behind it, which may stand small beside; and that option."""
    found = _BESIDE.fullmatch(label)
    return (found[1], found[2]) if found else (label, "")


def in_window(text: str) -> str:
    """The same sentence for the window. Commands of other programs, in backticks, stay as they are."""
    parts, last = [], 0
    for quoted in _QUOTED.finditer(text):
        own = _COMMAND.match(quoted[0][1:])
        parts += [_said(text[last : quoted.start()]), _command(own) if own else quoted[0]]
        last = quoted.end()
    return "".join([*parts, _said(text[last:])])


def _command(found: re.Match[str]) -> str:
    return COMMANDS.get(found[1], "the command line")


def _said(text: str) -> str:
    text = _COMMAND.sub(_command, text)
    text = _FILE.sub(lambda found: _name(found[1]), text)
    return _SAME.sub(r"\1", _OPTION.sub(lambda found: _name(found[1]), text))


def _name(option: str) -> str:
    return FIELDS.get(option, f"an option of the command line ({option.removeprefix('--')})")
