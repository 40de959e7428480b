"""The end of a study: this cohort's data set against the results, in two files beside them."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from unpooled.cohort import ArrayTable
from unpooled.errors import UnpooledError
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled_client.compare.pool import strongest
from unpooled_client.compare.report import Place, Study, write_tables, write_variants
from unpooled_client.compare.tables import compare_tables
from unpooled_client.compare.this_cohort import compare, left_out
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.completeness import kept_by_mind
from unpooled_client.data.options import DataOptions
from unpooled_client.network.api import Stopped
from unpooled_client.state.events import Compared, Event
from unpooled_client.state.written import Written
from unpooled_client.study.reading import DataChanged, guard, open_under
from unpooled_client.study.session import Session

TOP = 20
"""Variants that are compared, unless told how many."""


def compare_with_pool(
    session: Session, files: Sequence[Path], top: int = TOP
) -> Generator[Event, None, None]:
    """Write how this cohort's data alone compare with the delivered result `files`, beside them.

    Never raises: a run is not to fail for it. The event says why there is nothing, where there is nothing.
    """
    started = time.perf_counter()
    try:
        yield (yield from _compared(session, files, top))
    except Stopped:
        raise
    except DataChanged as error:
        yield Compared((), 0, reason=str(error), changed=True)
    except OSError as error:
        yield Compared((), 0, reason=f"{error.filename or session.saved.out}: {error.strerror or error}")
    except UnpooledError as error:
        yield Compared((), 0, reason=str(error))
    except Exception as error:
        yield Compared((), 0, reason=f"this program failed: {type(error).__name__}: {error}")
    finally:
        session.count("comparing", time.perf_counter() - started)


def _compared(session: Session, files: Sequence[Path], top: int) -> Generator[Event, None, Compared]:
    saved = session.saved
    if saved.agreement is None or not saved.files:
        return Compared((), 0, reason="no data files of this cohort were used from here")
    plan, options = saved.agreement.plan, DataOptions.from_json(saved.options)
    guard(saved.files, options.paths)
    study = Study(saved.agreement.study, saved.cohort, plan)
    place = Place(Path(saved.out), Written(session.folder))
    place.refuse_foreign()
    text = b""
    if plan.mind < 1 and not plan.of_tables:
        text = yield from session.wait_for(session.api.panel)
    if plan.of_tables:
        return (yield from session.wait_for(_of_tables, study, options, files, place, session.threads))
    return (yield from session.wait_for(_of_variants, study, options, files, place, text, top))


def _of_variants(
    study: Study, options: DataOptions, files: Sequence[Path], place: Place, panel: bytes, top: int
) -> Compared:
    """`panel` is that of the study, where it decides who was left out."""
    plan = study.plan
    pool = strongest(files, plan, top)
    data = cast(PlinkData, _opened(plan, options))
    kept = _kept(data, plan, panel) if panel else None
    found = compare(pool, data, plan, kept)
    made = write_variants(place, study, found, odds=pool.odds, left_out=left_out(data.samples, plan))
    return Compared(tuple(map(str, made)), len(found), apart=sum(one.in_own_limits is False for one in found))


def _kept(data: PlinkData, plan: Plan, text: bytes) -> np.ndarray:
    """Who is left by --mind, as in the study."""
    panel = Panel.from_canonical(text)
    return kept_by_mind(data.align(panel), panel, plan.mind, plan.autosomes)


def _of_tables(
    study: Study, options: DataOptions, files: Sequence[Path], place: Place, threads: int
) -> Compared:
    table = cast(ArrayTable, _opened(study.plan, options, threads))
    found = compare_tables(files, table.values, study.plan)
    made = write_tables(place, study, found)
    return Compared(tuple(map(str, made)), len({one.feature for one in found}))


def _opened(plan: Plan, options: DataOptions, threads: int = 1) -> PlinkData | ArrayTable:
    data, report = open_under(plan, options, threads)
    if data is None:
        raise report.problem()
    return data
