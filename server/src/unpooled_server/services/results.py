"""The end of a study: columns from row files, result files, the manifest."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from django.db import transaction
from django.utils import timezone

from unpooled.asking.question import Arrays
from unpooled.described import file_list
from unpooled.described.methods_section import methods
from unpooled.described.report import Pictures, report
from unpooled.formats import ssf
from unpooled.memory.allocator import give_back_what_is_free
from unpooled.methods import TESTS, algorithm
from unpooled.methods.phenotypes import tables_of
from unpooled.methods.shared import summary
from unpooled.pages.page import encoded
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import PHENOTYPES
from unpooled.plan.plan import Plan
from unpooled_server.models import ResultFile, Study
from unpooled_server.names import LIVE, PauseKind, StudyState
from unpooled_server.reads import selectors
from unpooled_server.reads.manifest import manifest
from unpooled_server.reads.pictures import TESTED
from unpooled_server.reads.result_columns import Results, folder_of
from unpooled_server.services import panels, pictures
from unpooled_server.services.tables import tables
from unpooled_server.services.transitions import PLATFORM, fail, move
from unpooled_server.storage import store
from unpooled_server.storage.columns import Columns

log = logging.getLogger(__name__)

# Files written at once. Each holds some pieces of its columns, so more would cost memory.
WRITERS = 2
NO_VARIANT = "no variant passes the plan's filters; repeat the study with other filters"


def finish(study: Study) -> None:
    """Write the result files into a folder of their own; the first to name it in the database has won."""
    started = timezone.now()
    folder = secrets.token_hex(8)
    found = _of_each(study, tables(study))
    table = algorithm(study.plan.test).table
    if lacking := [plan for plan, rows in found if table not in rows]:
        fail(study.pk, f"{lacking[0].phenotype}: {NO_VARIANT}" if len(found) > 1 else NO_VARIANT)
        return
    numbers = [algorithm(plan.test).summarise(rows) for plan, rows in found]
    panel = panels.agreed(study)
    keep = _Files(study, store.results_path(study.pk, folder))
    drawn = [_keep_of_one(keep, folder, plan, panel, rows) for plan, rows in found]
    summaries = [each for each in numbers if each is not None]
    _keep_about(keep, summaries)
    ended = timezone.now()
    pages = []
    for (plan, rows), own, (_, pictures_of_it) in zip(found, numbers, drawn, strict=True):
        about = selectors.about(study, [own] if own else [], keep.files, ended)
        pages.append((file_list.page_name(plan), encoded(report(plan, about, pictures_of_it, rows, panel))))
    for name, page in pages:
        keep.text(name, page)
    summary, columns = (_by_phenotype(study.plan, each) for each in (numbers, [names for names, _ in drawn]))
    said = manifest(study, summary, keep.files, started, timezone.now())
    keep.text(file_list.manifest_name(study.plan), json.dumps(said, indent=2).encode() + b"\n")
    if not _publish(study, folder, summary, keep.files, columns):
        store.drop_results(study.pk, folder=folder)


def _of_each(study: Study, found: Mapping[str, Columns]) -> list[tuple[Plan, dict[str, Columns]]]:
    """The plan of each phenotype, with its result tables."""
    return [(plan, tables_of(study.plan, found, plan.phenotype)) for plan in study.plan.each]


def _by_phenotype(plan: Plan, each: Sequence[Any]) -> Any:
    """Map each phenotype's name to its item; for a single phenotype, or tables, return the item as it is."""
    return dict(zip(plan.phenotype_names, each, strict=True)) if PHENOTYPES.of(plan) else each[0]


def _keep_of_one(
    keep: _Files, folder: str, plan: Plan, panel: Panel, found: Mapping[str, Columns]
) -> tuple[list[str], Pictures | None]:
    """Write the reports of a phenotype; the names of the columns that are kept, and what is drawn of them."""
    with ThreadPoolExecutor(WRITERS) as pool:  # compiled code writes the numbers, so threads run side by side
        reports = pool.map(lambda file: _keep_report(keep, file, plan, panel, found), plan.files)
        looking = pool.submit(_look, keep.study, folder, plan, found)
        keep.files += reports
        return looking.result()


class _Files:
    """The result files of a study as they are written, in the order in which people are shown them."""

    def __init__(self, study: Study, path: Path) -> None:
        self.study, self.path = study, path
        self.files: list[ResultFile] = []

    def write(self, name: str, write: Callable[[BinaryIO], object]) -> ResultFile:
        size, sha256 = store.write_result(self.path / name, write)
        return ResultFile(study=self.study, name=name, size=size, sha256=sha256)

    def text(self, name: str, text: bytes) -> None:
        self.blocks(name, [text])

    def blocks(self, name: str, blocks: Iterable[bytes]) -> None:
        def write(out: BinaryIO) -> None:
            for block in blocks:
                out.write(block)

        self.files.append(self.write(name, write))


