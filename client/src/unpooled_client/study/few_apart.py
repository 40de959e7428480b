"""Check of the people whose sums a study uses, against those of this cohort's earlier studies.

Two sums over nearly the same people are, subtracted from one another, a sum over the few who are in one of
them only, and no mask hides it. So a person who releases what leaves is told, and nobody releases it unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from unpooled.asking.cohort import ArrayTable, Samples
from unpooled.methods.shared import groups
from unpooled.plan.categories import Words
from unpooled.plan.common_options import PHENOTYPES
from unpooled.plan.floors import CASE_CONTROL
from unpooled.plan.plan import Plan
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import read_fam
from unpooled_client.data.tables.categories import read_words
from unpooled_client.data.tables.faults import Faults
from unpooled_client.data.tables.images import tables_in
from unpooled_client.state.events import PEOPLE, ROWS, Event, FewApart
from unpooled_client.state.folder import Saved, StateFolder
from unpooled_client.state.people import People, Whose
from unpooled_client.study import joining
from unpooled_client.study.session import Session
from unpooled_client.study.trust import Terms

EVERYBODY, ALL_ROWS, COMPLETE_ROWS = "everybody", "all rows", "rows without a missing value"


def of_files(
    folder: StateFolder, saved: Saved, options: DataOptions, data: PlinkData | ArrayTable
) -> tuple[FewApart, ...]:
    """The earlier studies from whose people those of these files differ by few."""
    return _record(folder).few_apart(_whose(saved, options, data))


def entered(
    session: Session,
    terms: Terms,
    options: DataOptions,
    data: PlinkData | ArrayTable,
    samples: Samples | None,
) -> Generator[Event, None, bool]:
    """Keep whose sums leave from now on; False if plan or roster changed while a person was asked about it.

    `samples` are the people who are left beside the study's variants. What another study was asked meanwhile
    counts, too.
    """
    whose = _whose(session.saved, options, data, samples)
    # Again until it is entered: while a person reads, another study here may have come in between.
    while found := _record(session.folder).enter(whose, session.saved.few_released):
        session.save(few_apart=found)
        study = yield from session.study()
        if not (yield from joining.release(session, study, terms)):
            return False
    return True


def _record(folder: StateFolder) -> People:
    return People(folder.path.parent)


def _whose(
    saved: Saved, options: DataOptions, data: PlinkData | ArrayTable, samples: Samples | None = None
) -> Whose:
    agreement, study = saved.agreement, f"{saved.invitation.study}/{saved.cohort}"
    if agreement is None:
        raise AssertionError("nothing was agreed to")
    if isinstance(data, ArrayTable):
        whole = ~np.isnan(data.values).any(axis=1)
        for words in data.words.values():
            whole &= words.codes >= 0
        sets = {ALL_ROWS: np.ones(len(whole), bool), COMPLETE_ROWS: whole}
        return Whose(study, agreement.study, ROWS, _rows(data, options, agreement.plan), sets)
    sets = dict(_sets(data.samples if samples is None else samples, agreement.plan))
    return Whose(study, agreement.study, PEOPLE, _names(data), sets)


def _names(data: PlinkData) -> Sequence[bytes]:
    """Each person's FID and IID."""
    fam = read_fam(data.options.samples, Report())
    if fam is None:
        raise AssertionError("the people were read before")
    return [b"%s %s" % pair for pair in zip(fam.fid.tolist(), fam.iid.tolist(), strict=True)]


def _sets(samples: Samples, plan: Plan) -> Iterator[tuple[str, np.ndarray]]:
    """The people of each phenotype over whom sums may be, by who they are."""
    for place, phenotype in enumerate(plan.phenotype_names or ("",)):
        view, of = samples.of_phenotype(place), f" ({phenotype})" if PHENOTYPES.of(plan) else ""
        for group in _groups(plan.trait):
            yield (", ".join(group) or EVERYBODY) + of, groups.members(group, view)


def _groups(trait: str) -> Iterator[groups.Group]:
    classes = ((), (groups.CASE,), (groups.CONTROL,)) if trait == CASE_CONTROL else ((),)
    for known in ((), (groups.COMPLETE,)):
        for of_class in classes:
            for sex in ((), (groups.MEN,), (groups.NOT_MEN,), (groups.WOMEN,)):
                for founder in ((), (groups.FOUNDER,)):
                    yield (*known, *of_class, *sex, *founder)


def _rows(table: ArrayTable, options: DataOptions, plan: Plan) -> Sequence[bytes]:
    """Each row by whose it is, if the plan names such a column, or else by what is in the plan's columns.

    Rows known by their content are found again only under a plan with the same columns.
    """
    of_patients = [column.title for column in plan.schema if column.is_patient]
    if of_patients and options.table is not None:
        table_of = next(iter(tables_in(options.table)), options.table)  # of images it is in their folder
        found = read_words(table_of, of_patients, Faults(table_of, Report()))
        return [value.encode() for value in _cells(found[of_patients[0]])] if found else []
    titles = "\0".join(column.title for column in plan.schema if not column.left_out)
    numbers = np.where(np.isnan(table.values), np.nan, table.values + 0.0)  # one form each: no -0
    words = zip(*(_cells(table.words[title]) for title in sorted(table.words)), strict=True)
    told = list(words) or [()] * len(numbers)
    of_images = [b""] * len(numbers) if table.images is None else map(_digest, table.images)
    return [
        "\0".join((titles, *row)).encode() + bits.tobytes() + image
        for row, bits, image in zip(told, numbers, of_images, strict=True)
    ]


def _digest(image: np.ndarray) -> bytes:
    return hashlib.sha256(image.tobytes()).digest()


def _cells(words: Words) -> Sequence[str]:
    """Each row's word, empty where it is missing."""
    values = np.array([*words.values, ""], object)
    return list(values[words.codes])
