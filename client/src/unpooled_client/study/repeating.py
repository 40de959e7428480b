"""Taking part in the study that repeats one that has ended: with the same key, files and options.

The server names the study, and gives a token for it; its own address and the compensator stay those of the
invitation that a person was given. A person is asked once, in the ended study. Nothing is joined before; but
where fewer cohorts take part the client joins, and the person is asked once it is known who they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from pathlib import Path

from unpooled_client.network.answers import Study
from unpooled_client.network.api import Api, Network
from unpooled_client.state.events import Event, Repeated
from unpooled_client.state.folder import Agreement, Saved, StateFolder, folder_of, with_invitation
from unpooled_client.study.joining import Declined, review
from unpooled_client.study.released import kept_under
from unpooled_client.study.session import Session
from unpooled_client.study.trust import check_compensator, check_identity, checked_plan


def followed(folder: StateFolder) -> Repeated | None:
    """Return the repetition in which this folder's study continues, if a person agreed to that before; else
    None.
    """
    if not folder.exists() or not (repeated_in := folder.load().repeated_in):
        return None
    found = StateFolder(Path(repeated_in)).load()
    study = found.invitation.study
    return Repeated(study, found.agreement.study if found.agreement else study, repeated_in)


def follow(session: Session) -> Generator[Event, None, StateFolder]:
    """The state folder in the repetition of the session's study. Raises Declined, Unanswered, or Distrust."""
    study, token = yield from session.wait_for(session.api.repetition)
    old = session.saved
    invitation = dataclasses.replace(old.invitation, study=study, token=token)
    # The same one whenever the answer is asked for again, for each brings another token.
    folder = folder_of(dataclasses.replace(old.invitation, study=study), session.folder.path.parent)
    fresh = dataclasses.replace(Saved.new(invitation), cohort=old.cohort, network=old.network)
    shown = yield from session.wait_for(_look, fresh)
    check_identity(shown, fresh)
    check_compensator(shown, fresh)
    if folder.exists():
        made = with_invitation(folder.load(), invitation)
    else:
        made = yield from _agreed(session, shown, fresh)
    # The folder is another study's, in which another client may be running already.
    with folder.locked():
        folder.save(made)
    session.save(repeated_in=str(folder.path))
    yield Repeated(shown.id, shown.name, str(folder.path))
    return folder


def _look(saved: Saved) -> Study:
    """The study as its server shows it to a cohort that has not joined."""
    network = dataclasses.asdict(Network().or_saved(saved.network))
    api = Api(saved.invitation, saved.instance, **network, connections=1)
    try:
        return api.study()
    finally:
        api.close()


def _agreed(session: Session, shown: Study, fresh: Saved) -> Generator[Event, None, Saved]:
    """The state to begin with, once a person agreed; where they never agreed to the old study, they are asked
    in the new one, as they would have been."""
    old = session.saved
    kept = dataclasses.replace(
        fresh, signing_key=old.signing_key, options=old.options, out=_results_folder(old, shown.id)
    )
    if old.agreement is None:
        return kept
    kept = dataclasses.replace(
        kept, agreement=old.agreement, files=old.files, sizes=old.sizes, released=old.released
    )
    plan, roster = checked_plan(shown), old.agreement.roster
    if plan.cohorts != len(roster.members):
        return kept  # who has left is known only there, and a person is asked there
    # Keys stay, so the roster is the same again, unless somebody has lost theirs: then all are asked again.
    agreement = Agreement(shown.name, plan, roster, shown.one_operator)
    yield from session.ask(review(session, shown, agreement, repeats=True))
    yield from session.until_one([session.decision])
    if not session.decision.result():
        raise Declined(session)
    return dataclasses.replace(kept, **kept_under(kept, agreement, None))


def _results_folder(old: Saved, study: str) -> str:
    """Return the folder as it was named, unless the old study's results are in it, or its name is that
    study's.
    """
    named = Path(old.out)
    if old.out and (old.delivered or named.name == f"unpooled-{old.invitation.study}"):
        return str(named.with_name(f"unpooled-{study}"))
    return old.out
