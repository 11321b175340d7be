"""Makes the records for statements, before `decisions` decides which of them are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palimpsest.memory.decisions import Lifetime
from palimpsest.memory.ports import Pointer
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement, drafted, placed
from palimpsest.scope import UserScope


def joining(scope: UserScope, statement: Statement, draft: Record, pointer: Pointer) -> Record:
    """Return the draft as the newest version of a topic, because its stored record joined that
    topic after the statement was first made.
    """
    arrival = max(draft.valid_from, pointer.order[0] + 1)
    valid_from = arrival if statement.valid_from is None else draft.valid_from
    return placed(
        draft, tenant=scope.tenant, user=scope.user, topic=pointer.topic_key, valid_from=valid_from
    )


def drafts_of(
    scope: UserScope,
    statements: Sequence[Statement],
    pointers: Mapping[str, Pointer],
    *,
    now: int,
    lifetime: Lifetime,
) -> list[Record]:
    """Return the records for the statements. A statement without a time is valid from its arrival,
    and comes after everything in its topic. That is so even if the newest version arrived in the
    same millisecond, or at a server whose clock is ahead.
    """
    latest = {key: pointer.order[0] for key, pointer in pointers.items()}
    drafts = []
    for rank, statement in enumerate(statements):
        key = statement.topic_key or ""
        moment = now if statement.valid_from is not None else max(now, latest.get(key, 0) + 1)
        draft = drafted(
            statement,
            tenant=scope.tenant,
            user=scope.user,
            now=moment,
            lifetime=lifetime(statement.type),
            rank=rank,
        )
        if draft.topic_key is not None:
            latest[key] = max(latest.get(key, 0), draft.valid_from)
        drafts.append(draft)
    return drafts
