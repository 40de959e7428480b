"""Report to the server on files that do not fit the study: a code, and a column that the plan names."""

from __future__ import annotations

from unpooled.plan.plan import Plan
from unpooled.protocol.problems import Problem
from unpooled_client.data.findings.report import Code, Finding, Report, Severity

_CODES: dict[Problem, tuple[Code, ...]] = {
    Problem.FLOOR: (Code.TOO_FEW_SAMPLES,),
    Problem.FLOOR_PER_CLASS: (Code.TOO_FEW_CASES, Code.TOO_FEW_CONTROLS),
    Problem.NO_VARIANT: (Code.VARIANT_ABSENT,),
    Problem.NO_SUCH_SEX: (Code.NO_SUCH_SEX,),
    Problem.NO_COLUMN: (Code.COLUMN_UNKNOWN, Code.COLUMN_MISSING, Code.COLUMN_AMBIGUOUS),
    Problem.NO_VALUES: (Code.COVARIATE_EMPTY,),
    Problem.LEVEL: (Code.COVARIATE_LEVEL, Code.WORD_NONE_LISTED),
    Problem.VALUES: (
        *(Code.COVARIATE_TEXT, Code.PHENOTYPE_TEXT, Code.PHENOTYPE_CODING, Code.PHENOTYPE_TRAIT),
        *(Code.VALUE_TEXT, Code.VALUE_INFINITE, Code.VALUE_FRACTION, Code.VALUE_OUTSIDE),
        *(Code.COLUMN_TYPE, Code.WORD_TYPE, Code.WORDS_TOO_MANY),
    ),
}
_PROBLEMS = {code: problem for problem, codes in _CODES.items() for code in codes}
"""Problems that the coordinator can fix, too: in the plan. Only the data manager hears of all others."""

_FLOORS = {Problem.FLOOR, Problem.FLOOR_PER_CLASS}
_ABOUT_NO_COLUMN = _FLOORS | {Problem.NO_SUCH_SEX}
_OF_PHENOTYPE = (Code.PHENOTYPE_TEXT, Code.PHENOTYPE_CODING, Code.PHENOTYPE_TRAIT)


def what_is_told(report: Report, plan: Plan) -> tuple[Problem, str]:
    """The problem of a report with errors, and the column that it is about, if it is about one of the plan.

    Where several kinds of problems came together, there is more to mend than a plan.
    """
    errors = report.of(Severity.ERROR)
    columns = {_column(error, plan) for error in errors}
    kinds = {_problem(error, plan) for error in errors}
    column = columns.pop() if len(columns) == 1 else ""
    if kinds <= _FLOORS:
        return min(kinds, key=list(Problem).index), column
    return (kinds.pop(), column) if len(kinds) == 1 else (Problem.DATA, "")


def _problem(error: Finding, plan: Plan) -> Problem:
    problem = _PROBLEMS.get(error.code, Problem.DATA)
    return problem if problem in _ABOUT_NO_COLUMN or _column(error, plan) else Problem.DATA


def _column(error: Finding, plan: Plan) -> str:
    """The plan's name of the column: at a cohort the phenotype may have another."""
    name = error.about or (plan.phenotype if error.code in _OF_PHENOTYPE else "")
    return name if plan.field_of(name) else ""
