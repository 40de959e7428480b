"""Images: a folder with a table of them, or with a folder of images for each class. Read as they are.

Nothing is resized, turned, or converted: an image that the plan does not describe is named, and keeps the
cohort out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from unpooled.errors import DataProblem
from unpooled.fitted.image_network import computing
from unpooled.plan.categories import Words
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import EXAMPLES, Code, shown
from unpooled_client.data.tables.faults import Faults

MOST_BYTES = 4 << 30
"""All images are held in memory, a byte for each number."""
_MODES = {1: ("L", "1"), 3: ("RGB",)}
"""Pillow's names for 8 bits of grey, for black and white, and for 8 bits each of red, green and blue."""


def image_of(schema: Sequence[Column]) -> Column | None:
    """The column that names files of images."""
    return next((column for column in schema if column.is_image), None)


def is_ready(folder: Path, column: Column, faults: Faults) -> bool:
    """Tell whether images can be read from a folder, and computed with; `faults` says what is amiss."""
    try:
        import PIL.Image  # noqa: F401

        computing()
    except ImportError:
        faults.tell(Code.IMAGE_SOFTWARE, remedy="Install it beside the client: pip install pillow.")
    except DataProblem as error:
        faults.tell(Code.IMAGE_SOFTWARE, remedy=error.remedy)
    if not folder.is_dir():
        faults.tell(Code.IMAGE_FOLDER, title=column.title, why="this is none")
    elif len(tables_in(folder)) > 1:
        names = ", ".join(path.name for path in tables_in(folder)[:EXAMPLES])
        faults.tell(Code.IMAGE_FOLDER, title=column.title, why=f"this has several: {names}")
    return faults.report.ok


def tables_in(folder: Path) -> list[Path]:
    """The CSV tables in a folder; none in a file."""
    inside = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in inside if path.suffix.lower() == ".csv" and not _is_hidden(path))


def by_class(folder: Path, schema: Sequence[Column], faults: Faults) -> dict[str, Words] | None:
    """The columns of words that `label/file.png` says: the image, and its class. None if there are more."""
    for column in schema:
        if column.is_patient or (column.is_outcome and not column.has_classes):
            faults.tell(Code.COLUMN_MISSING, title=column.title, wanted=", ".join(c.title for c in schema))
    if not faults.report.ok:
        return None
    found = list(_of_classes(folder))
    if not found:
        faults.tell(Code.IMAGE_FOLDER, title="images", why="this has neither")
        return None
    names = Words.of(str(path.relative_to(folder)) for _, path in found)
    classes = Words.of(label for label, _ in found)
    return {column.title: names if column.is_image else classes for column in schema if not column.left_out}


def _of_classes(folder: Path) -> Iterator[tuple[str, Path]]:
    for each in sorted(path for path in folder.iterdir() if path.is_dir() and not _is_hidden(path)):
        yield from ((each.name, path) for path in sorted(each.iterdir()) if not _is_hidden(path))


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def read_images(folder: Path, column: Column, names: Words, faults: Faults) -> np.ndarray | None:
    """The images of all rows, uint8 (n, channels, rows, columns); None if there is any error."""
    if not len(names) or (size := len(names) * int(np.prod(column.size))) > MOST_BYTES:
        if len(names):
            faults.tell(Code.IMAGES_TOO_LARGE, read=f"{size / 2**30:.1f} GiB", title=column.title)
        return None
    if unnamed := int(np.count_nonzero(names.codes < 0)):
        faults.tell(Code.IMAGE_MISSING, title=column.title, count=unnamed, examples=("a row without a name",))
    reader = _Reader(folder.resolve(), column)
    different = np.zeros((len(names.values), *column.size), np.uint8)
    for image, name in zip(different, names.values, strict=True):
        reader.read(name, image)
    reader.tell(faults)
    return different[names.codes] if faults.report.ok else None


class _Reader:
    """Reads images, and keeps what is wrong with which."""

    def __init__(self, folder: Path, column: Column) -> None:
        self.folder, self.column = folder, column
        self.wrong: dict[Code, list[str]] = {}

    def read(self, name: str, into: np.ndarray) -> None:
        """Read one image into uint8 (channels, rows, columns)."""
        from PIL import Image

        path = (self.folder / name).resolve()
        if not (path.is_relative_to(self.folder) and path.is_file()):
            self._add(Code.IMAGE_MISSING, name)
            return
        try:
            with Image.open(path) as image:
                channels, rows, columns = self.column.size
                if image.size != (columns, rows) or image.mode not in _MODES[channels]:
                    what = f"{image.size[1]} rows, {image.size[0]} columns, {image.mode}"
                    self._add(Code.IMAGE_SIZE, f"{name}: {what}")
                    return
                pixels = np.asarray(image.convert("L") if image.mode == "1" else image, np.uint8)
        except Exception as error:  # whatever a library raises on damaged files, of dozens of formats
            self._add(Code.IMAGE_UNREADABLE, f"{name}: {type(error).__name__}")
            return
        into[:] = np.moveaxis(pixels.reshape(rows, columns, channels), 2, 0)

    def _add(self, code: Code, what: str) -> None:
        self.wrong.setdefault(code, []).append(what)

    def tell(self, faults: Faults) -> None:
        """Tell each kind of fault once, with the first files that have it."""
        channels, rows, columns = self.column.size
        wanted = f"{rows} rows, {columns} columns, {' or '.join(_MODES[channels])}"
        for code, files in self.wrong.items():
            examples = [shown(each) for each in files[:EXAMPLES]]
            about = {"read": files[0], "count": len(files), "examples": examples}
            faults.tell(code, **about, title=self.column.title, wanted=wanted)  # type: ignore[arg-type]
