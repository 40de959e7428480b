"""The cohort's data: opened only after acceptance, checked, and aligned with the panel of the study."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unpooled.asking import share_check, sizes
from unpooled.asking.cohort import ArrayTable, Dosages, Packed, Samples
from unpooled.asking.question import Question
from unpooled.described import what_leaves
from unpooled.described.what_leaves import Form
from unpooled.errors import DataProblem, ProtocolError, Refuse, UnpooledError
from unpooled.memory.spool import forget, slices
from unpooled.methods import algorithm
from unpooled.methods.algorithm import TableMethod, VariantMethod
from unpooled.methods.presence import Presence
from unpooled.methods.shared.conditions import places_of, with_copies
from unpooled.panel.agreement import align
from unpooled.panel.filesets import GENOTYPES
from unpooled.panel.list_file import in_parts
from unpooled.panel.overlap import Overlap, beside
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import CONDITION, MIND
from unpooled.plan.plan import Plan
from unpooled.protocol import bodies
from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import Doing
from unpooled_client.data.checks.data_checks import check_floors
from unpooled_client.data.cohort import PlinkCohort, PlinkData, open_cohort
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.imputed.copies import COPYING, silent
from unpooled_client.data.imputed.pieces import Reading, told
from unpooled_client.data.options import DataOptions
from unpooled_client.data.tables import open_table
from unpooled_client.data.thorough.completeness import kept_by_mind
from unpooled_client.state.events import Checked, Event, PanelAgreed, StepProgress
from unpooled_client.state.fingerprint import ELSE, Fingerprint, check_unchanged, fingerprints
from unpooled_client.study.book import has_answered
from unpooled_client.study.problems import what_is_told
from unpooled_client.study.session import Session
from unpooled_client.study.trust import TELL_BOTH, TELL_OPERATOR, Distrust, Terms

Data = TypeVar("Data", PlinkData, ArrayTable)

_FEW = 0.01
"""Least share of the coordinator's list, or of the cohort's own if that is shorter, that must be present:
with less these are the wrong files.
"""


class DataRefused(UnpooledError):
    """The data files are not fit for the study. `is_known`: the event `Checked` has told why."""

    def __init__(self, report: Report, plan: Plan, *, is_known: bool = False) -> None:
        self.report, self.is_known = report, is_known
        self.problem, self.column = what_is_told(report, plan)
        super().__init__(str(report.problem()))


class DataChanged(DataProblem):
    """A data file is no longer the one that was accepted."""


class ListApart(UnpooledError):
    """The cohort's list of variants has too little in common with those of the others."""

    def __init__(self, found: Overlap, *, by_list: bool) -> None:
        self.found, self.by_list = found, by_list
        others = "the study's list" if by_list else "the other cohorts' lists"
        numbers = found.numbers("the study's list", "names") if by_list else found.numbers()
        super().__init__(
            f"this cohort's list of variants has little in common with {others}. {numbers} {found.why}"
        )


def other_files(session: Session, terms: Terms, options: DataOptions) -> bool:
    """Tell whether the given files differ from those for which the person released what leaves.

    They are taken as long as nothing was answered: no number of the former ones has left.
    """
    try:
        same_options(DataOptions.from_json(session.saved.options), options, terms.plan)
        guard(session.saved.files, options.paths)
    except DataChanged:
        return not has_answered(session.folder, session.saved)
    return False


def open_data(
    session: Session, terms: Terms, options: DataOptions, *, released: bool
) -> Generator[Event, None, PlinkData | ArrayTable]:
    """Read and check the files; `released`: they must be the ones for which the person released what leaves.

    Raises DataRefused, or DataChanged.
    """
    started = time.perf_counter()
    session.spawn(share_check.load, terms.plan.scheme(terms.plan.ring_bits))
    paths = options.paths
    if released:
        same_options(DataOptions.from_json(session.saved.options), options, terms.plan)
        guard(session.saved.files, paths)
        files = None
    else:
        # Beside reading: both go through the files, which are then in the page cache.
        files = session.spawn(fingerprints, paths)
    tell = partial(_tell_of_copy, session, options.genotypes) if options.copied else silent
    data, report = yield from session.wait_for(open_under, terms.plan, options, session.threads, tell)
    yield Checked(report.ok, report.to_json(), time.perf_counter() - started)
    if data is None:
        raise DataRefused(report, terms.plan, is_known=True)
    if files is not None:
        yield from session.until_one([files])
        found = sizes_of(data, terms.plan.autosomes)
        session.save(files=files.result(), options=options.to_json(), sizes=found)
    session.count("reading", time.perf_counter() - started)
    return data


def _tell_of_copy(session: Session, copied: Path, file: Path, done: int, total: int) -> None:
    """A file of another format than PLINK's is copied."""
    if file == copied:
        session.tell(StepProgress(COPYING, done, total or None, "variants", 1))


