"""Masks the secrets of messages that an import stores, where the tenant's setting says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.conversations.shared import masked_chat, without_secrets
from palimpsest.memory.burials import WHOLE
from palimpsest.privacy.secrets import masked
from palimpsest.transfer.lines import Row, read


def holds_a_secret(row: Row) -> bool:
    """Whether the row is a message with a secret."""
    if row["kind"] != "message":
        return False
    message = read(Message, row)
    return without_secrets(message) is not message


def masked_session(
    head: Head,
    settings: Settings,
    messages: Sequence[Message],
    compactions: Sequence[Compaction],
    *,
    now: str,
) -> tuple[Head, Settings, list[Message], list[Compaction]]:
    """The session without its secrets, with masks in their places. A message that loses one keeps
    its id, as if it was redacted `now` (RFC 3339). Where words of it are hidden, all of it is then:
    the places of the words have changed.
    """
    shown = [_masked(message, now=now) for message in messages]
    changed = [
        after
        for before, after in zip(messages, shown, strict=True)
        if after is not before and before.redacted_at is None
    ]
    system = None if settings.system is None else masked_chat(settings.system)
    summaries = [
        replace(each, summary=each.summary and masked(each.summary)) for each in compactions
    ]
    head = replace(head, redactions=head.redactions + len(changed))
    return head, replace(settings, system=system), shown, summaries


def _masked(message: Message, *, now: str) -> Message:
    shown = without_secrets(message)
    if shown is message:
        return message
    hidden = ((0, WHOLE),) if message.hidden else ()
    return replace(shown, redacted_at=message.redacted_at or now, hidden=hidden)
