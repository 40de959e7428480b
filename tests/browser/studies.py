"""Steps that a coordinator takes with every study, by the buttons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Locator, expect

from unpooled.protocol.invitation import Invitation

from ..federation import Cohort, Trial
from .conftest import Clients
from .pages import Pages

NAMES = ("Graz", "Munich", "Tartu")
BY_ITSELF = "Start automatically once every cohort is ready"


def begin_study(pages: Pages, name: str) -> None:
    """Open the form, and write what small cohorts need."""
    pages.follow("Studies")
    pages.follow("New study")
    pages.heading("New study")
    pages.fill("Name of the study", name)
    pages.fill("Minimum people per cohort", "20")


def begin_study_of_variants(pages: Pages, name: str) -> None:
    begin_study(pages, name)
    pages.fill("Trait", "asthma")
    pages.fill("Minimum cases and controls", "1")


def create(pages: Pages, name: str) -> None:
    pages.press("Create study")
    pages.heading(name)


def create_study_of_variants(pages: Pages, name: str) -> None:
    begin_study_of_variants(pages, name)
    create(pages, name)


def invite(pages: Pages, *names: str) -> list[Invitation]:
    """The invitations that are shown, one after the other."""
    pages.fill("Names", "\n".join(names))
    pages.press("Invite")
    return [shown_invitation(pages, name) for name in names]


def shown_invitation(pages: Pages, name: str) -> Invitation:
    dialog = pages.dialog.filter(has_text=f"Invitation of {name}")
    text = dialog.get_by_label("Invitation", exact=True).input_value()
    pages.press("Close", dialog)
    expect(dialog).to_be_hidden()
    return Invitation.from_text(text)


def invite_all(
    pages: Pages, clients: Clients, data: Sequence[Path], names: Sequence[str] = NAMES
) -> list[Cohort]:
    """A cohort for each file; none is started yet."""
    invitations = invite(pages, *names)
    expect(pages.page.get_by_role("main")).to_be_focused()  # the form that had the focus is gone
    invited = [
        Cohort(clients.site, name, clients.folder / name, prefix, invitation)
        for name, prefix, invitation in zip(names, data, invitations, strict=True)
    ]
    clients += invited
    return invited


def run_all(pages: Pages, clients: Clients, data: Sequence[Path]) -> None:
    """Invite a cohort for each file, and have all of them take part until the study is done."""
    spawn(invite_all(pages, clients, data))
    until_done(pages)


def all_accepted(pages: Pages, clients: Clients, data: Sequence[Path], name: str) -> None:
    """A study that waits for its coordinator alone."""
    begin_study_of_variants(pages, name)
    pages.page.get_by_label(BY_ITSELF).uncheck()
    create(pages, name)
    spawn(invite_all(pages, clients, data))
    expect(pages.page.get_by_role("button", name="Start", exact=True)).to_be_enabled()


def take_columns(pages: Pages, folder: Path, text: str) -> None:
    """Take the columns of a table from a file with this text."""
    (file := folder / "schema.csv").write_text(text)
    pages.page.get_by_label("Or take them from a CSV file").set_input_files(file)


def spawn(clients: Sequence[Cohort]) -> None:
    for cohort in clients:
        cohort.party.spawn()


def all_end(clients: Sequence[Cohort], status: int = 0) -> None:
    for cohort in clients:
        assert cohort.party.wait() == status


def look_at_what_is_done(pages: Pages, name: str) -> None:
    for page in ("Plan", "Privacy and traffic", "Results"):
        pages.follow(page)
        pages.look(f"done-{name}-{page.partition(' ')[0].lower()}")


@contextmanager
def with_pictures(*trials: Trial) -> Iterator[None]:
    """These studies are run, and have their pictures."""
    for trial in trials:
        trial.start()
        trial.until_over()
        trial.until(lambda trial=trial: trial.call("GET")["has_pictures"], "the pictures are there")
    yield
    for trial in trials:
        trial.stop()


def row(pages: Pages, cohort: str) -> Locator:
    """Return a cohort's row of the table of cohorts."""
    return pages.page.get_by_role("table", name="Cohorts").get_by_role("row").filter(has_text=cohort)


def is_away(cohort: Cohort, minutes: int) -> bool:
    """Tell whether the study waits for an absent cohort once it was last heard `minutes` ago."""
    site, study = cohort.federation, cohort.invitation.study
    heard = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M:%S")
    site.rows(
        "UPDATE unpooled_server_cohort SET heard_at = ? WHERE name = ? AND study_id = ?",
        heard,
        cohort.name,
        study,
    )
    return site.rows("SELECT 1 FROM unpooled_server_study WHERE pause_kind = 'away' AND id = ?", study) != []


def until_done(pages: Pages) -> None:
    pages.follow("Progress")
    expect(pages.page.get_by_role("heading", name="Done")).to_be_visible()
