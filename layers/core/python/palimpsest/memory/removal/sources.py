"""Hides the words in messages from which deleted memories were made, and answers of any session
that repeat them. Only the sessions of these messages still show the words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.lifecycle import job_on
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.redact import Redact
from palimpsest.conversations.session import Commit, Head
from palimpsest.conversations.spoken import said_at, visible_text
from palimpsest.errors import NotFound
from palimpsest.memory.burials import WHOLE, Burial, Buried, Ranges, States, merged
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Record, Source
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope, UserScope

DELETED = "[deleted]"
"""The text that replaces redacted words."""

AT_ONCE = 40  # most messages of one commit
ANSWERS = 6  # messages after a source that may repeat it
MOST_SESSIONS = 20
"""How many of the user's newest sessions are searched for answers that repeat a deleted memory."""

MOST_SEARCHED = 100  # newest messages of each of these sessions
MOST_SAID_AGAIN = 200  # messages of chunks in which a memory was said again


@dataclass(frozen=True, slots=True)
class Hidden:
    """The messages with newly hidden words, each by session, sequence number and id."""

    messages: tuple[tuple[str, int, str], ...] = ()

    @property
    def message_ids(self) -> tuple[str, ...]:
        return tuple(name for _, _, name in self.messages)

    def __add__(self, other: Hidden) -> Hidden:
        return Hidden(tuple(dict.fromkeys((*self.messages, *other.messages))))


_Marks = Callable[[Head], list[tuple[Message, bool]]]

HidesSources = Callable[[UserScope, Sequence[Record], Sequence[Burial]], Hidden]
"""Hides the words from which removed records were made. Safe to repeat. Raises `Unavailable`."""


def hides_nothing(
    scope: UserScope,  # noqa: ARG001 - as `HidesSources` is called
    removed: Sequence[Record],  # noqa: ARG001
    burials: Sequence[Burial],  # noqa: ARG001
) -> Hidden:
    """Hide nothing. This implements `HidesSources` where no messages are stored."""
    return Hidden()


