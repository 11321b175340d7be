"""Reads the found records and messages from their tables, and keeps only memories that are true
now, or at the moment that the request names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from palimpsest import parallel
from palimpsest.clock import milliseconds, seconds
from palimpsest.conversations.message import SPOKEN_ROLES, Message, message_key, message_of, text_of
from palimpsest.conversations.ports import PartOfSession, Sessions
from palimpsest.conversations.session import Head
from palimpsest.conversations.spoken import said_at, spoken_text
from palimpsest.memory.as_line import is_long_past, when
from palimpsest.memory.ended_on import EndTime
from palimpsest.memory.names import is_own_name
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.record import Record, Source
from palimpsest.memory.resting import changed_grounds
from palimpsest.memory.user_names import names_of
from palimpsest.memory.versions import as_of
from palimpsest.recall.found import Candidate, FoundMemory, Scores, words_of
from palimpsest.recall.question import Query, RecallRequest, coverage, excerpt
from palimpsest.recall.refine import Seen
from palimpsest.scope import UserScope
from palimpsest.text.analyser import term_set
from palimpsest.text.salience import own_words
from palimpsest.text.sentences import says

PAGE = 100  # keys that one read takes
MAX_SHOWN = 4_000  # characters of a message that a result shows
Held = tuple[Record, Scores]
Ends = Mapping[str, EndTime]
"""When records ended without a new value, by id."""

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class RecallRun:
    """A recall in progress: the user, the question, the request, the messages that the asking
    session has `seen`, and the raw `scores` of each found key, by retriever. With `reads_before`,
    the message right before each found message is read too. With `reads_uses`, the uses of records
    are read too.
    """

    scope: UserScope
    query: Query
    request: RecallRequest
    scores: Mapping[str, Scores]
    now: datetime
    seen: Seen = field(default_factory=Seen)
    reads_before: bool = False
    reads_uses: bool = True

    @property
    def moment(self) -> int:
        """The moment at which results must be true, in epoch milliseconds: `as_of`, else
        `known_at`, else now.
        """
        moments = (self.request.as_of, self.request.known_at)
        return next((moment for moment in moments if moment is not None), milliseconds(self.now))


@dataclass(slots=True)
class ReadResult:
    """The memories that may be shown. `dropped` gives the reason for every other candidate, by its
    key.
    """

    memories: list[FoundMemory] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)

    def join(self, others: Iterable[ReadResult]) -> ReadResult:
        for other in others:
            self.memories += other.memories
            self.dropped |= other.dropped
        return self


def read_all(run: RecallRun, memories: Memories, sessions: Sessions) -> ReadResult:
    """Read records and messages at the same time. Raises `Unavailable` if a read fails, so a
    failure never looks like an empty result.
    """
    messages = [key for key in run.scores if message_of(key) is not None]
    records = [key for key in run.scores if message_of(key) is None]
    read = parallel.run_both(
        lambda: _RecordReader(memories, sessions)(run, records),
        lambda: _read_messages(run, messages, sessions),
    )
    every = ReadResult().join(read)
    every.memories = _with_names(every.memories, memories, run.scope)
    return every


def _with_names(
    messages: list[FoundMemory], memories: Memories, scope: UserScope
) -> list[FoundMemory]:
    """Return the found messages. A message under a name of the user counts as the user's own. The
    user's names are read only if a message has a name.
    """
    if not any(message.name for message in messages):
        return messages
    names = names_of(memories, scope).all
    return [
        replace(message, name=None)
        if message.name and is_own_name(message.name, user=scope.user, names=names)
        else message
        for message in messages
    ]


def _name_of(message: Message) -> str | None:
    name = message.chat.get("name")
    return str(name) if name and message.role == "user" else None


@dataclass(frozen=True, slots=True)
class _RecordReader:
    memories: Memories
    sessions: Sessions

    def __call__(self, run: RecallRun, ids: Sequence[str]) -> ReadResult:
        used = parallel.begin(partial(self._uses, run.scope, ids if run.reads_uses else ()))
        stored = [
            record for page in _pages(ids) for record in self.memories.records(run.scope, page)
        ]
        pointers = self._pointers(run.scope, stored)
        read = ReadResult(
            dropped=dict.fromkeys(set(ids) - {record.id for record in stored}, "missing")
        )
        held: list[Held] = []
        if run.request.looks_back:
            held += self._held_then(run, stored, pointers)
        else:
            last = {pointer.record or pointer.ended for pointer in pointers.values()}
            held += ((r, run.scores[r.id]) for r in stored if r.topic_key is None or r.id in last)
            read.dropped |= {
                r.id: "not_current" for r in stored if r.topic_key is not None and r.id not in last
            }
        reasons = {record.id: _reason_against_record(record, run) for record, _ in held}
        read.dropped |= {name: reason for name, reason in reasons.items() if reason is not None}
        kept = [(record, scores) for record, scores in held if reasons[record.id] is None]
        # Uses are not yet read for versions that no search found, but that their topic's chain
        # named.
        earlier = [
            record.id for record, _ in kept if run.reads_uses and record.id not in run.scores
        ]
        uses = used.result() | self._uses(run.scope, earlier)
        read.memories = self._found(run, kept, uses=uses, ends=_ends(run, pointers.values()))
        return read

    def _pointers(self, scope: UserScope, records: Iterable[Record]) -> dict[str, Pointer]:
        pointers: dict[str, Pointer] = {}
        for page in _pages(sorted({record.topic_key for record in records if record.topic_key})):
            pointers |= self.memories.pointers(scope, page)
        return pointers

    def _held_then(
        self, run: RecallRun, stored: Sequence[Record], pointers: Mapping[str, Pointer]
    ) -> Iterator[Held]:
        """Return, for each topic, the version that was valid at the moment, or the last version if
        the topic had ended. Each comes with the scores of all found versions of its topic.
        """
        yield from (
            (record, run.scores[record.id]) for record in stored if record.topic_key is None
        )
        chains = parallel.run_each(
            lambda topic: self.memories.versions(run.scope, topic), list(pointers)
        )
        for (topic, pointer), versions in zip(pointers.items(), chains, strict=True):
            # A topic without a current or ended record has lost its newest version by a deletion.
            retracted = None if pointer.record or pointer.ended else pointer.order[0]
            version = as_of(
                versions, moment=run.moment, known_at=run.request.known_at, retracted=retracted
            )
            if version is not None:
                version_scores = [
                    run.scores[record.id] for record in stored if record.topic_key == topic
                ]
                yield (
                    version,
                    {name: score for scores in version_scores for name, score in scores.items()},
                )

    def _uses(self, scope: UserScope, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        uses: dict[str, tuple[int, int]] = {}
        for page in _pages(ids):
            uses |= self.memories.uses(scope, page)
        return uses

    def _found(
        self,
        run: RecallRun,
        held: Sequence[Held],
        *,
        uses: Mapping[str, tuple[int, int]],
        ends: Ends,
    ) -> list[FoundMemory]:
        over = self._ended_sessions(run, [record for record, _ in held])
        changed = changed_grounds(self.memories, run.scope, [record for record, _ in held])
        return [
            _found_record(
                record,
                scores,
                run,
                uses=uses.get(record.id, (0, 0)),
                is_over=record.source.session in over,
                has_changed=record.id in changed,
                end=ends.get(record.id),
            )
            for record, scores in held
        ]

    def _ended_sessions(self, run: RecallRun, records: Iterable[Record]) -> frozenset[str]:
        """Return the sessions of these tasks that have ended or were removed."""
        names = sorted(
            {r.source.session for r in records if r.type == "task" and r.source.session is not None}
        )
        heads = parallel.run_each(
            lambda name: self.sessions.open(run.scope.owner.session(name)).head, names
        )
        now = seconds(run.now)
        return frozenset(
            name
            for name, head in zip(names, heads, strict=True)
            if head is None or head.status != "active" or head.is_gone(now)
        )


def _found_record(
    record: Record,
    scores: Scores,
    run: RecallRun,
    *,
    uses: tuple[int, int],
    is_over: bool,
    has_changed: bool,
    end: EndTime | None,
) -> FoundMemory:
    """Return a found record. `uses` is how often the record was used, and when last (epoch
    seconds). `is_over` is true if its session has ended, `has_changed` if a record that it rests on
    has changed. `end` is when it ended, None if it has not.
    """
    ended_at = end.at if end else None
    words = term_set(words_of(record))
    candidate = Candidate(
        key=record.id,
        scores=scores,
        said_at=record.valid_from,
        coverage=coverage(run.query.words, words),
        words=len(words),
        own_words=own_words(record.content),
        importance=record.importance,
        uses=uses[0],
        used_at=uses[1] * 1000,
        by_words=record.type == "task",
        is_over=(record.type == "task" and is_over)
        or has_changed
        or ended_at is not None
        or is_long_past(record, now=_day_of(run)),
        neighbours=_messages_of(record.source),
        opinions=record.opinions,
    )
    return FoundMemory(
        id=record.id,
        type=record.type,
        content=record.content,
        source=record.source,
        valid_from=record.valid_from,
        record=record,
        candidate=candidate,
        when=when(record, now=_day_of(run), ended=end.day if end else None),
        rests_on_changed=has_changed,
        ended_at=ended_at,
    )


def _ends(run: RecallRun, pointers: Iterable[Pointer]) -> Ends:
    """Return the ends of the records that had ended by the moment of the recall, as far as was
    known then.
    """
    known_at = run.request.known_at
    known = (pointer for pointer in pointers if known_at is None or pointer.order[0] <= known_at)
    return {
        pointer.ended: pointer.end
        for pointer in known
        if pointer.ended and pointer.end and pointer.end.at <= run.moment
    }


def _day_of(run: RecallRun) -> datetime:
    return datetime.fromtimestamp(run.moment / 1000, UTC)


def _messages_of(source: Source) -> tuple[str, ...]:
    """Return the keys of the messages that a record was taken from."""
    return tuple(message_key(source.session, seq) for seq in source.seqs) if source.session else ()


def _reason_against_record(record: Record, run: RecallRun) -> str | None:
    """Return why a record is not shown; None if it is shown."""
    wanted, request = run.request.filter, run.request
    if record.expires_at is not None and record.expires_at <= seconds(run.now):
        return "expired"
    if request.looks_back and (
        record.valid_from > run.moment
        or (request.known_at is not None and record.created_at > request.known_at)
    ):
        return "not_yet"
    if run.seen.holds(record.source):
        return "in_window"
    return None if wanted.matches(record) else "filtered"


def _read_messages(run: RecallRun, keys: Sequence[str], sessions: Sessions) -> ReadResult:
    by_session: dict[str, dict[int, str]] = defaultdict(dict)
    for key in keys:
        session, seq = message_of(key) or ("", 0)
        by_session[session][seq] = key
    if not by_session:
        return ReadResult()
    wanted = {session: _wanted(run, seqs) for session, seqs in by_session.items()}
    parts = sessions.parts(run.scope, wanted).sessions
    return ReadResult().join(
        _of_session(run, session, seqs, parts[session]) for session, seqs in by_session.items()
    )


def _wanted(run: RecallRun, seqs: Collection[int]) -> frozenset[int]:
    before = {seq - 1 for seq in seqs if seq > 1} if run.reads_before else set()
    return frozenset(seqs) | before


def _of_session(
    run: RecallRun, session: str, keys: Mapping[int, str], part: PartOfSession
) -> ReadResult:
    messages, head = part.messages, part.head
    if head is None or head.is_gone(seconds(run.now)):
        return ReadResult(dropped=dict.fromkeys(keys.values(), "missing"))
    # The index follows the tables later. Meanwhile another user may have begun a session with this
    # id.
    if head.user != run.scope.user:
        return ReadResult(dropped=dict.fromkeys(keys.values(), "foreign"))
    read = ReadResult()
    for seq, key in keys.items():
        message = messages.get(seq)
        if message is None or not (text := spoken_text(message)):
            read.dropped[key] = "missing"
        elif (reason := _reason_against_message(message, head, run, session=session)) is not None:
            read.dropped[key] = reason
        # The same question, asked before, resembles this one most and answers nothing.
        elif message.role == "user" and run.seen.asks(text):
            read.dropped[key] = "question"
        else:
            before = _said_before(messages.get(seq - 1), head) if run.reads_before else ""
            read.memories.append(_found_message(message, text, run, session=session, before=before))
    return read


def _said_before(message: Message | None, head: Head) -> str:
    if (
        message is None
        or message.role not in SPOKEN_ROLES
        or message.seq <= head.base
        or head.is_withdrawn(message.seq)
    ):
        return ""
    return spoken_text(message)


def _reason_against_message(
    message: Message, head: Head, run: RecallRun, *, session: str
) -> str | None:
    """Return why a message is not shown; None if it is shown."""
    if message.seq <= head.base or head.is_withdrawn(message.seq):
        return "missing"
    wanted = run.request.filter
    when = milliseconds(said_at(message))
    known_at = run.request.known_at
    is_known = (
        known_at is None or milliseconds(datetime.fromisoformat(message.created_at)) <= known_at
    )
    if run.request.looks_back and (when > run.moment or not is_known):
        return "not_yet"
    if run.seen.holds(Source(session, seqs=(message.seq,))):
        return "in_window"
    passes = wanted.matches_message(
        session=session, agent=head.agent, created_at=when, metadata=message.metadata
    )
    return None if passes else "filtered"


def _found_message(
    message: Message, text: str, run: RecallRun, *, session: str, before: str
) -> FoundMemory:
    key = message_key(session, message.seq)
    when = milliseconds(said_at(message))
    words = term_set(text)
    has_text = bool(text_of(message.chat).strip())  # a message of tool calls alone states nothing
    return FoundMemory(
        id=message.id,
        type="message",
        content=excerpt(text, run.query.words, limit=MAX_SHOWN),
        source=Source(session=session, message_ids=(message.id,), seqs=(message.seq,)),
        valid_from=when,
        speaker=message.role,
        name=_name_of(message),
        before=before,
        is_material=message.is_material,
        candidate=Candidate(
            key=key,
            scores=run.scores[key],
            said_at=when,
            coverage=coverage(run.query.words, words),
            words=len(words),
            own_words=own_words(text),
            speaker=message.role,
            neighbours=(
                message_key(session, message.seq - 1),
                message_key(session, message.seq + 1),
            ),
            says=says(text) if has_text else "nothing",
        ),
    )


def _pages(keys: Sequence[Given]) -> Iterator[Sequence[Given]]:
    for start in range(0, len(keys), PAGE):
        yield keys[start : start + PAGE]
