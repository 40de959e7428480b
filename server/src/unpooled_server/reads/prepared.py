"""Queries whose SQL is built once. Of small ones, building it takes longer than all the database does.

    @Prepared
    def names(study_id: Expression) -> QuerySet[Any, Any]:
        return Cohort.objects.filter(study=study_id).values_list("name")

    names("0123456789abcdef")  # [("north",), ("south",)]

The function makes the query, at the first call, from an expression for each argument. Arguments are values as
the database has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, cast

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Expression, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.sql import Query, UpdateQuery

Row = tuple[Any, ...]


@dataclass(frozen=True)
class _Argument:
    """Stands in the SQL's parameters for what comes with each call."""

    number: int


@dataclass(frozen=True)
class _Compiled:
    sql: str
    parameters: Sequence[Any]
    converters: dict[int, tuple[Sequence[Callable[..., Any]], Expression]]
    """Converters from the database's values to Python's, by column, for those that need it."""

    def with_arguments(self, arguments: Sequence[Any]) -> tuple[str, list[Any]]:
        """Return the SQL and the values that a cursor executes."""
        values = (arguments[one.number] if isinstance(one, _Argument) else one for one in self.parameters)
        return self.sql, list(values)


class _Statement:
    def __init__(self, build: Callable[..., Any], count: int | None = None) -> None:
        """`count` is the number of arguments; None for as many as the function has."""
        self._build = build
        self._count = len(signature(build).parameters) if count is None else count
        self.__doc__ = build.__doc__

    def _query(self, made: Any) -> Query:
        raise NotImplementedError

    @cached_property
    def _compiled(self) -> _Compiled:
        # Two threads may both come here first: they make the same.
        made = self._build(*(RawSQL("%s", [_Argument(number)]) for number in range(self._count)))
        compiler = self._query(made).get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select or ()]
        return _Compiled(sql, parameters, compiler.get_converters(columns))


class Prepared(_Statement):
    """A query of rows of values: `values_list`."""

    def __call__(self, *arguments: Any) -> list[Row]:
        with connection.cursor() as cursor:
            cursor.execute(*self._compiled.with_arguments(arguments))
            rows = cursor.fetchall()
        return list(_converted(rows, self._compiled)) if self._compiled.converters else rows

    def _query(self, made: QuerySet[Any, Any]) -> Query:
        return made.query


class PreparedUpdate(_Statement):
    """An update: the function makes the rows, and their fields' values. Returns how many rows it found."""

    def __call__(self, *arguments: Any) -> int:
        with connection.cursor() as cursor:
            cursor.execute(*self._compiled.with_arguments(arguments))
            return int(cursor.rowcount)

    def _query(self, made: tuple[QuerySet[Any, Any], dict[str, Any]]) -> Query:
        rows, values = made
        query = cast(UpdateQuery, rows.query.chain(UpdateQuery))
        query.add_update_values(values)
        return query


def _converted(rows: Iterable[Row], made: _Compiled) -> Iterator[Row]:
    for row in rows:
        values = list(row)
        for place, (converters, column) in made.converters.items():
            for convert in converters:
                values[place] = convert(values[place], column, connection)
        yield tuple(values)
