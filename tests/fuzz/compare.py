"""A federation's result files beside PLINK's on the pool, line by line."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from unpooled.kernels import least_squares as codes

from . import known
from .ours import Results
from .plinks import Reports, standardises
from .study import Study
from .truth import Fit, Truth

Line = dict[str, str]

_SAME = {"assoc": ("CHR", "SNP", "BP", "A1", "TEST", "NMISS"),
         "glm": ("#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST", "OBS_CT")}  # fmt: skip
_ANY_OF = ("SEPARATION", "LOGISTIC_CONVERGE_FAIL", "CORR_TOO_HIGH", "VIF_TOO_HIGH")
"""Codes of variants without a maximum: which of them depends on what is looked at first."""


@dataclass(frozen=True)
class Disagreement:
    """A line, or a file, that no rule of `known` covers."""

    file: str
    what: str
    variant: str
    ours: str
    theirs: str
    more: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """What stays the same while a case is cut down."""
        return self.file, self.what

    def __str__(self) -> str:
        return f"{self.file}: {self.what} {self.more}\n  ours   {self.ours}\n  PLINK  {self.theirs}"


@dataclass
class Outcome:
    """What came of one federation, or of many."""

    lines: int = 0
    numbers: int = 0
    """Lines of regressions with a number in both."""
    identical: int = 0
    exact: int = 0
    """Variants put before statsmodels in full precision."""
    rehearsed: int = 0
    """Federations that `unpooled rehearse` has run, too."""
    rules: Counter[str] = field(default_factory=Counter)
    """How often each rule of `known` was needed: in lines, or in whole files."""
    reasons: Counter[str] = field(default_factory=Counter)
    """What PLINK or the product said where it refused, in its last line."""
    disagreements: list[Disagreement] = field(default_factory=list)

    def refused(self, rule: str, said: str) -> None:
        self.rules[rule] += 1
        self.reasons[re.sub("[0-9]+", "N", said.splitlines()[-1])] += 1

    def __add__(self, other: Outcome) -> Outcome:
        names = [each.name for each in dataclasses.fields(Outcome)]
        return Outcome(*(getattr(self, name) + getattr(other, name) for name in names))

    def __str__(self) -> str:
        parts = [
            f"{self.lines:,} lines, {self.identical:,} identical; {self.numbers:,} of regressions with a number "
            f"in both; {self.exact:,} variants beside statsmodels in full precision"
        ]
        parts += [f"{times:9,}  {rule}: {known.RULES[rule]}" for rule, times in self.rules.most_common()]
        parts += [f"{times:9,}  refused: {said}" for said, times in self.reasons.most_common(10)]
        return "\n".join(parts)


def parsed(report: bytes) -> list[Line]:
    header, *lines = report.decode().splitlines() or [""]
    return [dict(zip(header.split(), line.split(), strict=True)) for line in lines]


def same_bytes(file: str, ours: bytes, theirs: bytes, autosomes: int, outcome: Outcome) -> None:
    """Files that must be equal; the first line that is not stands for all."""
    a, b = ours.decode().splitlines(), theirs.decode().splitlines()
    outcome.lines += len(b)
    outcome.identical += sum(x == y for x, y in zip(a, b, strict=False))
    if ours == theirs:
        return
    if len(a) != len(b):
        here, there = ({tuple(line.split()[:3]) for line in some} for some in (a, b))
        odd = next(iter(sorted(here ^ there)), ("",) * 3)
        lists = ["\n".join(line for line in some if tuple(line.split()[:3]) == odd) for some in (a, b)]
        outcome.disagreements.append(
            Disagreement(file, "other lines", odd[1] if len(odd) > 1 else "", *lists)
        )
        return
    for x, y in zip(a, b, strict=True):
        if x != y and _is_hwe_on_y(file, x, y, autosomes):
            outcome.rules[known.HWE_ON_Y] += 1
        elif x != y:
            outcome.disagreements.append(Disagreement(file, "another line", y.split()[1], x, y))
            break


def _is_hwe_on_y(file: str, ours: str, theirs: str, autosomes: int) -> bool:
    """Whether a line is about cases or controls on Y, and ours says that there is nothing."""
    a, b = ours.split(), theirs.split()
    counted = file == "hwe" and a[0] == str(autosomes + 2) and a[2] in ("AFF", "UNAFF")
    return counted and a[:5] == b[:5] and a[5:] == ["0/0/0", "nan", "nan", "1"]


class Comparison:
    """A report of a regression beside PLINK's."""

    def __init__(self, study: Study, results: Results, truth: Truth, file: str, outcome: Outcome) -> None:
        self.study, self.results, self.truth, self.outcome = study, results, truth, outcome
        self.file = file
        self.glm = ".glm." in file
        self.name = "ID" if self.glm else "SNP"
        self.logistic = study.test == "logistic"
        self.digits = 6 if self.glm else 4
        rows = results.regression(self.glm)
        names = results.panel.name[rows["variant"][:]].astype(str).tolist()
        self.codes = dict(zip(names, rows["code"][:].tolist(), strict=True))
        self._estimable: dict[str, bool | None] = {}
        self._fits: dict[str, Fit | None] = {}

    def compare(self, reports: Reports) -> None:
        ours, theirs = self.results.files[self.file], reports.files.get(self.file, b"")
        if theirs and ours.split(b"\n", 1)[0] != theirs.split(b"\n", 1)[0]:
            heads = (text.split(b"\n", 1)[0].decode() for text in (ours, theirs))
            return self._disagree("another header", "", *heads)
        pairs = zip(ours.splitlines()[1:], parsed(ours), strict=True)
        mine = {(line[self.name], line["TEST"]): (text, line) for text, line in pairs}
        pairs = zip(theirs.splitlines()[1:], parsed(theirs), strict=True)
        their = {(line[self.name], line["TEST"]): (text, line) for text, line in pairs}
        if reports.without:
            mine = {key: line for key, line in mine.items() if line[1]["#CHROM"] not in reports.without}
        for key in sorted(mine.keys() | their.keys()):
            if key not in mine:
                self._disagree("a line of PLINK's only", key[0], "", their[key][0].decode())
            elif key not in their:
                self._ours_only(mine[key][1])
        if self.glm and standardises(self.study):
            mine = {key: line for key, line in mine.items() if key[1] in ("ADD", "SEX")}
        for key in mine:
            if key in their:
                self._pair(*mine[key], *their[key])

    def look_closely(self, count: int) -> None:
        """Some of the variants with a number against statsmodels in full precision, whatever PLINK says."""
        if self.study.plan.get("tolerance"):
            return
        lines = [
            line
            for line in parsed(self.results.files[self.file])
            if line["TEST"] == "ADD" and self._is_number(line)
        ]
        random = np.random.default_rng(self.study.seed)
        for line in random.permutation(np.array(lines, object))[:count]:
            fit = self._fit(line)
            for test, (beta, se) in self._estimates(line).items():
                b, e, _ = fit.of(test) if fit else (np.nan,) * 3
                if not (abs(beta - b) <= 1e-9 * max(abs(b), e) and abs(se - e) <= 1e-6 * e):
                    ours, theirs = f"{test} {beta!r} {se!r}", f"statsmodels {b!r} {e!r}"
                    self._disagree("not statsmodels' estimate", line[self.name], ours, theirs)
        self.outcome.exact += min(count, len(lines))

    def _ours_only(self, ours: Line) -> None:
        """plink2 has no line: ours is NA for a reason, or right."""
        texts = " ".join(ours.values()), ""
        if not self.glm:
            self._disagree("a line of ours only", ours[self.name], *texts)
        elif self._alone(ours, texts):
            self.outcome.rules[known.LEFT_OUT] += 1

    def _alone(self, ours: Line, texts: tuple[str, str]) -> bool:
        """Whether a line is well beside nothing of PLINK's."""
        if not self._is_number(ours):
            return self._na_is_due(ours, (texts[0], ""))
        right = not (self.logistic and self._no_maximum(ours)) and (
            self._is_right(ours) or self._is_tolerated(ours)
        )
        return right or self._disagree("a wrong number", ours[self.name], *texts, self._truth_in_words(ours))

    def _pair(self, text: bytes, ours: Line, their_text: bytes, theirs: Line) -> object:
        self.outcome.lines += 1
        texts = text.decode(), their_text.decode()
        different = [title for title in _SAME["glm" if self.glm else "assoc"] if ours[title] != theirs[title]]
        if different == ["OBS_CT"] and (rule := self._why_others(ours, int(theirs["OBS_CT"]))):
            self.outcome.rules[rule] += 1
            if rule != known.MARKS_ONE:  # another regression
                return self._alone(ours, texts)
        elif different:
            return self._disagree(f"another {different[0]}", ours[self.name], *texts)
        numbers = self._is_number(ours), self._is_number(theirs)
        self.outcome.numbers += all(numbers)
        if text == their_text and all(numbers):
            self.outcome.identical += 1
        elif numbers == (True, True):
            self._numbers(ours, theirs, texts)
        elif numbers == (True, False):
            self._theirs_is_na(ours, texts)
        elif self._na_is_due(ours, texts):
            if numbers == (False, True):
                self.outcome.rules[self._why_na(ours)] += 1
            else:
                self.outcome.identical += text == their_text
                self._codes(ours, theirs, texts)
        return None

    def _numbers(self, ours: Line, theirs: Line, texts: tuple[str, str]) -> None:
        if self.logistic and self._no_maximum(ours):
            return self._disagree("numbers where no maximum exists", ours[self.name], *texts)
        if self.glm and theirs["ERRCODE"] != ours["ERRCODE"]:
            rule = known.STOPPED  # UNFINISHED: what plink2 says of its own number
        elif self._near(ours, theirs):
            self.outcome.rules[known.LAST_DIGIT] += not self.glm
            return None
        else:
            incomplete = self.glm and self.logistic and len(self._rows(ours).y) < self._most(ours)
            rule = known.MISSING_CALLS if incomplete else known.SINGLE
        if self._is_right(ours):
            self.outcome.rules[rule] += 1
        elif self._is_tolerated(ours):
            self.outcome.rules[known.TOLERANCE] += 1
        else:
            self._disagree("another number", ours[self.name], *texts, self._truth_in_words(ours))
        return None

    def _theirs_is_na(self, ours: Line, texts: tuple[str, str]) -> None:
        if self.logistic and self._no_maximum(ours):
            self._disagree("a number where no maximum exists", ours[self.name], *texts)
        elif self._is_right(ours) or self._is_tolerated(ours):
            self.outcome.rules[known.GAVE_UP] += 1
        else:
            self._disagree(
                "a wrong number where PLINK has NA", ours[self.name], *texts, self._truth_in_words(ours)
            )

    def _na_is_due(self, ours: Line, texts: tuple[str, str]) -> bool:
        """Whether ours may be NA; else it is a disagreement, once for each variant."""
        code = self.codes[ours[self.name]]
        theirs = self._is_number_of(texts[1])
        if not self.logistic:
            due = not theirs or self._rows(ours).is_dependent
            return due or self._disagree("NA though PLINK has a number", ours[self.name], *texts)
        if not self._is_estimable(ours):
            return True
        limited = int(self.study.plan.get("max_iterations", 25)) < 25 and code == codes.UNFINISHED  # type: ignore[call-overload]
        refused = code not in (codes.SEPARATED, codes.UNFINISHED) and not theirs
        return limited or refused or self._disagree("NA though there is an estimate", ours[self.name], *texts)

    def _why_na(self, ours: Line) -> str:
        if self._rows(ours).is_dependent:
            return known.DEPENDENT
        estimable = self._is_estimable(ours)
        return known.LIMIT if estimable else known.UNDECIDED if estimable is None else known.STOPPED

    def _codes(self, ours: Line, theirs: Line, texts: tuple[str, str]) -> None:
        """Both are NA: plink2 says why, in a code."""
        if not self.glm or ours["ERRCODE"] == theirs["ERRCODE"]:
            return
        pair = ours["ERRCODE"], theirs["ERRCODE"]
        kinds = {code.partition(",")[0] for code in pair}
        if (len(kinds) == 2 and kinds <= set(_ANY_OF)) or self._rows(ours).is_dependent:
            self.outcome.rules[known.CODE] += 1
        else:
            self._disagree(f"the code {pair[0]} for {pair[1]}", ours[self.name], *texts)

    def _why_others(self, ours: Line, people: int) -> str | None:
        """The rule by which plink2 counts other people; None if there is none."""
        if (np.ptp(self._rows(ours).x[:, 2:], axis=0) == 0).any():
            return known.DEPENDENT
        if self.logistic:
            values = [
                column == value for column in self._rows(ours).x[:, 2:].T for value in np.unique(column)
            ]
            enough = [who for who in values if who.sum() >= people]
            some = itertools.chain.from_iterable(itertools.combinations(enough, size) for size in (1, 2, 3))
            return known.FEWER if any(np.all(chosen, axis=0).sum() == people for chosen in some) else None
        x = self.truth.everyone(ours["ID"], ours["A1"]).x[:, 2:]
        counts = [np.unique(column, return_counts=True)[1] for column in x.T]
        return known.MARKS_ONE if any(len(count) == 2 and count.min() == 1 for count in counts) else None

    # Numbers

    def _is_number(self, line: Line) -> bool:
        return line["P"] != "NA"

    def _is_number_of(self, text: str) -> bool:
        return bool(text) and "NA" not in text.split()

    def _near(self, ours: Line, theirs: Line) -> bool:
        """Within the bars of design: 1e-3, and a digit of what is printed; of linear that digit alone."""
        for title, a in ours.items():
            if title in _SAME["assoc"] + _SAME["glm"] + ("ERRCODE",) or a == theirs[title]:
                continue
            if title[0] in "LU" and title[1:].isdecimal() and (self.logistic or self.glm):
                continue
            x, y = float(a), float(theirs[title])
            relative, absolute = (1e-3, 0.0) if title in ("OR", "P", "SE", "LOG(OR)_SE") else (0.0, 1e-3)
            if not self.logistic and not self.glm:
                relative = absolute = 0.0
            if not abs(x - y) <= max(relative * abs(y), absolute) + 1.001 * _unit(y, self.digits):
                return False
        return True

    def _is_right(self, ours: Line) -> bool:
        """Whether every number that is printed is what statsmodels finds."""
        fit = self._fit(ours)
        if fit is None:
            return False
        pairs = ((float(ours[title]), *truth) for title, truth in self._expected(ours, fit).items())
        return all(
            a == value or abs(a - value) <= 0.501 * _unit(a, self.digits) + slack for a, value, slack in pairs
        )

    def _expected(self, ours: Line, fit: Fit) -> dict[str, tuple[float, float]]:
        """What the columns of a line are by a fit, and by how much that is uncertain: SE by 1e-6."""
        beta, se, p = fit.of(ours["TEST"])
        odds = "OR" in ours
        found = {"OR" if odds else "BETA": beta, "LOG(OR)_SE" if self.glm and odds else "SE": se}
        if ci := float(self.study.plan.get("ci", 0)):  # type: ignore[arg-type]
            reach, percent = stats.norm.ppf(1 - (1 - ci) / 2), int(ci * 100 + 1e-9)
            found |= {f"L{percent}": beta - reach * se, f"U{percent}": beta + reach * se}
        expected = {}
        for title, value in found.items():
            if title in ours:
                shown = _exp(value) if odds and "SE" not in title else value
                expected[title] = (float(shown), 1e-6 * se * (shown if odds and "SE" not in title else 1))
        z = beta / se
        expected[next(title for title in ("STAT", "Z_STAT", "T_STAT") if title in ours)] = (
            z,
            1e-6 * (1 + abs(z)),
        )
        expected["P"] = (p, p * 1e-6 * (1 + z * z))
        return expected

    def _is_tolerated(self, ours: Line) -> bool:
        """With a tolerance: whether the likelihood is as near to its maximum as that."""
        tolerance = float(self.study.plan.get("tolerance", 0))  # type: ignore[arg-type]
        if not tolerance:
            return False
        found = self._estimates(ours)
        rows = self._rows(ours)
        if len(found) < len(rows.names):  # covariates are hidden
            return False
        return rows.shortfall({test: beta for test, (beta, _) in found.items()}) <= tolerance

    def _estimates(self, line: Line) -> dict[str, tuple[float, float]]:
        """Coefficients and standard errors of the variant's regression in full precision, by test."""
        rows, names = self.results.regression(self.glm), self._rows(line).names
        at = int(np.flatnonzero(rows["variant"][:] == self.results.place[line[self.name]])[0])
        beta, se = (rows[name][at : at + 1][0].tolist() for name in ("beta", "se"))
        signs = [-1.0 if self.glm and name == "SEX" else 1.0 for name in names]
        return {name: (x * sign, e) for name, x, e, sign in zip(names, beta, se, signs, strict=False)}

    def _rows(self, line: Line):  # type: ignore[no-untyped-def]
        return self.truth.rows(line[self.name], line["A1"], self.glm)

    def _most(self, line: Line) -> int:
        return int(self.truth.complete.sum())

    def _fit(self, line: Line) -> Fit | None:
        name = line[self.name]
        if name not in self._fits:
            self._fits[name] = self._rows(line).fit()
        return self._fits[name]

    def _is_estimable(self, line: Line) -> bool | None:
        name = line[self.name]
        if name not in self._estimable:
            self._estimable[name] = self._rows(line).is_estimable()
        return self._estimable[name]

    def _no_maximum(self, line: Line) -> bool:
        """Whether the likelihood has none; a variant with small standard errors is not even looked at."""
        se = line.get("SE") or line.get("LOG(OR)_SE")
        if line["TEST"] != "ADD" or (se is not None and float(se) < 3):
            return False
        return self._is_estimable(line) is False

    def _truth_in_words(self, line: Line) -> str:
        fit = self._fit(line)
        if fit is None:
            return "statsmodels finds nothing"
        return "statsmodels: " + " ".join(f"{t}={v[0]:.8g}" for t, v in self._expected(line, fit).items())

    def _disagree(self, what: str, variant: str, ours: str, theirs: str, more: str = "") -> bool:
        """Take note; False, for whoever asked whether all is well."""
        self.outcome.disagreements.append(Disagreement(self.file, what, variant, ours, theirs, more))
        return False


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _unit(value: float, digits: int) -> float:
    """What one more in the last of so many digits is."""
    return (
        float(10.0 ** (np.floor(np.log10(abs(value))) - digits + 1)) if value and np.isfinite(value) else 0.0
    )


def same_panel(study: Study, results: Results, outcome: Outcome) -> None:
    """The agreed panel against docs/panel.md: names, and the alleles that most cohorts have."""
    rows: Sequence[int] = np.flatnonzero(study.kept).tolist()
    expected = [(str(study.variants.name[k]), *sorted(study.pooled_pair(k)[:2])) for k in rows]
    panel = results.panel
    found = [
        (panel.name[k].decode(), *(allele.decode() for allele in panel.pair(k))) for k in range(len(panel))
    ]
    if found != expected:
        odd = sorted(set(found) ^ set(expected))[0]
        lists = (str([item for item in some if item[0] == odd[0]]) for some in (found, expected))
        outcome.disagreements.append(Disagreement("panel", "another panel", odd[0], *lists))