@dataclass(frozen=True, slots=True)
class HideSources:
    sessions: Sessions
    memories: Memories
    clock: Clock
    states: States

    def __call__(
        self, scope: UserScope, removed: Sequence[Record], burials: Sequence[Burial]
    ) -> Hidden:
        """Hide the words as `HidesSources` describes. `removed` has each record once for every time
        it was said.
        """
        if not burials:
            return Hidden()
        buried, done = Buried(scope, burials, self.states), Hidden()
        for session, quotes in self._sources(scope, removed).items():
            where = scope.owner.session(session)
            of_source = partial(self._marked, where, quotes=quotes, buried=buried)
            done += self._hidden(where, scope, of_source)
        newest = self.sessions.listed(scope.owner, user=scope.user, limit=MOST_SESSIONS, after=None)
        for session in newest.sessions:
            where = scope.owner.session(session)
            done += self._hidden(where, scope, partial(self._repeating, where, buried=buried))
        return done

    def _hidden(self, where: SessionScope, scope: UserScope, marks: _Marks) -> Hidden:
        return until_committed(partial(self._hide, where, scope, marks), clock=self.clock)

    def _sources(
        self, scope: UserScope, removed: Sequence[Record]
    ) -> Mapping[str, Mapping[int, tuple[str, ...]]]:
        """Return the quotes of each source message, by session and sequence number. A message that
        may only repeat a record has no quotes.
        """
        quotes: dict[str, dict[int, tuple[str, ...]]] = defaultdict(dict)
        for record in removed:
            for session in record.also:
                lines = self.memories.lines(scope, session, first=0, last=WHOLE)
                for line in lines:
                    if record.id in line.records:
                        seqs = range(line.first, line.last + 1)[:MOST_SAID_AGAIN]
                        quotes[session] = {**dict.fromkeys(seqs, ()), **quotes[session]}
            _add(quotes, record.source)
        return quotes

    def _hide(self, where: SessionScope, scope: UserScope, marks: _Marks) -> Hidden:
        """Mark messages of one session. Raises `CommitLost`."""
        head = self.sessions.open(where).head
        now = seconds(self.clock.now())
        if head is None or head.is_gone(now) or head.user != scope.user:
            return Hidden()
        marked = marks(head)
        changed = [message for message, is_new in marked if is_new]
        for start in range(0, len(changed), AT_ONCE):
            part = changed[start : start + AT_ONCE]
            after = replace(head, version=head.version + 1, redactions=head.redactions + 1)
            job = job_on(
                after,
                where,
                kind="take_back",
                first=part[0].seq,
                last=part[-1].seq,
                now=now,
                payload=RemovalPayload(),
            )
            self.sessions.commit(
                where, Commit(before=head, after=after, marked=tuple(part), jobs=(job,))
            )
            head = after
        return Hidden(tuple((where.session, message.seq, message.id) for message, _ in marked))

    def _repeating(
        self, where: SessionScope, head: Head, *, buried: Buried
    ) -> list[tuple[Message, bool]]:
        """Return the newest messages of an assistant that repeat a deleted memory, with their
        marks. Each has the information whether its marks are new.
        """
        first = max(head.base + 1, head.seq - MOST_SEARCHED + 1)
        done = []
        for message in self.sessions.messages(where, first=first, last=head.seq):
            if message.role != "assistant" or message.is_outside or head.is_withdrawn(message.seq):
                continue
            at = milliseconds(said_at(message))
            ranges = buried.said_to_the_user(text_of(message.chat), at=at)
            if ranges:
                marked = replace(message, hidden=merged(message.hidden, ranges))
                done.append((marked, marked != message))
        return done

    def _marked(
        self,
        where: SessionScope,
        head: Head,
        *,
        quotes: Mapping[int, tuple[str, ...]],
        buried: Buried,
    ) -> list[tuple[Message, bool]]:
        """Return the messages with their marks, each with the information whether its marks are
        new.
        """
        wanted = sorted({seq + n for seq in quotes for n in range(ANSWERS + 1)})
        there = {
            message.seq: message
            for start in range(0, len(wanted), 100)
            for message in self.sessions.messages_at(where, wanted[start : start + 100])
            if head.base < message.seq <= head.seq and not head.is_withdrawn(message.seq)
        }
        hidden: dict[int, Ranges] = defaultdict(tuple)
        for seq, texts in quotes.items():
            message = there.get(seq)
            if message is None or message.is_outside:
                continue
            ranges = _ranges(message, texts, buried)
            if not ranges:
                continue
            hidden[seq] = merged(hidden[seq], ranges)
            for answer in _answers(there, seq):
                hidden[answer.seq] = merged(hidden[answer.seq], buried.echoes(text_of(answer.chat)))
        marked = [
            replace(there[seq], hidden=merged(there[seq].hidden, ranges))
            for seq, ranges in sorted(hidden.items())
            if ranges
        ]
        return [(message, message != there[message.seq]) for message in marked]


@dataclass(frozen=True, slots=True)
class RedactSources:
    """Redacts hidden words."""

    sessions: Sessions
    redact: Redact

    def __call__(self, scope: UserScope, hidden: Hidden) -> Sequence[str]:
        """Replace the words in their messages. Return the ids of the jobs that remove all other
        things that were made from these messages. Raises `Unavailable`.
        """
        jobs: list[str] = []
        for session, seq, _ in hidden.messages:
            where = scope.owner.session(session)
            for message in self.sessions.messages_at(where, [seq]):
                text = visible_text(message, gap=DELETED).strip()
                # Deleted or withdrawn meanwhile.
                with suppress(NotFound):
                    _, job = self.redact(where, seq, content=text or DELETED)
                    jobs.append(job)
        return jobs


def _add(quotes: dict[str, dict[int, tuple[str, ...]]], source: Source) -> None:
    if source.session is None:
        return
    for seq in source.seqs:
        before = quotes[source.session].get(seq, ())
        quotes[source.session][seq] = (*before, source.quote or "")


def _ranges(message: Message, quotes: Sequence[str], buried: Buried) -> Ranges:
    """Return the ranges to hide in a source message. These are the sentences from which the memory
    was made, or the whole message if none can be identified. In a message that only may be a
    source, only identified sentences are hidden.
    """
    # The item of a large message lacks a part of its text, so its sentences can't be found there.
    if message.large is not None and quotes:
        return ((0, WHOLE),)
    ranges = buried.ranges(text_of(message.chat), quotes=quotes)
    return ranges or (((0, WHOLE),) if quotes else ())


def _answers(there: Mapping[int, Message], seq: int) -> Sequence[Message]:
    """Return the messages that answer this message, up to the next message of a user."""
    answers: list[Message] = []
    for number in range(seq + 1, seq + ANSWERS + 1):
        message = there.get(number)
        if message is None or message.role == "user":
            break
        answers.append(message)
    return answers