def open_under(
    plan: Plan, options: DataOptions, threads: int, reading: Reading = silent
) -> tuple[PlinkData | ArrayTable | None, Report]:
    """The files as a study by this plan reads them, None if there is any error, and what was found."""
    options, report, method = options.under(plan), Report(), algorithm(plan.test)
    match method, options.table:
        case TableMethod(), Path() as table:
            with told(reading, table):
                return _opened_table(table, plan, method, options.min_samples, report, threads), report
        case VariantMethod(), None:
            return open_cohort(options, reading)
    kind, option = method.file
    report.error(Code.OPTION, f"the study is about {kind}", remedy=f"Give {option}.")
    return None, report


def opened(kind: type[Data], plan: Plan, options: DataOptions, threads: int = 1) -> Data:
    """The files as `open_under` reads them, which must be of this kind; DataProblem if there is any error."""
    data, report = open_under(plan, options, threads)
    if not isinstance(data, kind):
        raise report.problem()
    return data


def _opened_table(
    path: Path, plan: Plan, method: TableMethod, fewest: int | None, report: Report, threads: int
) -> ArrayTable | None:
    """The table as the questions of the study see it."""
    # A cohort of a study of variants need not load the methods for tables.
    from unpooled.methods.tables.encoding.options import IGNORE_CASE

    reads, ignore_case = method.reads_words, IGNORE_CASE.of(plan)
    table = open_table(path, plan.schema, fewest, report, threads, reads_words=reads, ignore_case=ignore_case)
    if table is None:
        return None
    prepared = method.prepared(table, plan)
    try:
        method.foresee(prepared, plan)
    except Refuse as refusal:
        said = f"if every cohort's table were like this one, the study would be refused: {refusal.reason}"
        report.warning(Code.FLOOR, said, file=path, remedy=refusal.remedy)
    return prepared


def sizes_of(data: PlinkData | ArrayTable, autosomes: int) -> dict[str, int]:
    """Count the data: samples and variants (`unpooled.asking.sizes`), or rows and columns of a table."""
    if isinstance(data, ArrayTable):
        rows, columns = data.values.shape
        return {"rows": rows, "columns": columns}
    found = {"samples": int(data.samples.kept.sum()), **sizes.of_panel(data.panel, autosomes)}
    return found | {sizes.LIST_BYTES: data.listed.canonical_bytes}


def same_options(accepted: DataOptions, given: DataOptions, plan: Plan) -> None:
    """DataChanged if files are to be read, under this plan, in another way than was accepted."""
    accepted, given = accepted.under(plan), given.under(plan)
    ignored = {*GENOTYPES, "copies", "min_samples", "min_per_class", *accepted.paths, *given.paths}
    other = [
        "--1" if name == "one" else f"--{name.replace('_', '-')}"
        for name, value in vars(accepted).items()
        if name not in ignored and value != getattr(given, name)
    ]
    if other:
        raise DataChanged(
            f"these options differ from those that were accepted: {', '.join(other)}. "
            f"Start with the same options as before. {ELSE}"
        )


def guard(accepted: dict[str, Fingerprint], paths: dict[str, Path]) -> None:
    """DataChanged unless the files are those that were accepted. Costs little while their times are."""
    try:
        check_unchanged(accepted, paths)
    except DataProblem as error:
        raise DataChanged(str(error)) from error


def _send_digest(session: Session, what: str, digest: bytes) -> Generator[Event, None, bool]:
    """Send a digest that says what this cohort has read; return whether the server wants its list, too."""
    yield session.record(what, bodies.digest(digest), Form.CLEAR, what_leaves.TO_SERVER)
    return (yield from session.wait_for(session.api.put_panel_digest, digest))


@dataclass(frozen=True, eq=False)
class ListedCohort:
    """A cohort beside the coordinator's list: it can say which of its variants it has."""

    aligned: PlinkCohort

    @property
    def samples(self) -> Samples:
        return self.aligned.samples

    @property
    def present(self) -> np.ndarray:
        """bool (m,): the variant of the list is among the cohort's own, and can be reconciled."""
        return self.aligned.rows >= 0

    def packed(self, variants: slice | np.ndarray) -> Packed:
        return self.aligned.packed(variants)

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        return self.aligned.dosages(variants)


