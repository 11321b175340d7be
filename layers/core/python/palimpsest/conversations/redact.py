"""The redaction of a message in place. Its text is replaced, and summaries and memories made from
the old text are removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.history import live, no_message
from palimpsest.conversations.lifecycle import job_on, touched, without_overflow
from palimpsest.conversations.message import ITEM, OFF_RECORD, SYSTEM_ROLES, UNSHOWN_ROLES, Message
from palimpsest.conversations.overflow.reopen import reopened
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head, Settings
from palimpsest.conversations.spoken import unlike_a_summary
from palimpsest.conversations.weight import weigh
from palimpsest.models.ports import TokenCounter
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope
from palimpsest.text.cutting import Count

_UNSAID = ("role", "name", "tool_call_id")  # fields of a message that hold none of its text


@dataclass(frozen=True, slots=True)
class Redact:
    sessions: Sessions
    tokens: TokenCounter
    clock: Clock

    def __call__(
        self,
        scope: SessionScope,
        seq: int,
        *,
        content: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> tuple[Head, str]:
        """Replace the content of message `seq`, and its metadata if any is given. Its place, role
        and id stay. Returns the new head, and the id of the job that removes summaries and memories
        made from the old text.

        From now on no read shows the old text, except a summary of it in the list of compactions
        until the job has ended. If the window's summary covers the message, the summary before it
        replaces it at once. The messages after that earlier summary return to the window, and are
        folded again later. A pending overflow is dropped, so that no result made from the old text
        can be stored. Raises `NotFound` (`session_not_found`, `message_not_found`), `TooLarge`,
        `Unavailable`.
        """
        return until_committed(
            lambda: self._attempt(scope, seq, content, metadata), clock=self.clock
        )

    def _attempt(
        self, scope: SessionScope, seq: int, content: str, metadata: Mapping[str, Any] | None
    ) -> tuple[Head, str]:
        now = self.clock.now()
        before, settings = live(self.sessions.open(scope, settings=True), now=now)
        is_here = before.base < seq <= before.seq and not before.is_withdrawn(seq)
        messages = self.sessions.messages_at(scope, [seq]) if is_here else ()
        if not messages:
            raise no_message("seq")
        old = messages[0]
        count = partial(self.tokens.count, encoding=old.encoding)
        new = redacted(old, content=content, metadata=metadata, now=stamp(now), count=count)
        head = reopened(self.sessions, scope, before, seq=seq)
        head, settings = _with(head, settings, old, new)
        after = touched(without_overflow(head), now=now)
        job = job_on(after, scope, kind="redact", first=seq, last=seq, now=seconds(now))
        is_system = settings.system_seq == seq
        commit = Commit(
            before=before,
            after=after,
            redacted=new,
            settings=settings if is_system else None,
            jobs=(job,),
        )
        self.sessions.commit(scope, commit)
        return after, job.id


def _with(head: Head, settings: Settings, old: Message, new: Message) -> tuple[Head, Settings]:
    """Return the head and the settings after a redaction: the weight of the new message replaces
    that of the old one.
    """
    more = new.tokens - old.tokens
    is_in_window = old.seq >= head.window_start and old.role not in UNSHOWN_ROLES
    pins = dict(head.pins)
    if old.seq in pins:
        pins[old.seq] = new.tokens
    head = replace(
        head,
        pins=tuple(pins.items()),
        window_tokens=head.window_tokens + (more if is_in_window else 0),
        total_tokens=head.total_tokens + more,
        redactions=head.redactions + 1,
    )
    if old.role in SYSTEM_ROLES and settings.system_seq == old.seq:
        head = replace(head, system_tokens=new.tokens)
        settings = replace(settings, system=new.chat)
    return head, settings


def redacted(
    message: Message, *, content: str, metadata: Mapping[str, Any] | None, now: str, count: Count
) -> Message:
    """Return the message with another text. Its refusal, unknown fields and arguments of calls are
    removed. Of an item, only the type remains. If `metadata` is None, the old metadata stay.
    """
    chat: dict[str, Any] = {name: message.chat[name] for name in _UNSAID if name in message.chat}
    if message.role == ITEM:
        chat["item"] = {"type": str(message.chat["item"].get("type", ITEM)), "text": content}
    else:
        chat["content"] = unlike_a_summary(content)
    if "tool_calls" in message.chat:
        chat["tool_calls"] = [_without_arguments(call) for call in message.chat["tool_calls"]]
    extra = {OFF_RECORD: True} if message.is_off_record else {}
    return replace(
        message,
        chat=chat,
        extra=extra,
        tokens=weigh(chat, count),
        metadata=message.metadata if metadata is None else metadata,
        large=None,
        redacted_at=now,
        hidden=(),
    )


def _without_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(call.get("type", "function"))
    inner = call.get(kind) or {}
    return {**call, kind: {**inner, **({"input": ""} if "input" in inner else {"arguments": "{}"})}}
