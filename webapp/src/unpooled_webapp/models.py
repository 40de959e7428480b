from __future__ import annotations

from django.db import models


class Installation(models.Model):
    """One row: the home folder that this database belongs to, by what that folder's marker says."""

    home = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.home
