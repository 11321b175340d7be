"""Counts how often a known statement was changed in long conversations although it was still true.
Hardly any message of such a conversation changes something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from unittest.mock import patch

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.extraction.reconciling import weighing
from palimpsest.scope import Scope, UserScope
from palimpsest_local.in_process import in_process
from pydantic import TypeAdapter

from benchmarks.report import Cell, Table
from benchmarks.retrieval.labelled.dataset import LONG_TALKS, load
from benchmarks.retrieval.labelled.form import Conversation, Session
from benchmarks.truth.versions import versions

SCOPE = Scope("truth")
USER = UserScope(SCOPE.tenant, "speaker")
SPOKEN = frozenset({"user", "assistant"})
RIGHT_CHANGES = Path(__file__).parent / "right_changes.json"


@dataclass(frozen=True, slots=True)
class Change:
    """A known statement that was replaced or ended in a session. `by` is its new version."""

    session: str
    statement: str
    has_ended: bool
    by: str | None = None


@dataclass(frozen=True, slots=True)
class RightChange:
    """A change that a reader of the conversation found right: the session that made it, and words
    of the statement that was changed.
    """

    session: str
    says: str


@dataclass(frozen=True, slots=True)
class Counted:
    """The changes in a conversation, and the number of messages of its user."""

    messages: int
    wrong: tuple[Change, ...]
    right: tuple[Change, ...]


def conversations(*, is_odd: bool) -> Iterator[Conversation]:
    """Every second conversation of our labelled sets. The learned relation is trained on the even
    ones alone.
    """
    for path in LONG_TALKS:
        for number, talk in enumerate(load(path).conversations):
            if is_odd == bool(number % 2):
                yield talk


def counted(talk: Conversation) -> Counted:
    """Run a conversation through the service without a model, and count its changes."""
    made, right = changes(talk), right_changes()
    messages = chain.from_iterable(session.messages for session in talk.sessions)
    return Counted(
        sum(message.role == "user" and bool(message.content) for message in messages),
        tuple(change for change in made if not _is_right(change, right)),
        tuple(change for change in made if _is_right(change, right)),
    )


def _is_right(change: Change, right: Sequence[RightChange]) -> bool:
    return any(
        expected.session == change.session and expected.says in change.statement
        for expected in right
    )


def right_changes() -> Sequence[RightChange]:
    read = TypeAdapter(list[RightChange]).validate_json
    return read(RIGHT_CHANGES.read_bytes())


def changes(talk: Conversation) -> list[Change]:
    """Return the changes of known statements in a conversation, in the order of its sessions."""
    clock = FakeClock(talk.sessions[0].messages[0].timestamp)
    service = in_process(SCOPE, memory={}, clock=clock)
    made, seen = list[Change](), set[str]()
    for session in talk.sessions:
        clock.advance(max(0.0, (session.messages[0].timestamp - clock.now()).total_seconds()))
        request = AppendRequest.model_validate({"user_id": USER.user, "messages": _spoken(session)})
        service.service.append(
            SCOPE.session(session.id), request.messages, user=request.user_id, extract="now"
        )
        service.work()
        superseded = [
            version
            for version in versions(service.service, USER, superseded=True)
            if version.record.id not in seen
        ]
        seen.update(version.record.id for version in superseded)
        every = (
            *superseded,
            *(versions(service.service, USER, superseded=False) if superseded else ()),
        )
        contents = {version.record.id: version.record.content for version in every}
        for version in superseded:
            by = contents.get(version.superseded_by or "")
            made.append(Change(session.id, version.record.content, version.has_ended, by))
    return made


def _spoken(session: Session) -> list[dict[str, str]]:
    return [
        {
            "role": message.role,
            "content": message.content,
            "timestamp": message.timestamp.isoformat(),
            **({"name": message.name} if message.name else {}),
        }
        for message in session.messages
        if message.role in SPOKEN and message.content
    ]


@contextmanager
def rules_alone() -> Iterator[None]:
    """Let only rules relate statements during this block, without the learned weights."""
    with patch.object(weighing, "related", return_value=None):
        yield


def table() -> Table:
    """Return the changes of all conversations, by whether the learned relation was
    trained on them.
    """
    rows: list[list[Cell]] = []
    for name, is_odd in (("not in the training", True), ("in the training", False)):
        talks = list(conversations(is_odd=is_odd))
        rows.append([name, "rules and the relation", *_cells(map(counted, talks))])
        with rules_alone():
            rows.append([name, "rules alone", *_cells(map(counted, talks))])
    return Table(
        "Truth, without a model: what long conversations change",
        ("conversations", "by", "messages", "right", "wrong", "wrong per 1,000 messages"),
        rows,
        ("Changes count as wrong unless a reader found them right (`right_changes.json`).",),
    )


def _cells(talks: Iterable[Counted]) -> list[Cell]:
    every = list(talks)
    messages = sum(talk.messages for talk in every)
    wrong = sum(len(talk.wrong) for talk in every)
    right = sum(len(talk.right) for talk in every)
    return [messages, right, wrong, round(1_000 * wrong / messages, 1)]