def _keep_report(
    keep: _Files, file: str, plan: Plan, panel: Panel, found: Mapping[str, Columns]
) -> ResultFile:
    """A file that the plan asks for."""
    test = algorithm(plan.test)
    write, columns = test.files[file], test.columns_for(file, found)
    return keep.write(file_list.report_name(file, plan), lambda out: write(out, panel, columns, plan))


def _keep_about(keep: _Files, summaries: Sequence[summary.Summary]) -> None:
    """Files about the others, and about the study."""
    study, plan = keep.study, keep.study.plan
    for one, numbers in zip(plan.each, summaries, strict=False):  # of tables there are none
        if "ssf" in plan.files:
            data = keep.path / file_list.report_name("ssf", one)
            keep.text(file_list.metadata_name(one), _metadata(one, data, numbers))
    if file_list.remarks_name(plan) in file_list.result_files(plan):
        keep.blocks(file_list.remarks_name(plan), store.blocks_of(store.remarks_path(study.pk)))
    keep.text(
        file_list.methods_name(plan), methods(plan, selectors.run(study, summaries, timezone.now())).encode()
    )


def _metadata(plan: Plan, data: Path, numbers: summary.Summary) -> bytes:
    """Return the metadata of a GWAS-SSF file, which name that file by an MD5."""
    with store.kept().open(data) as file:
        md5 = hashlib.md5(usedforsecurity=False)
        for block in iter(lambda: file.read(store.BLOCK), b""):
            md5.update(block)
    date = timezone.now().date().isoformat()
    return ssf.metadata(plan, data_file=data.name, md5=md5.hexdigest(), people=numbers, date=date).encode()


def keep_for_looking(study: Study) -> None:
    """Keep what people look at of a study that is done, for which that was not possible when it ended."""
    found = _of_each(study, tables(study))  # as they were merged for the files
    drawn = [_stored_and_drawn(study, study.results_folder, plan, rows) for plan, rows in found]
    columns = _by_phenotype(study.plan, [names for names, _ in drawn])
    Study.objects.filter(pk=study.pk).update(columns=columns)


def _look(
    study: Study, folder: str, plan: Plan, found: Mapping[str, Columns]
) -> tuple[list[str], Pictures | None]:
    """Keep what people look at. The results do without: where it cannot be done, it is tried again later."""
    if plan.test not in TESTS:  # nothing is drawn of tables
        return [], None
    try:
        return _stored_and_drawn(study, folder, plan, found)
    except Exception:
        log.exception("Draw the pictures of study %s", study.pk)
        return [], None


def _stored_and_drawn(
    study: Study, folder: str, plan: Plan, found: Mapping[str, Columns]
) -> tuple[list[str], Pictures | None]:
    """The names of the result columns, which are kept, and the pictures if there is a test."""
    folder = folder_of(folder, plan)
    names = _keep_table(study, folder, TESTS[plan.test].looked_at(found))
    give_back_what_is_free()
    results = Results(study, plan, folder, names)
    return names, pictures.draw(results, found) if TESTED in names else None


def _keep_table(study: Study, folder: str, rows: Arrays) -> list[str]:
    """Keep the result columns, beside those that say which variant a row is; their names."""
    panel = store.agreed_panel(study.pk, study.panel_digest)
    alleles = np.frombuffer(b"\n".join(panel.alleles), np.uint8)

    def keep(name: str, column: Callable[[slice], np.ndarray], size: int = len(rows["variant"])) -> str:
        store.keep_column(study.pk, folder, name, size, column)
        return name

    def of_panel(column: np.ndarray) -> Callable[[slice], np.ndarray]:
        return lambda part: column[rows["variant"][part]]

    def allele(one: np.ndarray, other: np.ndarray) -> Callable[[slice], np.ndarray]:
        one_of, other_of = of_panel(one), of_panel(other)
        return lambda part: np.where(rows["first_is_a1"][part], one_of(part), other_of(part))

    def result(name: str) -> Callable[[slice], np.ndarray]:
        """Return a reader of a regression's first test, that of the variant itself; its report has the
        covariates'.
        """
        return lambda part: rows[name][part] if rows[name].ndim == 1 else rows[name][part][:, 0]

    keep("alleles", lambda part: alleles[part], len(alleles))
    return [
        keep("chromosome", of_panel(panel.chromosome)),
        keep("position", of_panel(panel.position)),
        keep("id", of_panel(panel.name)),
        keep("a1", allele(panel.first, panel.second)),
        keep("a2", allele(panel.second, panel.first)),
        *(keep(name, result(name)) for name in rows if name not in ("variant", "first_is_a1")),
    ]


def _publish(study: Study, folder: str, numbers: Any, files: list[ResultFile], columns: Any) -> bool:
    with transaction.atomic():
        won = move(
            study.pk,
            LIVE,
            StudyState.DONE,
            PLATFORM,
            f"done: {len(files)} result files",
            results_folder=folder,
            columns=columns,
            summary=numbers,
            ended_at=timezone.now(),
            reason="",
            pause_kind=PauseKind.NONE,
        )
        # In the same transaction: files are there to be had from the moment on at which the study is done.
        if won:
            ResultFile.objects.bulk_create(files)
    return won
