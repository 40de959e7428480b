"""The end of a study: this cohort's data set against the results, in two files beside them, or two for each
phenotype."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.errors import UnpooledError
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import MIND
from unpooled.plan.plan import Plan
from unpooled_client.compare.frequencies import Frequencies, compare_calls, compare_dosages
from unpooled_client.compare.pool import NothingToCompare, file_of, strongest, tests_variants
from unpooled_client.compare.report import Place, Study, write_tables, write_variants
from unpooled_client.compare.this_cohort import compare, conditioned, left_out
from unpooled_client.compare.without_us import read_across
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.options import DataOptions
from unpooled_client.data.thorough.completeness import kept_by_mind
from unpooled_client.network.api import Stopped
from unpooled_client.state.events import Compared, Event
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.written import Written
from unpooled_client.study.deriving import with_derived
from unpooled_client.study.reading import DataChanged, fetched, guard, opened
from unpooled_client.study.session import Session


def compare_with_pool(session: Session, files: Sequence[Path], top: int) -> Generator[Event, None, None]:
    """Write how this cohort's data alone compare with the delivered result `files`, beside them.

    Never raises: a run is not to fail for it. The event says why there is nothing, where there is nothing.
    """
    started = time.perf_counter()
    try:
        yield from _compared(session, files, top)
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


def _compared(session: Session, files: Sequence[Path], top: int) -> Generator[Event, None, None]:
    """An event for each phenotype."""
    saved = session.saved
    if saved.agreement is None or not saved.files:
        yield Compared((), 0, reason="no data files of this cohort were used from here")
        return
    plan, options = saved.agreement.plan, DataOptions.from_json(saved.options)
    guard(saved.files, options.paths)
    study = Study(saved.agreement.study, saved.cohort, plan)
    places = [Place(Path(saved.out), Written(session.folder), each) for each in plan.each]
    for place in places:
        place.refuse_foreign()
    if plan.of_tables:
        found = session.wait_for(_of_tables, study, options, files, places[0], session)
        yield (yield from found)
        return
    if not tests_variants(plan):
        return
    panel = (yield from _panel(session)) if MIND.of(plan) < 1 else None
    data = yield from session.wait_for(_as_asked, plan, options, session.folder)
    for number, place in enumerate(places):
        of_one = replace(study, plan=place.plan), data.of_phenotype(number)
        yield (yield from session.wait_for(_of_variants, *of_one, files, place, panel, top))


def _as_asked(plan: Plan, options: DataOptions, folder: StateFolder) -> PlinkData:
    """The data as the study's questions found them: with what no file has."""
    data = conditioned(opened(PlinkData, plan, options), plan)
    return replace(data, samples=with_derived(data.samples, plan, folder))


def _of_variants(
    study: Study, data: PlinkData, files: Sequence[Path], place: Place, panel: Panel | None, top: int
) -> Compared:
    """`panel` is that of the study, where it decides who was left out."""
    plan = study.plan
    of = plan.phenotype if plan.of_several else ""
    try:
        pool = strongest(files, plan, top)
    except NothingToCompare as error:  # nor is there of this phenotype; of another there may be
        return Compared((), 0, reason=str(error), phenotype=of)
    kept = kept_by_mind(data.align(panel), panel, MIND.of(plan), plan.autosomes) if panel else None
    across = read_across(files, [variant for variant, _ in pool.leads], plan)
    found = compare(pool, data, plan, kept, across)
    beside = _frequencies(data, plan, files, kept)
    unused = left_out(data.samples, plan)
    made = write_variants(place, study, found, odds=pool.odds, left_out=unused, frequencies=beside)
    return Compared(
        tuple(map(str, made)),
        len(found),
        apart=sum(one.in_own_limits is False for one in found),
        phenotype=of,
        frequencies=0 if beside is None else beside.variants,
        frequencies_far=0 if beside is None else beside.far,
    )


def _frequencies(
    data: PlinkData, plan: Plan, files: Sequence[Path], kept: np.ndarray | None
) -> Frequencies | None:
    """The cohort's frequencies beside the pool's; None where the results have none of all variants."""
    file, compared = ("ssf", compare_dosages) if DOSAGES.of(plan) else ("frq", compare_calls)
    path = file_of(file, files, plan) if file in plan.files else None
    return None if path is None else compared(path, data, plan, kept)


def _panel(session: Session) -> Generator[Event, None, Panel]:
    """The study's."""
    study = yield from session.wait_for(session.api.study)
    digest = bytes.fromhex(study.panel_digest)
    return (yield from session.wait_for(fetched, session, session.api.panel, digest))


def _of_tables(
    study: Study, options: DataOptions, files: Sequence[Path], place: Place, session: Session
) -> Compared:
    # A cohort of a study of variants need not load the methods for tables.
    from unpooled_client.compare.tables import compare_tables
    from unpooled_client.study.word_codes import as_in_dictionary

    table = opened(ArrayTable, study.plan, options, session.threads)
    table = as_in_dictionary(session.folder, table, study.plan)
    found = compare_tables(files, table, study.plan)
    made = write_tables(place, study, found)
    return Compared(tuple(map(str, made)), len({one.feature for one in found}))
