"""Failures of a run: a person is told what, where and what to do; the server gets a code."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from unpooled.errors import BoundError, DataProblem, UnpooledError
from unpooled.memory.spool import NoRoom
from unpooled.protocol.invitation import InvitationError
from unpooled.protocol.problems import Problem
from unpooled_client.network.answers import Refused, Study
from unpooled_client.network.api import Stopped
from unpooled_client.network.connection import ServerError
from unpooled_client.state.events import Exit
from unpooled_client.state.files import Remediable, StateError
from unpooled_client.state.written import NotOurs
from unpooled_client.study.cluster import NoCluster
from unpooled_client.study.delivery import NoPlace
from unpooled_client.study.joining import Declined, Unanswered
from unpooled_client.study.reading import DataChanged, DataRefused, ListApart
from unpooled_client.study.session import StudyEnded
from unpooled_client.study.trust import Distrust

_REPEATED = (
    "The coordinator can repeat it, by another plan if need be. Started again, this client goes on there."
)
_OUR_FAULT = (400, 411, 413, 415)  # what we sent was malformed; the other cohorts should not wait in vain


class NotDone(UnpooledError):
    """There are no results yet; says for whom the study waits."""

    def __init__(self, study: Study) -> None:
        waits = f", and waits for {', '.join(study.waiting_for)}" if study.waiting_for else ""
        super().__init__(f"the study has no results yet: it is {study.state}{waits}.")


class UsageProblem(Remediable):
    """The command lacks something."""


LIST_APART = "list-apart"
_OTHERS_WAIT = (
    "Then start again with the right files: unpooled-client run --bfile PREFIX. The other cohorts wait, and "
    "need do nothing."
)


@dataclass(frozen=True)
class Explanation:
    """An error as the person sees it, and what of it the server may know."""

    exit: Exit
    message: str
    remedy: str = ""
    problem: Problem | None = None
    quantity: str = ""
    code: str = ""
    """Code by which the window recognizes the failure."""


def explain(error: Exception) -> Explanation | None:
    """None for an error that nobody has foreseen."""
    match error:
        case UsageProblem() | Unanswered():
            return Explanation(Exit.USAGE, error.message, error.remedy)
        case StateError() | InvitationError() | NoCluster():
            return Explanation(Exit.USAGE, str(error))
        case Declined():
            return Explanation(Exit.REFUSED, error.message, error.remedy, Problem.DECLINED)
        case StudyEnded():
            return Explanation(Exit.STUDY_ENDED, str(error), _REPEATED)
        case Stopped():
            return Explanation(
                Exit.INTERRUPTED, "stopped.", "The same command picks up where this one left off."
            )
        case NotDone():
            return Explanation(Exit.REFUSED, str(error), "Take part with: unpooled-client run")
        case Refused():
            problem = Problem.INTERNAL if error.status in _OUR_FAULT else None
            return Explanation(Exit.REFUSED, error.message, error.remedy, problem)
        case NoPlace():
            return Explanation(Exit.COMPUTER, error.message, error.remedy)
        case ServerError() | NotOurs():
            return Explanation(Exit.REFUSED, error.message, error.remedy)
    return _explain_data(error)


def _explain_data(error: Exception) -> Explanation | None:
    match error:
        case DataRefused():
            remedy = "Fix the files, then start the same command again; it goes on."
            return Explanation(Exit.DATA, str(error), remedy, error.problem, error.column)
        case ListApart():
            cause = error.found.cause.remedy if error.found.cause else ""
            remedy = f"{cause} {_OTHERS_WAIT}".lstrip()
            told = Problem.OVERLAP if error.by_list else None  # else it is the server that has found out
            return Explanation(Exit.DATA, str(error), remedy, told, code=LIST_APART)
        case DataChanged():
            return Explanation(Exit.DATA, str(error), "", Problem.DATA_CHANGED)
        case BoundError():
            return Explanation(Exit.DATA, str(error), "", Problem.BOUND, error.quantity)
        case NoRoom():
            return Explanation(Exit.COMPUTER, f"{error.what}.", error.remedy, Problem.INTERNAL)
        case DataProblem():
            return Explanation(Exit.DATA, str(error), "", Problem.DATA)
        case Distrust():
            return Explanation(Exit.REFUSED, error.message, error.remedy, error.problem)
        case UnpooledError():
            return Explanation(Exit.REFUSED, str(error), "", Problem.INTERNAL)
        case OSError() if error.strerror:
            where = f"{error.filename}: " if error.filename else ""
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            what = "Make room on that disk" if is_full else "Look at the disk and its permissions"
            remedy = f"{what}, then start the same command again; it goes on."
            return Explanation(Exit.COMPUTER, f"{where}{error.strerror}.", remedy, Problem.INTERNAL)
        case MemoryError():
            remedy = "Close other programs, or use fewer --threads, and start the same command again."
            return Explanation(Exit.COMPUTER, "there is not enough memory.", remedy, Problem.INTERNAL)
    return None
