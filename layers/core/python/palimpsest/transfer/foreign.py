"""The imports from other services. Memories of mem0 become facts, and events of AgentCore become
sessions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from palimpsest.clock import milliseconds, stamp
from palimpsest.conversations.drafts import Draft
from palimpsest.errors import BadRequest, Conflict, FieldError, Unprocessable
from palimpsest.extraction.ingest import DIVERGED, Ingest
from palimpsest.incoming import read_json
from palimpsest.memory.burials import Buried
from palimpsest.memory.conditions import leaves
from palimpsest.memory.record import MAX_CONTENT, MAX_DATA, MAX_METADATA_TERMS
from palimpsest.memory.remember import MAX_STATEMENTS, Remember
from palimpsest.memory.statements import Statement
from palimpsest.offline.extractor import states
from palimpsest.scope import UserScope, checked_id

MOST_MEMORIES = 3_000  # in one call, which a gateway ends after 30 s
ROLES = {"USER": "user", "ASSISTANT": "assistant"}


@dataclass(frozen=True, slots=True)
class ImportForeign:
    remember: Remember
    ingest: Ingest

    def mem0(self, scope: UserScope, exported: Any) -> dict[str, int]:
        """Store each memory that mem0's `get_all` returned as a fact, valid from its creation on. A
        fact that is already stored stays. A fact that the user has deleted later is left out.
        Returns the counts. Raises `Unprocessable` (`invalid_import`) before anything is stored.
        """
        every = mem0(exported)
        buried = Buried(scope, self.remember.memories.burials(scope), states)
        statements = [
            memory
            for memory in every
            if memory.valid_from is None or not buried.holds(memory.content, at=memory.valid_from)
        ]
        counts = {"restored": 0, "there": 0, "conflicts": 0}
        if len(statements) < len(every):
            counts["deleted"] = len(every) - len(statements)
        for start in range(0, len(statements), MAX_STATEMENTS):
            for outcome in self.remember(scope, statements[start : start + MAX_STATEMENTS]):
                counts["restored" if outcome.outcome == "created" else "there"] += 1
        return counts

    def agentcore(self, scope: UserScope, exported: Any) -> dict[str, int]:
        """Store the conversational events that AgentCore's `ListEvents` returned as the history of
        their sessions, oldest first. Memories are extracted from them. Returns the counts. Raises
        `Unprocessable` (`invalid_import`) before anything is stored.
        """
        counts = {"restored": 0, "there": 0, "conflicts": 0}
        for session, drafts in agentcore(exported).items():
            try:
                done = self.ingest(scope, drafts, session_id=session)
            except Conflict as conflict:
                if conflict.code != DIVERGED:
                    raise
                counts["conflicts"] += 1
            else:
                counts["restored" if done.appended else "there"] += 1
        return counts


def mem0(exported: Any) -> list[Statement]:
    """Return the memories of mem0's export as statements. The export is a list, or has one under
    `results` or `memories`.
    """
    listed = _listed(_parsed(exported), ("results", "memories"))
    if len(listed) > MOST_MEMORIES:
        raise _refused(
            "data", f"has {len(listed)} memories; a call may have at most {MOST_MEMORIES}"
        )
    return [_statement(number, fact) for number, fact in enumerate(listed)]


def _statement(number: int, fact: Any) -> Statement:
    text = _text(fact, "memory") or _text(fact, "text")
    if not text or len(text) > MAX_CONTENT:
        raise _refused(f"data.{number}.memory", f"must be a text of 1 to {MAX_CONTENT} characters")
    categories, created = fact.get("categories") or [], fact.get("created_at")
    if not isinstance(categories, list):
        raise _refused(f"data.{number}.categories", "must be a list")
    return Statement(
        type="fact",
        content=text,
        keywords=tuple(str(name) for name in categories),
        metadata=_metadata(number, fact.get("metadata")),
        valid_from=None
        if created is None
        else milliseconds(_moment(created, f"data.{number}.created_at")),
    )


def _metadata(number: int, metadata: Any) -> Mapping[str, Any]:
    """Return the metadata values that filters can match, without empty ones."""
    held = (
        {name: value for name, value in metadata.items() if value is not None}
        if isinstance(metadata, Mapping)
        else {}
    )
    if sum(1 for _ in leaves(held)) > MAX_METADATA_TERMS or len(json.dumps(held)) > MAX_DATA:
        raise _refused(
            f"data.{number}.metadata",
            f"must have at most {MAX_METADATA_TERMS} values, and {MAX_DATA} bytes",
        )
    return held


def agentcore(exported: Any) -> dict[str, list[Draft]]:
    """Return the messages of AgentCore's events, by session."""
    events = [
        _event(number, event)
        for number, event in enumerate(_listed(_parsed(exported), ("events",)))
    ]
    drafts: dict[str, list[Draft]] = {}
    for session, _, messages in sorted(events, key=lambda event: event[:2]):
        if messages:
            drafts.setdefault(session, []).extend(messages)
    return drafts


def _event(number: int, event: Any) -> tuple[str, tuple[datetime, int], list[Draft]]:
    session = _text(event, "sessionId")
    moment = _moment(
        event.get("eventTimestamp") if isinstance(event, Mapping) else None,
        f"data.{number}.eventTimestamp",
    )
    payload = event.get("payload") or () if isinstance(event, Mapping) else ()
    if not session or not isinstance(payload, Sequence):
        raise _refused(f"data.{number}", "must be an event with sessionId and payload")
    checked_id(session, field=f"data.{number}.sessionId")
    return (
        session,
        (moment, -number),
        list(_drafts(payload, event_id=str(event.get("eventId", "")), moment=moment)),
    )


def _drafts(payload: Iterable[Any], *, event_id: str, moment: datetime) -> Iterator[Draft]:
    for part in payload:
        event = part.get("conversational") if isinstance(part, Mapping) else None
        text = _text(event.get("content"), "text") if isinstance(event, Mapping) else None
        if event and text:
            role = str(event.get("role"))
            metadata = {"event_id": event_id} | ({} if role in ROLES else {"role": role})
            chat = {"role": ROLES.get(role, "assistant"), "content": text}
            yield Draft(chat, timestamp=stamp(moment), metadata=metadata)


def _parsed(exported: Any) -> Any:
    if not isinstance(exported, str):
        return exported
    try:
        return read_json(exported)
    except BadRequest as error:
        raise _refused("data", f"can't be read: {error.detail}") from error


def _listed(exported: Any, names: Sequence[str]) -> Sequence[Any]:
    listed = (
        next((exported[name] for name in names if name in exported), None)
        if isinstance(exported, Mapping)
        else exported
    )
    if not isinstance(listed, list):
        raise _refused("data", f"must be a list, or have one under {' or '.join(names)}")
    return listed


def _text(row: Any, name: str) -> str | None:
    value = row.get(name) if isinstance(row, Mapping) else None
    return value.strip() or None if isinstance(value, str) else None


def _moment(time: Any, field: str) -> datetime:
    try:
        if isinstance(time, int | float):
            return datetime.fromtimestamp(time, UTC)
        moment = datetime.fromisoformat(str(time))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)  # within the years 1 to 9999 there, too
    except (ValueError, OverflowError, OSError) as error:
        raise _refused(field, "must be a time") from error
    return moment


def _refused(field: str, detail: str) -> Unprocessable:
    return Unprocessable(
        f"{field} {detail}.", code="invalid_import", errors=(FieldError(field, detail),)
    )
