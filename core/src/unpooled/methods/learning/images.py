"""Images as the features of a model: what a plan of them has, and what its model file says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unpooled.fitted.image_network import FORMAT, ImageNetwork
from unpooled.methods.learning.models import MODELS
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

VERSION = 1


def features_of(plan: Plan) -> Sequence[Column]:
    """The columns that a study of models is about: those whose numbers, words or images are read."""
    of_images = MODELS[plan.test].of_images
    return [
        c for c in plan.schema if c.is_number or c.is_category or c.has_classes or (c.is_image and of_images)
    ]


def reads_words(column: Column) -> bool:
    """Tell whether the words of a column are read; those of images name their files."""
    return column.is_category or column.has_classes or column.is_patient or column.is_image


def problems_of_images(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the columns of a study of images."""
    others = [c for c in plan.schema if (c.is_number or c.is_category) and not c.is_outcome]
    if sum(column.is_image for column in plan.schema) != 1:
        yield "schema", "want one column of images, which names their files"
    elif others:
        yield "schema", f"{others[0].title}: a network on images has no other features: declare it as ignored"
    if plan.outcome is None:
        yield "schema", "want the column that is predicted: give it the role outcome"


def shape_in_words(images: Mapping[str, int]) -> str:
    """The size of images in a model file, for people."""
    kind = "grey" if images["channels"] == 1 else f"{images['channels']} channels"
    return f"{images['rows']} by {images['columns']} pixels, {kind}"


def of_images(network: ImageNetwork) -> dict[str, Any]:
    """The part of a model file that says what the network is, and what it takes."""
    *size, scores = network.widths
    return {
        "format": FORMAT,
        "version": VERSION,
        "features": [],
        "network": {"name": network.activation, "scores": scores, "weights": network.size},
        "images": dict(zip(("channels", "rows", "columns"), size, strict=True)) | {"divided_by": 255},
        "encoding": None,
    }
