"""The end of a study: columns from row files, result files, the manifest."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np
from django.db import transaction
from django.utils import timezone

from unpooled.algorithms import algorithm
from unpooled.algorithms.methods import methods
from unpooled.algorithms.result_files import MANIFEST, METHODS, REMARKS, metadata_name, report_name
from unpooled.algorithms.shared import summary
from unpooled.formats import ssf
from unpooled.memory import give_back_what_is_free
from unpooled.plan import Plan
from unpooled.question import Arrays
from unpooled_server import selectors, store
from unpooled_server.models import ResultFile, Study
from unpooled_server.names import LIVE, PauseKind, StudyState
from unpooled_server.services import panels, pictures
from unpooled_server.services.tables import tables
from unpooled_server.services.transitions import PLATFORM, fail, move

WRITERS = 2
NO_VARIANT = "no variant passes the plan's filters; duplicate the study with other filters"


def finish(study: Study) -> None:
    """Write the result files into a folder of their own; the first to name it in the database has won."""
    started = timezone.now()
    folder = secrets.token_hex(8)
    found = tables(study, folder)
    panel, plan = panels.agreed(study), study.plan
    test = algorithm(plan.test)
    if test.table not in found:
        fail(study.pk, NO_VARIANT)
        return
    numbers = test.summarise(found)
    path = store.results_path(study.pk, folder)

    def keep(name: str, write: Callable[[BinaryIO], object]) -> ResultFile:
        size, sha256 = store.write_result(path / name, write)
        return ResultFile(study=study, name=name, size=size, sha256=sha256)

    def keep_text(name: str, text: bytes) -> ResultFile:
        return keep(name, lambda out: out.write(text))

    def keep_report(file: str) -> ResultFile:
        write, columns = test.files[file], test.columns_for(file, found)
        return keep(report_name(file, plan), lambda out: write(out, panel, columns, plan))

    with ThreadPoolExecutor(WRITERS) as pool:  # compiled code writes the numbers, so threads run side by side
        files = list(pool.map(keep_report, plan.files))
    if "ssf" in plan.files and numbers is not None:
        data = path / report_name("ssf", plan)
        files.append(keep_text(metadata_name(plan), _metadata(plan, data, numbers)))
    if not plan.of_tables:
        files.append(keep_text(REMARKS, store.remarks_path(study.pk).read_bytes()))
    files.append(keep_text(METHODS, methods(plan, selectors.run(study, numbers, timezone.now())).encode()))
    manifest = selectors.manifest(study, numbers, files, started, timezone.now())
    files.append(keep_text(MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n"))
    if not _publish(study, folder, numbers, files):
        store.drop_results(study.pk, folder=folder)


def _metadata(plan: Plan, data: Path, numbers: summary.Summary) -> bytes:
    """What lies beside a GWAS-SSF file, which names that file by an MD5."""
    with data.open("rb") as file:
        md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    date = timezone.now().date().isoformat()
    return ssf.metadata(plan, data_file=data.name, md5=md5, people=numbers, date=date).encode()


def keep_for_looking(study: Study) -> None:
    """Keep what people look at: the result columns and, if there is a test, its pictures."""
    found = tables(study, study.results_folder)  # as they were merged for the files
    names = _keep_table(study, found[summary.VARIANTS])
    give_back_what_is_free()
    if pictures.TESTED in names:
        pictures.draw(study, names)
    Study.objects.filter(pk=study.pk).update(columns=names)


def _keep_table(study: Study, rows: Arrays) -> list[str]:
    """Keep the result columns, beside those that say which variant a row is; their names."""
    panel = store.agreed_panel(study.pk, study.panel_digest)
    alleles = np.frombuffer(b"\n".join(panel.alleles), np.uint8)

    def keep(name: str, column: Callable[[slice], np.ndarray], size: int = len(rows["variant"])) -> str:
        store.keep_column(study.pk, study.results_folder, name, size, column)
        return name

    def of_panel(column: np.ndarray) -> Callable[[slice], np.ndarray]:
        return lambda part: column[rows["variant"][part]]

    def allele(one: np.ndarray, other: np.ndarray) -> Callable[[slice], np.ndarray]:
        one_of, other_of = of_panel(one), of_panel(other)
        return lambda part: np.where(rows["first_is_a1"][part], one_of(part), other_of(part))

    def result(name: str) -> Callable[[slice], np.ndarray]:
        """Of a regression's tests only the first, of the variant itself; its report has the covariates'."""
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


def _publish(study: Study, folder: str, numbers: summary.Summary | None, files: list[ResultFile]) -> bool:
    with transaction.atomic():
        won = move(
            study.pk,
            LIVE,
            StudyState.DONE,
            PLATFORM,
            f"done: {len(files)} result files",
            results_folder=folder,
            summary=numbers,
            ended_at=timezone.now(),
            reason="",
            pause_kind=PauseKind.NONE,
        )
        if won:
            ResultFile.objects.bulk_create(files)
    return won
