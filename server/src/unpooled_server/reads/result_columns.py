"""Results kept of a study for looking at: of one phenotype, where the study has several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unpooled.plan.plan import Plan
from unpooled_server.errors import Missing
from unpooled_server.models import Study
from unpooled_server.storage import store
from unpooled_server.storage.columns import Columns


@dataclass(frozen=True)
class Results:
    """The results of a study, or of one of its phenotypes."""

    study: Study
    plan: Plan
    """The study's plan, reduced to the phenotype."""
    folder: str
    columns: Sequence[str]
    """Names of the result columns that are kept, once they are."""

    @property
    def kept_columns(self) -> Columns:
        return store.kept_columns(self.study.pk, self.folder, self.columns)

    def path(self, picture: str) -> Path:
        """Return the path of a picture for people."""
        return store.picture_path(self.study.pk, self.folder, picture)

    def here(self, picture: str) -> Path:
        """Return where a picture lies on this machine; FileNotFoundError."""
        return store.kept().here(self.path(picture))


def results_of(study: Study, phenotype: str) -> Results:
    """The results of a phenotype, of the first if it is empty; Missing if the study has none so called."""
    plans = {plan.phenotype: plan for plan in study.plan.each}
    if phenotype and phenotype not in plans:
        raise Missing(
            "no-phenotype",
            f"The study has no phenotype {phenotype[:80]!r}.",
            f"It has {', '.join(plans)}." if any(plans) else "It is about tables.",
        )
    plan = plans[phenotype or next(iter(plans))]
    return Results(study, plan, folder_of(study.results_folder, plan), study.columns_of(plan))


def folder_of(folder: str, plan: Plan) -> str:
    """Return the folder, within the study's results, of the results that this plan is about."""
    return f"{folder}/{plan.phenotype}" if plan.of_several else folder