@dataclass
class Alignments:
    """The cohort's data beside the coordinator's list, and beside the agreed panel."""

    data: PlinkData
    plan: Plan
    listed: ListedCohort | None = None
    list: Panel | None = None
    """The coordinator's."""
    agreed: tuple[PlinkCohort, bytes] | None = None
    """The data beside the agreed panel, and that panel's digest."""
    panel: Panel | None = None
    """The same panel in full."""

    @property
    def chromosomes(self) -> np.ndarray:
        """The codes of the agreed variants' chromosomes."""
        return np.zeros(0, np.uint8) if self.panel is None else self.panel.chromosome

    @property
    def variants(self) -> int:
        """Number of variants to be asked about: those of the list until a panel is agreed."""
        if self.agreed is None and self.listed is not None:
            return len(self.listed.present)
        return len(self.chromosomes)

    @property
    def samples(self) -> Samples | None:
        """The people who are left beside the agreed panel, once there is one."""
        return None if self.agreed is None else self.agreed[0].samples

    def cohort_for(self, question: Question) -> tuple[Any, bytes]:
        """The data as a question wants them, and the digest of the agreed panel if it is about that.

        Distrust if there is no panel yet. Shares that were made beside different panels do not unmask.
        """
        found = (self.listed, b"") if isinstance(question, Presence) else self.agreed
        if found is None or found[0] is None:
            raise Distrust(
                Problem.QUESTION,
                f"the server asks for {question.title!r} before the cohorts have agreed on variants.",
                TELL_OPERATOR,
            )
        if (
            isinstance(question, Presence)
            and self.listed
            and not question.is_within(len(self.listed.present))
        ):
            raise Distrust(
                Problem.QUESTION,
                f"the server asks for variants that the list does not have ({question.title}).",
                TELL_BOTH,
            )
        return found[0], found[1]

    def announce(self, session: Session, terms: Terms) -> Iterator[Event]:
        """Send the digest of this cohort's list of variants, and the list itself where it is not known yet.

        Under a coordinator's list the digest is that list's, and nothing of the cohort's own variants is
        sent.
        """
        by_list = terms.plan.panel_mode == "list"
        digest = terms.plan.panel_digest if by_list else self.data.listed.digest
        wanted = yield from _send_digest(session, what_leaves.LIST_DIGEST, digest)
        if wanted and not by_list:
            session.api.doing = Doing.SENDING
            start, size = 0, self.data.listed.canonical_bytes
            for part in in_parts(self.data.listed.pieces()):
                yield session.record(what_leaves.LIST, part, Form.CLEAR, what_leaves.TO_SERVER)
                yield from session.wait_for(session.api.put_panel_list, start, size, part)
                start += len(part)

    def agreed_panel(self) -> Panel:
        """The variants that the cohorts have agreed on; Distrust if there are none yet."""
        if self.panel is None:
            raise Distrust(
                Problem.PANEL, "the server asks before the cohorts have agreed on variants.", TELL_OPERATOR
            )
        return self.panel

    def fetch_list(self, session: Session, terms: Terms) -> Iterator[Event]:
        """Take the coordinator's list, if the plan goes by one; Distrust if it is not the plan's."""
        if terms.plan.panel_mode != "list" or self.listed is not None:
            return
        digest = terms.plan.panel_digest
        self.list = panel = yield from session.wait_for(
            fetched, session, session.api.coordinators_list, digest
        )
        self.listed = ListedCohort((yield from session.wait_for(self.data.align, panel)))
        if np.count_nonzero(self.listed.present) < _FEW * min(len(panel), len(self.data.panel)):
            autosomes = terms.plan.autosomes
            raise ListApart(
                (yield from session.wait_for(beside, self.data.panel, panel, autosomes)), by_list=True
            )
        session.save(sizes=session.saved.sizes | {sizes.LISTED: len(panel)})

    def fetch_panel(self, session: Session, digest: bytes) -> Iterator[Event]:
        """Take the agreed panel, if it is new; Distrust if it names a variant that was not sent."""
        if self.agreed is not None:
            if digest == self.agreed[1]:
                return
            raise Distrust(
                Problem.PANEL,
                "the server names another list of variants than the one that was agreed on.",
                TELL_BOTH,
            )
        if digest == self.data.panel.digest:
            panel = self.data.panel
        else:
            panel = yield from session.wait_for(fetched, session, session.api.panel, digest)
        aligned = yield from session.wait_for(self.beside, panel)
        self.agreed, self.panel = (aligned, digest), panel
        yield PanelAgreed(len(panel), len(self.data.panel), digest.hex())

    def beside(self, panel: Panel) -> PlinkCohort:
        """The data as the questions about this panel find them; Distrust, or DataRefused if few remain."""
        aligned = self.data.align(panel)
        if self.plan.panel_mode == "names":
            # By a list, stopping would tell the server in clear which variants this cohort lacks. An honest
            # server never asks for one; of any other it gets missing calls, under a mask.
            _check_known(panel, aligned.rows)
        elif self.list is not None:
            _check_listed(panel, self.list)
        if MIND.of(self.plan) < 1:
            aligned = self._without_incomplete(aligned, panel)
        return self._conditioned(aligned, panel) if CONDITION.of(self.plan) else aligned

    def _without_incomplete(self, aligned: PlinkCohort, panel: Panel) -> PlinkCohort:
        """The cohort without the people who lack too many calls; DataRefused if few remain."""
        kept = kept_by_mind(aligned, panel, MIND.of(self.plan), self.plan.autosomes)
        return self._of_enough(aligned, dataclasses.replace(aligned.samples, kept=kept))

    def _conditioned(self, aligned: PlinkCohort, panel: Panel) -> PlinkCohort:
        """The cohort with copies of what the plan conditions on; DataRefused if few have all calls of it."""
        if not all(len(places_of(name, panel)) == 1 for name in CONDITION.of(self.plan)):
            return aligned  # an honest server refuses such a plan before it asks anything
        return self._of_enough(aligned, with_copies(aligned, panel, self.plan))

    def _of_enough(self, aligned: PlinkCohort, samples: Samples) -> PlinkCohort:
        """The cohort with these people; DataRefused if they are too few."""
        report = Report()
        check_floors(samples, self.data.phenotypes, self.data.trait, self.data.options, report)
        if not report.ok:
            raise DataRefused(report, self.plan)
        return dataclasses.replace(aligned, samples=samples)


