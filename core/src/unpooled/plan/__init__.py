"""The plan of a study: options, schema, encodings, and all else that its author decides."""

from functools import partial
from typing import TYPE_CHECKING

from unpooled import renamed

if not TYPE_CHECKING:  # else no name would be unknown to it
    __getattr__ = partial(renamed.attribute, __name__)
