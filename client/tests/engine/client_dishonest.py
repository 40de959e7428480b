"""A server that says what it likes of a study, and a cohort that has been in that study."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from client_scripted import Scripted

from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Roster
from unpooled.protocol.sealing import SigningKey, fingerprint
from unpooled_client.state.folder import Agreement, Saved, StateFolder

KEY = NO_KEY[1:] + b"1"
PLAN = Plan(test="chi-square", phenotype="asthma", cohorts=3, compensator_key=KEY)
NAME = "Asthma"


class Cohort:
    """Tartu: its state, and the folder that holds its data and the results."""

    def __init__(self, server: Scripted, folder: Path) -> None:
        self.server, self.data, self.state = server, folder / "data", StateFolder(folder / "state")
        self.data.mkdir()
        invitation = Invitation(server.url, "s1", "t" * 43, fingerprint(KEY))
        self.saved = replace(Saved.new(invitation), cohort="Tartu", out=str(self.data))

    def roster(self, *, another: bool = False) -> Roster:
        """Return the roster; with `another`, one of its cohorts is a stranger."""
        stranger = bytes(31) + (b"2" if another else b"1")
        own = SigningKey(self.saved.signing_key).public
        return Roster((("Graz", bytes(32)), ("Oulu", stranger), ("Tartu", own)))

    def agreed(self, **sizes: int) -> Cohort:
        """A person has accepted the plan and the roster; without this nobody has."""
        self.saved = replace(self.saved, agreement=Agreement(NAME, PLAN, self.roster(), False), sizes=sizes)
        return self

    def keep(self) -> None:
        with self.state.locked():
            self.state.save(self.saved)

    def says(
        self, state: str, files: Iterable[tuple[str, bytes]] = (), *, plan: Plan = PLAN, another: bool = False
    ) -> dict[str, Any]:
        """Return the server's answer about the study."""
        roster = self.roster(another=another)
        results = [
            {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files
        ]
        return {
            "version": 1,
            "study": {"id": "s1", "name": NAME, "state": state},
            "plan": plan.to_json(),
            "plan_hash": plan.hash().hex(),
            "cohort": "Tartu",
            "cohort_state": "joined",
            "cohort_key": dict(roster.members)["Tartu"].hex(),
            "roster": [{"name": name, "key": key.hex()} for name, key in roster.members],
            "roster_hash": roster.hash().hex(),
            "compensator": {"key": KEY.hex()},
            "results": results,
        }

    def files(self) -> dict[str, bytes]:
        """All that lies in and around the folder, without the state."""
        root = self.data.parent
        found = [path for path in root.rglob("*") if path.is_file() and self.state.path not in path.parents]
        return {str(path.relative_to(root)): path.read_bytes() for path in found}
