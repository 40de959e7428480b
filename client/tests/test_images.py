"""Images of a cohort: read as they are, or named in the report of an offline check."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unpooled.fitted import image_network
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.tables import open_table
from unpooled_client.state.fingerprint import Fingerprint, check_unchanged

SCHEMA = (
    Column("file", "image", encoding="3x9x8"),
    Column("label", "category", role="outcome", levels=("cat", "dog")),
)
WITH_PATIENT = (*SCHEMA, Column("patient", "text", role="patient"))


def pixels(k: int) -> np.ndarray:
    return np.random.default_rng(k).integers(0, 256, (9, 8, 3)).astype(np.uint8)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Ten images in a folder for each class."""
    for k in range(20):
        into = tmp_path / ("cat", "dog")[k % 2]
        into.mkdir(exist_ok=True)
        Image.fromarray(pixels(k)).save(into / f"{k:02}.png")
    return tmp_path


@pytest.fixture
def with_table(tmp_path: Path) -> Path:
    """The same beside a table; in the other order, two of each patient."""
    lines = ["file,label,patient"]
    for k in reversed(range(20)):
        Image.fromarray(pixels(k)).save(tmp_path / f"{k}.png")
        lines.append(f"{k}.png,{('cat', 'dog')[k % 2]},{k // 2}")
    (tmp_path / "images.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def opened(folder: Path, schema: tuple[Column, ...] = SCHEMA) -> tuple[np.ndarray | None, Report]:
    report = Report()
    reads = lambda column: column.has_classes or column.is_patient  # noqa: E731
    table = open_table(folder, schema, 10, report, reads_words=reads)
    return None if table is None else table.images, report


def test_a_folder_for_each_class_is_a_table(folders: Path) -> None:
    (folders / "cat" / ".hidden").write_text("of the system's")
    images, report = opened(folders)
    assert report.ok and images is not None
    wanted = [pixels(k).transpose(2, 0, 1) for k in [*range(0, 20, 2), *range(1, 20, 2)]]
    assert (images == np.array(wanted)).all()


def test_a_table_names_its_images(with_table: Path) -> None:
    images, report = opened(with_table, WITH_PATIENT)
    assert report.ok and images is not None
    assert (images == np.array([pixels(k).transpose(2, 0, 1) for k in reversed(range(20))])).all()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:60])


def wider(path: Path) -> None:
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(path)


def see_through(path: Path) -> None:
    Image.fromarray(np.zeros((9, 8, 4), np.uint8)).save(path)


def no_image(path: Path) -> None:
    path.write_text("a note")


def deep(path: Path) -> None:
    Image.fromarray(np.zeros((9, 8), np.uint16)).save(path)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (cut, Code.IMAGE_UNREADABLE),
        (no_image, Code.IMAGE_UNREADABLE),
        (wider, Code.IMAGE_SIZE),
        (see_through, Code.IMAGE_SIZE),
        (deep, Code.IMAGE_SIZE),
        (Path.unlink, Code.IMAGE_MISSING),
    ],
)
def test_a_damaged_image_is_named(with_table: Path, damage: Callable[[Path], None], code: Code) -> None:
    for k in (3, 5):
        damage(with_table / f"{k}.png")
    images, report = opened(with_table, WITH_PATIENT)
    (finding,) = report.findings
    assert images is None and not report.ok
    assert (finding.code, finding.count) == (code, 2)
    assert {each.split(":")[0] for each in finding.examples} == {"3.png", "5.png"}


def test_only_images_in_the_folder_are_read(with_table: Path) -> None:
    inside = with_table / "inside"
    inside.mkdir()
    (inside / "images.csv").write_text("file,label,patient\n../3.png,dog,1\n")
    _, report = opened(inside, WITH_PATIENT)
    assert Code.IMAGE_MISSING in {finding.code for finding in report.findings}


@pytest.mark.parametrize("change", ["file", "second table", "no classes", "patient"])
def test_what_is_no_folder_of_images_is_refused(folders: Path, change: str) -> None:
    given, schema = folders, SCHEMA
    if change == "file":
        given = folders / "cat" / "00.png"
    elif change == "second table":
        (folders / "a.csv").write_text("file,label\n")
        (folders / "b.csv").write_text("file,label\n")
    elif change == "no classes":
        given = folders / "cat"
    else:
        schema = WITH_PATIENT
    _, report = opened(given, schema)
    wanted = Code.COLUMN_MISSING if change == "patient" else Code.IMAGE_FOLDER
    assert [finding.code for finding in report.findings] == [wanted]


def test_images_that_do_not_fit_in_memory_are_refused(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unpooled_client.data.tables.images.MOST_BYTES", 1000)
    _, report = opened(folders)
    assert [finding.code for finding in report.findings] == [Code.IMAGES_TOO_LARGE]


def test_without_torch_the_check_says_what_to_install(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: ())
    image_network.computing.cache_clear()
    _, report = opened(folders)
    image_network.computing.cache_clear()
    (finding,) = report.findings
    assert finding.code == Code.IMAGE_SOFTWARE and "pip install unpooled-networks" in finding.remedy


def test_a_changed_image_is_another_folder(folders: Path) -> None:
    accepted = {"table": Fingerprint.of(folders)}
    check_unchanged(accepted, {"table": folders})
    one = folders / "cat" / "00.png"
    content = one.read_bytes()
    one.write_bytes(content)
    check_unchanged(accepted, {"table": folders})  # the same content at another time
    one.write_bytes(content[:-1] + b"x")
    with pytest.raises(Exception, match="has changed"):
        check_unchanged(accepted, {"table": folders})
