"""The reports of regressions beside PLINK's, line by line."""

from __future__ import annotations

import itertools

import numpy as np

from unpooled.kernels import least_squares as codes
from unpooled.plan.genotype_model import ADDITIVE

from . import known
from .judge import ASSOC, GLM, Judge, Line, is_joint, is_number, parsed
from .models import conditions, indicators
from .ours import Results
from .outcome import Disagreement, Outcome
from .plinks import Reports, standardises
from .study import Study
from .truth import Truth

_ITERATIONS = 25
_ALONE = 12
"""Variants of a report, of those that no PLINK has, whose numbers are looked at."""
_NO_MAXIMUM = {
    *("SEPARATION", "LOGISTIC_CONVERGE_FAIL", "FIRTH_CONVERGE_FAIL", "INVALID_RESULT"),
    *("CORR_TOO_HIGH", "VIF_TOO_HIGH"),
}
"""Codes of plink2 for variants without a maximum: which it is depends on what is looked at first."""

Texts = tuple[str, str]
"""A line of ours and of PLINK's as they stand."""
Lines = dict[tuple[str, str], tuple[str, Line]]
"""Lines of a report by variant and test."""


def _without_widths(report: bytes) -> bytes:
    return b"".join(b" ".join(line.split()) + b"\n" for line in report.splitlines())


