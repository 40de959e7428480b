"""The columns of a plan's schema by what is done with them."""

from __future__ import annotations

from unpooled.plan.schema import Column


class WithSchema:
    """A plan, as far as it is about columns of tables."""

    schema: tuple[Column, ...]

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns of the schema whose numbers are read, in its order; an outcome may be one of them."""
        return tuple(column for column in self.schema if column.is_number)

    @property
    def outcome(self) -> Column | None:
        """The column of the schema that a model predicts."""
        return next((column for column in self.schema if column.is_outcome), None)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The columns of the schema that hold words to be encoded, in its order."""
        return tuple(column for column in self.schema if column.is_category)

    @property
    def images(self) -> Column | None:
        """The column of the schema that names files of images."""
        return next((column for column in self.schema if column.is_image), None)

    @property
    def beside(self) -> tuple[str, ...]:
        """The titles of the others, which stand beside the encoded ones."""
        return tuple(column.title for column in self.schema if not column.is_category)

    @property
    def dictionaries(self) -> tuple[Column, ...]:
        """The categories whose encoding has a dictionary."""
        return tuple(column for column in self.categories if column.encoded.has_dictionary)

    @property
    def searched(self) -> tuple[int, ...]:
        """Places of the dictionaries that hold words not known beforehand."""
        return tuple(place for place, column in enumerate(self.dictionaries) if column.most)
