"""Codes of this cohort's words, where nobody has listed the dictionary (`unpooled.protocol.codes`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.described.what_leaves import CODES, TO_SERVER_AND_COMPENSATOR, Form
from unpooled.errors import ProtocolError
from unpooled.methods.tables.encoding.coding import as_codes, blinding, unblinded, with_codes
from unpooled.methods.tables.encoding.options import OWN, SPELLED
from unpooled.plan.plan import Plan
from unpooled.protocol import messages
from unpooled.protocol.codes import checked
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import SigningKey
from unpooled_client.state.events import Sent, StepProgress
from unpooled_client.state.files import write_atomically
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.session import Session
from unpooled_client.study.trust import Distrust, Terms


def _file(folder: StateFolder, column: int) -> Path:
    return folder.path / f"codes-{column}"


def _keep(folder: StateFolder, codes: Mapping[int, np.ndarray]) -> None:
    """The codes outlast the keys: these are deleted when a study ends, before its results are delivered."""
    for column, of_column in codes.items():
        write_atomically(_file(folder, column), of_column.astype("<u8").tobytes(), private=True)


def with_kept_codes(folder: StateFolder, table: ArrayTable, plan: Plan) -> ArrayTable:
    """The table with the codes that were kept of its words."""
    codes = {column: np.frombuffer(_file(folder, column).read_bytes(), "<u8") for column in plan.searched}
    return with_codes(table, codes)


def as_in_dictionary(folder: StateFolder, table: ArrayTable, plan: Plan) -> ArrayTable:
    """The table as the dictionary has its words: by their codes, if it has only those."""
    if not plan.searched or SPELLED.of(plan) != OWN:
        return table
    return as_codes(with_kept_codes(folder, table, plan), plan)


@dataclass
class Coding:
    """Has the words of each searched column coded, once, when they are first asked about.

    The points are made from a seed of this cohort's own: after a restart they are the same, and so are the
    codes. A server that is sent others would have to answer for two sets of words.
    """

    session: Session
    terms: Terms
    seed: bytes = field(repr=False)
    """Seed of the masks. The compensator has it too, and shows by it that an answer is its own."""
    own: bytes = field(repr=False)
    sent: Callable[[Sent], None]
    """Is told of each column's points that went out."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    found: ArrayTable | None = None

    def coded(self, table: ArrayTable, keys: bytes) -> ArrayTable:
        """The table with its words' codes. Several questions may come at once: the first has them made.

        `keys` are the study's public ones, with which the witness has opened.
        """
        with self.lock:
            if self.found is None:
                codes = {column: self._codes(table, column, keys) for column in self.terms.plan.searched}
                _keep(self.session.folder, codes)
                self.found = with_codes(table, codes)
            return self.found

    def _codes(self, table: ArrayTable, column: int, keys: bytes) -> np.ndarray:
        plan = self.terms.plan
        own = blinding(table, plan, column, self.terms.study, self.own)
        title, place = plan.dictionaries[column].title, plan.schema.index(plan.dictionaries[column])
        points = own.points(self._progress(f"Words of {title}: blind", own.most))
        about = messages.signed_points(self.terms.purpose, place, points)
        signature = SigningKey(self.session.saved.signing_key).sign(about)
        self.sent(self.session.record(f"{CODES}: {title}", points, Form.MASKED, TO_SERVER_AND_COMPENSATOR))
        self._progress(f"Words of {title}: wait for server and compensator", own.most)(0)
        answered = self.session.api.put_codes(place, points, signature)
        self._progress(f"Words of {title}: check the answer", own.most)(0)
        try:
            multiplied = checked(self.seed, keys, about, points, answered)
            return unblinded(own, multiplied, self._progress(f"Words of {title}: unblind", len(own.words)))
        except ProtocolError as error:
            raise Distrust(
                Problem.QUESTION,
                f"the codes of {title} are none: {error}.",
                "Nothing more was sent. Tell the operators of server and compensator.",
            ) from error

    def _progress(self, title: str, total: int) -> Callable[[int], None]:
        """Tells how many of so many words a step has done, and how long the others take at that pace."""
        began = time.monotonic()

        def report(done: int) -> None:
            left = (time.monotonic() - began) * (total - done) / done if done else None
            self.session.tell(StepProgress(title, done, total, "words", 1, left=left))

        return report
