"""A federation in this process, for Python: `unpooled.federate([first, second, third])`.

Every cohort is read as its client reads it, and its sums go through the codec and the masks; only what lies
between the parties is left out. So it shows what a study would find, and its plan makes the study real.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import csv, parquet

from unpooled.asking.cohort import ArrayTable, Cohort
from unpooled.errors import UnpooledError, listed
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import Model
from unpooled.fitted.scaler import Scaler
from unpooled.methods import FITS, METHODS, TESTS, completed
from unpooled.methods.phenotypes import tables_of
from unpooled.methods.shared.conditions import Conditioned
from unpooled.methods.tables.encoding.coding import coded
from unpooled.panel import overlap
from unpooled.panel.agreement import Agreement, reconcile
from unpooled.panel.filesets import COPIED, FILESETS
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import BY_PLACE, CONDITION
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.result_files import ENCODING_FILE, MODEL_FILE, PARAMETERS_FILE
from unpooled.plan.schema import TEXT, Column, schema_from_file
from unpooled.protocol.messages import MIN_COHORTS
from unpooled.run import reports, run
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.draft import draft
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions
from unpooled_client.study.reading import Alignments, DataRefused, open_under

Tables = Mapping[str, Mapping[str, Any]]
_NOBODY = Panel.of([])
_NO_FITS = [name for name in METHODS if name not in FITS]
_OPTIONS = {field.name: field for field in fields(DataOptions)}


class Federation:
    """Cohorts whose pool is asked about. What a study refuses is raised, as an `UnpooledError`."""

    def __init__(self, cohorts: Sequence[Any], schema: str | Path | None = None, **files: Any) -> None:
        """Name each cohort's data: a data frame, a CSV or Parquet table, or files of genotypes.

        `schema` is a file as `unpooled-client schema` drafts it. `files` are the client's other options, such
        as `pheno`, `covar` and `keep`: one for all cohorts, or a list with one for each.
        """
        if len(cohorts) < MIN_COHORTS:
            raise ValueError(f"a study needs at least {MIN_COHORTS} cohorts, not {len(cohorts)}")
        self._kind = _kind_of(cohorts[0])
        self._folder = tempfile.TemporaryDirectory(prefix="unpooled-")  # 0700: these are people's rows
        paths = [_path(each, Path(self._folder.name), k) for k, each in enumerate(cohorts, start=1)]
        self._data = [
            DataOptions(**(_option(path) | _each(files, k, len(paths)))) for k, path in enumerate(paths)
        ]
        self._schema = schema and schema_from_file(Path(schema))
        self._plan: Plan | None = None
        self.files: dict[str, bytes] = {}
        """The result files of the last study, by the names that its plan calls them."""

    @property
    def plan(self) -> Plan:
        """The plan of the last study. `plan.save("plan.json")` writes it for `unpooled studies create`."""
        if self._plan is None:
            raise UnpooledError("no study was run yet: call summary, normalize, encode, fit or associate")
        return self._plan

    def summary(self, **options: Any) -> Any:
        """Describe each column of numbers of the pool: a data frame with a row a column."""
        self._of_tables("summary", _only_numbers(self._columns()), options)
        return self._frame(next(iter(self.files)))

    def normalize(self, method: str, **options: Any) -> Scaler:
        """Fit a scaling to the pool's columns of numbers: `z-score`, `min-max`, `robust`, `yeo-johnson`, …"""
        self._of_tables(method, _only_numbers(self._columns()), options)
        return Scaler.from_file(self._file(PARAMETERS_FILE))

    def encode(self, encodings: Mapping[str, str], **options: Any) -> Encoder:
        """Fit encodings of columns of words to the pool, such as `{"ward": "one-hot"}`."""
        self._of_tables("encode", _encoded(self._columns(), encodings), options)
        return Encoder.from_file(self._file(ENCODING_FILE))

    def fit(
        self,
        method: str,
        outcome: str,
        *,
        encodings: Mapping[str, str] | None = None,
        patient: str | None = None,
        **options: Any,
    ) -> Model:
        """Fit a model that predicts the column `outcome` from all other numbers and categories.

        `encodings` are those of columns of words, one-hot where none is named; rows with the same value of
        the column `patient` are of one person.
        """
        columns = _encoded(self._columns(outcome, patient), encodings or {})
        full = f"{method}-model"  # such as logistic, which is also a test
        self._of_tables(full if full in FITS else method, columns, options, FITS)
        return Model.from_file(self._file(MODEL_FILE))

    def associate(
        self,
        test: str,
        *,
        phenotype: str = "phenotype",
        covariates: Sequence[str] = (),
        categorical: Mapping[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> Any:
        """Test each variant: a data frame with the lines and columns of the first result file.

        `covariates` are columns of the `covar` files; `categorical` has the levels of those that are words,
        the reference first.
        """
        levels = categorical or {}
        planned = [{"name": name, "levels": [*levels.get(name, ())]} for name in (*covariates, *levels)]
        chosen = {"phenotype": phenotype, **({"covariates": planned} if planned else {})}
        plan = self._planned(test, TESTS, {**chosen, **options})
        data = {f"cohort{k}": cast(PlinkData, each) for k, each in enumerate(self._opened(plan), start=1)}
        panel = agreed(plan, data).panel
        cohorts = [beside(Alignments(each, plan), panel) for each in data.values()]
        self._ran(plan, panel, run(plan, panel, cohorts))
        return self._frame(plan.files[0])

    def _of_tables(
        self,
        method: str,
        schema: Sequence[Column],
        options: Mapping[str, Any],
        known: Collection[str] = _NO_FITS,
    ) -> None:
        plan = self._planned(method, known, {"schema": [c.to_json() for c in schema], **options})
        tables = coded([cast(ArrayTable, table) for table in self._opened(plan)], plan)
        self._ran(plan, _NOBODY, run(plan, _NOBODY, tables))

    def _planned(self, method: str, known: Collection[str], chosen: Mapping[str, Any]) -> Plan:
        if method not in known:
            raise ValueError(f"no method is called {method}; there are {listed([*known])}")
        given = {"test": method, "cohorts": len(self._data), "compensator_key": NO_KEY.hex(), **chosen}
        return completed(json.loads(json.dumps(given)))

    def _opened(self, plan: Plan) -> list[PlinkData | ArrayTable]:
        """Read each cohort's files as its client does; DataRefused if one is not fit for the study."""
        found = []
        for options in self._data:
            data, report = open_under(plan, options, threads=1)
            if data is None:
                raise DataRefused(report, plan)
            found.append(data)
        return found

    def _ran(self, plan: Plan, panel: Panel, tables: Tables) -> None:
        self._plan = plan
        self.files = {
            name if one is plan else f"{one.phenotype}.{name}": data
            for one in plan.each
            for name, data in reports(one, panel, tables_of(plan, tables, one.phenotype)).items()
        }

    def _columns(self, outcome: str | None = None, patient: str | None = None) -> Sequence[Column]:
        """The schema if there is one, else what the tables' columns look like; these two have their roles."""
        if self._schema:
            return self._schema
        tables, report = [each.table for each in self._data if each.table], Report()
        if len(tables) < len(self._data):
            raise ValueError("this is a study of tables, and some cohort's data are genotypes")
        drafted = draft(tables, report, outcome, patient)
        if drafted is None:
            raise report.problem()
        return drafted[0]

    def _file(self, name: str) -> Path:
        """A result file, on disk for those that read files."""
        (path := Path(self._folder.name) / name).write_bytes(self.files[name])
        return path

    def _frame(self, name: str) -> Any:
        """The lines of a result file, as data frames of the cohorts' own library, else of pandas."""
        text = self.files[name]
        if b"\t" not in text.partition(b"\n")[0]:  # PLINK's columns have a width, and blanks between
            text = b"\n".join(b"\t".join(line.split()) for line in text.splitlines())
        found = csv.read_csv(pa.BufferReader(text), parse_options=csv.ParseOptions(delimiter="\t"))
        if self._kind == "polars":
            return import_module("polars").from_arrow(found)
        return found if self._kind == "pyarrow" or find_spec("pandas") is None else found.to_pandas()


federate = Federation


def _kind_of(cohort: Any) -> str:
    """The library whose data frames a cohort is given in, such as pandas."""
    return type(cohort).__module__.partition(".")[0]


def _path(cohort: Any, folder: Path, number: int) -> Path:
    """A cohort's data on disk: as they are, or a data frame as a Parquet file."""
    if isinstance(cohort, str | Path):
        return Path(cohort)
    if not hasattr(cohort, "__arrow_c_stream__"):
        want = "a path, or a data frame of pandas 2.2 or newer, polars or Arrow"
        raise TypeError(f"cohort {number} is a {type(cohort).__name__}; want {want}")
    parquet.write_table(pa.table(cohort), path := folder / f"cohort{number}.parquet")
    return path


def _option(path: Path) -> dict[str, Any]:
    """The client's option that takes this file: the prefix of a fileset, a file of genotypes, or a table."""
    for fileset in FILESETS:
        if Path(f"{path}.{fileset.genotypes}").exists():
            return {fileset.option: path}
    if not path.exists():
        filesets = " or ".join(f"{path}.{fileset.genotypes}" for fileset in FILESETS)
        raise FileNotFoundError(f"{path}: no such table, and no {filesets}")
    return {next((each.option for each in COPIED if path.name.endswith(each.endings)), "table"): path}


def _each(files: Mapping[str, Any], cohort: int, cohorts: int) -> dict[str, Any]:
    """One cohort's own of what is given once for all, or in a list with one for each."""
    found = {}
    for name, given in files.items():
        if name not in _OPTIONS:
            raise TypeError(f"{name}: no such file or option of a client")
        if isinstance(given, list) and len(given) != cohorts:
            raise ValueError(
                f"{name} names {len(given)} files; want one, or one for each of {cohorts} cohorts"
            )
        value = given[cohort] if isinstance(given, list) else given
        found[name] = Path(value) if isinstance(value, str) and "Path" in str(_OPTIONS[name].type) else value
    return found


def _only_numbers(columns: Sequence[Column]) -> list[Column]:
    return [c if c.is_number else Column(c.title, TEXT) for c in columns]


def _encoded(columns: Sequence[Column], encodings: Mapping[str, str]) -> list[Column]:
    """The columns with the encodings of some; ValueError if one of these is no column of words."""
    words = [c.title for c in columns if c.is_category]
    if unknown := [name for name in encodings if name not in words]:
        raise ValueError(f"{listed(unknown)}: no such column of words; there are {listed(words) or 'none'}")
    return [replace(c, encoding=encodings.get(c.title, c.encoding)) for c in columns]


def agreed(plan: Plan, data: Mapping[str, PlinkData]) -> Agreement:
    """Return what the cohorts' lists of variants agree on; UnpooledError if that is too little."""
    lists = {name: each.listed for name, each in data.items()}
    found = reconcile(lists)
    apart = overlap.compare(lists, len(found.panel), plan.cohorts, plan.autosomes, by_place=BY_PLACE.of(plan))
    if apart.said:
        raise UnpooledError(f"the cohorts' lists of variants do not fit together. {' '.join(apart.said)}")
    return found


def beside(alignments: Alignments, panel: Panel) -> Cohort:
    """A cohort as it answers the questions about a panel."""
    aligned: Cohort = alignments.beside(panel)
    return Conditioned(aligned, aligned.samples) if CONDITION.of(alignments.plan) else aligned
