"""The masking of secrets in the messages that an import stores, if the tenant's settings require
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.conversations.message import Message
from palimpsest.conversations.secrets import masked_chat, masked_fields, without_secrets
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.memory.burials import WHOLE
from palimpsest.privacy.secrets import masked
from palimpsest.transfer.lines import Row, read


def holds_a_secret(row: Row) -> bool:
    """Return whether the row is a message with a secret."""
    if row["kind"] != "message":
        return False
    message = read(Message, row)
    return _without_secrets(message) is not message


def masked_session(
    head: Head,
    settings: Settings,
    messages: Sequence[Message],
    compactions: Sequence[Compaction],
    *,
    now: str,
) -> tuple[Head, Settings, list[Message], list[Compaction]]:
    """Return the session with masks in place of its secrets. A message that had a secret keeps its
    id and counts as redacted at the time `now` (RFC 3339). If some of its words were hidden, all of
    its text is hidden, because the positions of the words have changed.
    """
    shown = [_masked(message, now=now) for message in messages]
    changed = [
        after
        for before, after in zip(messages, shown, strict=True)
        if after is not before and before.redacted_at is None
    ]
    system = None if settings.system is None else masked_chat(settings.system)
    summaries = [
        replace(compaction, summary=compaction.summary and masked(compaction.summary))
        for compaction in compactions
    ]
    head = replace(head, redactions=head.redactions + len(changed))
    return head, replace(settings, system=system), shown, summaries


def _masked(message: Message, *, now: str) -> Message:
    shown = _without_secrets(message)
    if shown is message:
        return message
    hidden = ((0, WHOLE),) if message.hidden else ()
    return replace(shown, redacted_at=message.redacted_at or now, hidden=hidden)


def _without_secrets(message: Message) -> Message:
    metadata = masked_fields(message.metadata)
    shown = without_secrets(message)
    return shown if metadata == message.metadata else replace(shown, metadata=metadata)
