"""A registry whose algorithms are loaded when they are looked up; its names are known without that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unpooled.method_modules import load
from unpooled.methods.algorithm import DECLARED, Algorithm


class Registry(Mapping[str, Algorithm]):
    """The algorithms that some tables of modules have, in their order."""

    def __init__(self, *tables: Mapping[str, str]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> Algorithm:
        if name not in self:
            raise KeyError(name)
        load(name)
        return DECLARED[name]

    def __contains__(self, name: object) -> bool:
        return any(name in table for table in self._tables)

    def __iter__(self) -> Iterator[str]:
        for table in self._tables:
            yield from table

    def __len__(self) -> int:
        return sum(map(len, self._tables))