@dataclass
class Unaligned:
    """A cohort's table: it has the columns of the plan already, and nothing is agreed beside that."""

    data: ArrayTable
    variants: int = 0
    samples: Samples | None = None

    def announce(self, session: Session, terms: Terms) -> Iterator[Event]:
        """Send the digest of the plan, which says that the table is read."""
        yield from _send_digest(session, what_leaves.PLAN_DIGEST, terms.plan_hash)

    def agreed_panel(self) -> Panel:
        """The panel of no variants, as a study of tables has it."""
        return Panel.of([])

    def cohort_for(self, question: Question) -> tuple[Any, bytes]:
        """The table as a question asks it, and no digest, for there is no panel."""
        return self.data, b""

    def fetch_list(self, session: Session, terms: Terms) -> Iterator[Event]:
        yield from ()

    def fetch_panel(self, session: Session, digest: bytes) -> Iterator[Event]:
        """Distrust: an honest server has none."""
        raise Distrust(
            Problem.PANEL,
            "the server names a list of variants, and the study is about tables.",
            TELL_OPERATOR,
        )


def aligned(data: PlinkData | ArrayTable, plan: Plan) -> Alignments | Unaligned:
    """The data as the study's questions will find them."""
    return Unaligned(data) if isinstance(data, ArrayTable) else Alignments(data, plan)


def fetched(session: Session, fetch: Callable[[Path], None], digest: bytes) -> Panel:
    """The list of variants of this digest, mapped from a file in the state folder, into which it is fetched.

    Distrust if the server hands out another one. A file that is there is never written: it may be mapped.
    """
    path = session.folder.path / f"{digest.hex()}.list"
    if not path.exists():
        part = path.with_suffix(".part")
        fetch(part)
        # Renamed once it is whole: what has the name is complete, and is never written again.
        part.replace(path)
    with path.open("rb") as file:
        is_it = hashlib.file_digest(file, "sha256").digest() == digest
    if not is_it:
        path.unlink()
        raise Distrust(
            Problem.PANEL,
            "the list of variants that was received is not the one whose digest was announced.",
            "Start again; if it persists, tell the server's operator.",
        )
    try:
        return Panel.of_file(path)
    except ProtocolError as error:
        raise Distrust(Problem.PANEL, f"{error}.", "Tell the server's operator.") from error


def _check_listed(panel: Panel, listed: Panel) -> None:
    """Distrust if there is a variant that the plan's list does not have."""
    beyond = int(np.count_nonzero(align(panel, listed, np.ones(len(listed), bool)).index < 0))
    if beyond:
        raise Distrust(
            Problem.PANEL,
            f"the study's panel has {beyond:,} variants that the list of its plan does not have.",
            TELL_BOTH,
        )


def _check_known(panel: Panel, rows: np.ndarray) -> None:
    unknown, k = 0, -1
    for part in slices(len(rows)):
        here = part.start + np.flatnonzero(rows[part] < 0)
        if len(here):
            unknown, k = unknown + len(here), int(here[0]) if k < 0 else k
        forget(rows)
    if not unknown:
        return
    first = f"{panel.name[k].decode(errors='backslashreplace')} at {panel.chromosome[k]}:{panel.position[k]}"
    raise Distrust(
        Problem.PANEL,
        f"the study's panel has {unknown:,} variants that this cohort lacks, the first is {first}.",
        "Are these the files whose list of variants was sent? If so, tell the coordinator.",
    )