class Comparison:
    """A report of ours beside PLINK's."""

    def __init__(self, study: Study, results: Results, truth: Truth, file: str, outcome: Outcome) -> None:
        self.study, self.results, self.file, self.outcome = study, results, file, outcome
        self.glm, self.logistic = ".glm." in file, study.test == "logistic"
        self.judge = Judge(study, results, truth, self.glm)
        self.as_they_are = {*self.judge.own, *truth.of_sex, *(name for name, _ in conditions(study))}
        columns = results.regression(self.glm)
        names = results.panel.name[columns["variant"][:]].astype(str).tolist()
        self.first = {line["SNP"]: line["A1"] for line in parsed(results.files["frq"])}
        self.codes = dict(zip(names, columns["code"][:].tolist(), strict=True))

    def compare(self, reports: Reports) -> None:
        ours, theirs = self.results.files[self.file], reports.files.get(self.file, b"")
        if self.study.model != ADDITIVE and not self.glm:  # PLINK 1.9 has not seen all IDs
            ours, theirs = _without_widths(ours), _without_widths(theirs)
        if self.study.plan.get("joint_test"):
            ours, theirs = (text.replace(b"_OR_F_STAT", b"_STAT", 1) for text in (ours, theirs))
        heads = [text.split(b"\n", 1)[0].decode() for text in (ours, theirs)]
        if theirs and heads[0] != heads[1]:
            self._disagree("another header", "", (heads[0], heads[1]))
            return
        mine, their = self._by_key(ours), self._by_key(theirs)
        of_cohorts = {name for name, _ in indicators(self.study)}  # which ours has no lines about
        their = {key: found for key, found in their.items() if key[1] not in of_cohorts}
        alone = list(dict.fromkeys(name for name, _ in mine if self._is_ours(name)))
        looked_at = set(np.random.default_rng(self.study.seed).permutation(alone)[:_ALONE].tolist())
        if self.study.plan.get("joint_test"):
            self._look_at_joint(mine)
            mine, their = (
                {key: found for key, found in lines.items() if not is_joint(key[1])}
                for lines in (mine, their)
            )
        for key, (text, line) in mine.items():
            if key[0] in alone:
                self._without_plink(line, text, key[0] in looked_at)
                continue
            if line.get("#CHROM") in reports.without:
                continue
            if key not in their:
                self._ours_only(line, text)
            elif key[1] in self.as_they_are or not (self.glm and standardises(self.study)):
                self._pair(line, their[key][1], (text, their[key][0]))
        for key in their.keys() - mine.keys():
            if key[0] in alone:
                continue
            if self.study.model != ADDITIVE and their[key][1].get("#CHROM") == "X":
                self.outcome.rules[known.ON_X] += 1
                continue
            self._disagree("a line of PLINK's only", key[0], ("", their[key][0]))

    def _look_at_joint(self, lines: Lines) -> None:
        """Put some joint tests, which PLINK is not asked for, before statsmodels: there is one beside the
        estimates."""
        joint = [key for key in lines if is_joint(key[1])]
        some = np.random.default_rng(self.study.seed).permutation(len(joint))[:_ALONE]
        for key in (joint[k] for k in some.tolist()):
            text, line = lines[key]
            if is_number(line) != is_number(lines[key[0], self.judge.own[0]][1]):
                self._disagree("a joint test without estimates, or none beside these", key[0], (text, ""))
            else:
                self._without_plink(line, text, True)

    def look_closely(self, count: int) -> None:
        """Some of the variants with a number against statsmodels in full precision, whatever PLINK says."""
        if self.study.plan.get("tolerance"):
            return
        lines = [line for line in parsed(self.results.files[self.file]) if line["TEST"] == self.judge.own[0]]
        lone = self.judge.truth.is_lone
        known_ones = np.array(
            [line for line in lines if is_number(line) and not lone(self.judge.name(line))], object
        )
        for line in np.random.default_rng(self.study.seed).permutation(known_ones)[:count]:
            self.outcome.exact += 1
            if far := self.judge.far_from_statsmodels(line):
                self._disagree("not statsmodels' estimate", self.judge.name(line), (far, ""))

    def _is_ours(self, variant: str) -> bool:
        """Tell whether a variant has a regression that no PLINK can be asked for."""
        if self.study.plan.get("robust"):
            return True
        truth, about = self.judge.truth, (variant, self.results.alleles(variant)[0].decode(), self.glm)
        if truth.is_filled(variant, self.glm) or truth.is_with_some(variant):
            return True
        return bool(indicators(self.study)) and len(truth.rows(*about).y) < truth.people(*about)

    def _without_plink(self, ours: Line, text: str, closely: bool) -> None:
        """The people and the allele, which another file has, and the numbers."""
        name = self.judge.name(ours)
        expected = str(self.judge.truth.people(name, ours["A1"], self.glm)), self.first[name]
        if (ours["OBS_CT" if self.glm else "NMISS"], ours["A1"].replace(".", "0")) != expected:
            self._disagree("other people, or another allele", name, (text, " ".join(expected)))
        elif closely and not self.judge.truth.is_lone(name) and self._alone(ours, (text, "")):
            self.outcome.rules[known.OURS] += 1

    def _by_key(self, report: bytes) -> Lines:
        """The lines by variant and test; where a covariate is called SEX, too, the second is of the sex."""
        found: Lines = {}
        for text, line in zip(report.decode().splitlines()[1:], parsed(report), strict=True):
            key = (self.judge.name(line), line["TEST"])
            if key in found:
                line["TEST"] = self.judge.truth.of_sex[key[1] != "SEX"]
            found[key[0], line["TEST"]] = text, line
        return found

    def _ours_only(self, ours: Line, text: str) -> None:
        """plink2 has no line: ours is NA for a reason, or right."""
        if not self.glm:
            self._disagree("a line of ours only", self.judge.name(ours), (text, ""))
        elif self._alone(ours, (text, "")):
            self.outcome.rules[known.LEFT_OUT] += 1

    def _pair(self, ours: Line, theirs: Line, texts: Texts) -> None:
        self.outcome.lines += 1
        self.outcome.identical += texts[0] == texts[1]
        different = [title for title in (GLM if self.glm else ASSOC) if ours[title] != theirs[title]]
        rule = self._why_others(ours, theirs) if different == ["OBS_CT"] else None
        if rule is not None:
            self.outcome.rules[rule] += 1
            if rule != known.MARKS_ONE:  # another regression
                self._alone(ours, texts)
                return
        elif different:
            self._disagree(f"another {different[0]}", self.judge.name(ours), texts)
            return
        if self.codes[self.judge.name(ours)] == codes.FEW:
            self.outcome.rules[known.FEW] += self._is_of_few(self.judge.name(ours), texts)
            return
        if self.glm and ours.get("FIRTH?") != theirs.get("FIRTH?"):
            self._another_fit(ours, theirs, texts)
        elif is_number(ours) and is_number(theirs):
            self.outcome.numbers += 1
            self._both(ours, theirs, texts)
        elif is_number(ours):
            if self._alone(ours, texts):
                self.outcome.rules[known.GAVE_UP] += 1
        elif self.codes[self.judge.name(ours)] == codes.PENALISED_UNFINISHED and is_number(theirs):
            if self.judge.rows(ours).is_dependent:
                self.outcome.rules[known.DEPENDENT] += 1
            elif not self._is_limited(self.judge.name(ours)) and theirs["ERRCODE"] == ".":
                self._disagree("no fit of Firth's", self.judge.name(ours), texts)
        elif self._na_is_due(ours, texts, is_number(theirs)):
            if is_number(theirs):
                self.outcome.rules[self._why_na(ours)] += 1
            elif self.glm:
                self._codes(ours, theirs, texts)

    def _another_fit(self, ours: Line, theirs: Line, texts: Texts) -> None:
        """One is Firth's. Ours is where the other has no maximum, or came to the plan's limit before it."""
        if ours["FIRTH?"] == "N":
            if self._alone(ours, texts):
                self.outcome.rules[known.GAVE_UP] += 1
        elif self.judge.is_estimable(ours) and not self.study.plan.get("max_iterations"):
            self._disagree("Firth's fit though there is an estimate", self.judge.name(ours), texts)
        elif is_number(ours):
            self._judged(ours, texts, known.FIRTH_INSTEAD)

    def _alone(self, ours: Line, texts: Texts) -> bool:
        """Tell whether a line is correct whatever PLINK has; else it is a disagreement."""
        if not is_number(ours):
            return self._na_is_due(ours, texts, False)
        if self.judge.has_no_maximum(ours):
            return self._disagree("a number where no maximum exists", self.judge.name(ours), texts)
        right = self.judge.is_right(ours) or self.judge.is_tolerated(ours)
        return right or self._wrong(ours, texts)

    def _both(self, ours: Line, theirs: Line, texts: Texts) -> None:
        """Both have a number."""
        if self.judge.has_no_maximum(ours):
            self._disagree("numbers where no maximum exists", self.judge.name(ours), texts)
        elif self.glm and theirs["ERRCODE"] != ours["ERRCODE"]:  # UNFINISHED
            self._judged(ours, texts, known.STOPPED)
        elif not self.judge.near(ours, theirs):
            incomplete = len(self.judge.rows(ours).y) < np.count_nonzero(self.judge.truth.complete)
            is_off = self.glm and self.logistic and incomplete
            rule = known.MISSING_CALLS if is_off else known.SINGLE
            rule = known.DOUBLED if self._has_one_copy_in_product(ours) else rule
            self._judged(ours, texts, known.FIRTH_EARLY if self.judge.is_penalised(ours) else rule)
        elif texts[0] != texts[1] and not self.glm:
            self.outcome.rules[known.NEAR] += 1

    def _has_one_copy_in_product(self, ours: Line) -> bool:
        """Tell whether it is PLINK 1.9's line of an interaction on Y or MT."""
        single = {str(self.study.autosomes + k) for k in (2, 4)}
        return not self.glm and ours["CHR"] in single and ours["TEST"].startswith("ADDx")

    def _judged(self, ours: Line, texts: Texts, rule: str) -> None:
        if self.judge.is_right(ours):
            self.outcome.rules[rule] += 1
        elif self.judge.is_tolerated(ours):
            self.outcome.rules[known.TOLERANCE] += 1
        else:
            self._wrong(ours, texts)

    def _na_is_due(self, ours: Line, texts: Texts, theirs: bool) -> bool:
        """Tell whether ours may be NA; else it is a disagreement. `theirs`: PLINK has a number."""
        name = self.judge.name(ours)
        if self.codes[name] == codes.FEW:
            return self._is_of_few(name, texts)
        if not self.logistic:
            rows = self.judge.rows(ours)
            due = rows.is_dependent or (rows.is_inflated is not False if self._is_ours(name) else not theirs)
            return due or self._disagree("NA though PLINK has a number", name, texts)
        if not self.judge.is_estimable(ours):
            return True
        if self.judge.truth.is_told_by_calls(name, ours["A1"]):
            return True
        refused = self.codes[name] not in (codes.SEPARATED, codes.UNFINISHED) and not theirs
        return (
            refused or self._is_limited(name) or self._disagree("NA though there is an estimate", name, texts)
        )

    def _is_of_few(self, name: str, texts: Texts) -> bool:
        """Tell whether few people have an allele, perhaps without one cohort; else it is a disagreement."""
        return self.judge.truth.may_be_of_few(name) or self._disagree(
            "NA though many are carriers", name, texts
        )

    def _is_limited(self, name: str) -> bool:
        """Tell whether the plan's limit of iterations is below the usual, and the variant has reached it."""
        limit = int(self.study.plan.get("max_iterations", _ITERATIONS))  # type: ignore[call-overload]
        return limit < _ITERATIONS and self.codes[name] in (codes.UNFINISHED, codes.PENALISED_UNFINISHED)

    def _why_na(self, ours: Line) -> str:
        if self.judge.rows(ours).is_dependent:
            return known.DEPENDENT
        estimable = self.judge.is_estimable(ours)
        return known.LIMIT if estimable else known.UNDECIDED if estimable is None else known.STOPPED

    def _codes(self, ours: Line, theirs: Line, texts: Texts) -> None:
        """Both are NA: plink2 says why, in a code."""
        a, b = ours["ERRCODE"], theirs["ERRCODE"]
        kinds = {code.partition(",")[0] for code in (a, b)}
        if a == b:
            return
        if (len(kinds) == 2 and kinds <= _NO_MAXIMUM) or self.judge.rows(ours).is_dependent:
            self.outcome.rules[known.CODE] += 1
        else:
            self._disagree(f"the code {a} for {b}", self.judge.name(ours), texts)

    def _why_others(self, ours: Line, theirs: Line) -> str | None:
        """The rule by which plink2 counts other people; None if there is none."""
        x, people = self.judge.rows(ours).x[:, 2:], int(theirs["OBS_CT"])
        if (np.ptp(x, axis=0) == 0).any():  # it leaves out a constant covariate, and whose value is missing
            return known.DEPENDENT
        if self.logistic and people > len(x):
            separates = self.study.plan.get("condition") and self.judge.is_estimable(ours) is False
            return known.CONDITION_LEFT_OUT if separates else None
        if not self.logistic:
            everyone = self.judge.truth.everyone(ours["ID"], ours["A1"]).x[:, 2:]
            counts = [np.unique(column, return_counts=True)[1] for column in everyone.T]
            return known.MARKS_ONE if any(len(count) == 2 and count.min() == 1 for count in counts) else None
        values = [column == value for column in x.T for value in np.unique(column)]
        enough = [who for who in values if np.count_nonzero(who) >= people]
        some = itertools.chain.from_iterable(itertools.combinations(enough, size) for size in (1, 2, 3))
        left = (np.count_nonzero(np.all(chosen, axis=0)) for chosen in some)
        return known.FEWER if people in left else None

    def _wrong(self, ours: Line, texts: Texts) -> bool:
        return self._disagree("a wrong number", self.judge.name(ours), texts, self.judge.in_words(ours))

    def _disagree(self, what: str, variant: str, texts: Texts, more: str = "") -> bool:
        """Take note; False, for whoever asked whether all is well."""
        self.outcome.disagreements.append(Disagreement(self.file, what, variant, *texts, more))
        return False
