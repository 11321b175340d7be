"""Conversations, memory and search index in one, whose messages, models and engines fail when a
test says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from palimpsest.clock import seconds
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import Message, message_key
from palimpsest.conversations.spoken import spoken_text
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.extraction.model import ModelExtractor
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.job import Job
from palimpsest.memory.record import GRAPH, Record, RecordType
from palimpsest.models.ports import Completion, Schema
from palimpsest.models.usage import Usage
from palimpsest.scope import UserScope
from palimpsest_local.stores.state import Faults

from tests.doubles.owned_index import OwnedIndex
from tests.doubles.summarizer import RecordingSummarizer
from tests.service import TENANT
from tests.unit.conversations.overflow.test_flush_machine import Flushing

USERS = {"s": "sarah", "t": "sarah", "d": "david"}
"""Whose each session is."""
ERIN = "erin"
"""Who has a graph and no session."""

_MESSAGE = re.compile(r'<message number="(\d+)" speaker="user"[^>]*>(.*?)</message>', re.DOTALL)
_TOPIC = re.compile(r"\[(\w+)\]")
AGAIN = "likes tea"
"""What users say more than once."""


def fact_of(text: str) -> str:
    """What a user's message states: its whole text, or what others state as well."""
    return AGAIN if AGAIN in text else text


@dataclass
class Model:
    """Implements `JsonModel`: each message of the user is a fact. `fails` is how its next answers
    are of no use; `meanwhile` is called during each call.
    """

    meanwhile: Callable[[], None]
    fails: str | None = None

    def capacity(self, model: str | None = None) -> int:
        return 4_000

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        self.meanwhile()
        if self.fails == "timeout":
            raise ModelUnavailable("too slow")
        if self.fails == "refusal":
            raise ModelOutputInvalid("refused")
        answer = "There is nothing to say." if self.fails == "prose" else self._answer(text)
        if self.fails == "half":
            answer = answer[: len(answer) // 2]
        return Completion(answer, "double", Usage(1, 100, 10))

    def _answer(self, text: str) -> str:
        matches = _MESSAGE.findall(text.partition("<conversation>")[2])
        memories = [_memory(int(seq), unescape(words)) for seq, words in matches]
        if self.fails == "astray":
            memories += [{**memory, **wrong} for memory in memories for wrong in _astray(memory)]
        return json.dumps({"memories": memories})


def _memory(seq: int, text: str) -> dict[str, Any]:
    topic = _TOPIC.search(text)
    fact = fact_of(text)
    return {
        "type": "fact",
        "content": fact,
        "quote": fact,
        "messages": [seq],
        "topic": topic and topic[1],
        "importance": 0.8,
    }


def _astray(memory: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """What a model must not say: of messages that it was not given, of others, and what nobody
    said.
    """
    content = f"astray: {memory['content']}"
    return (
        {"content": content, "messages": [999]},
        {"content": content, "user_id": "mallory"},
        {"content": f"{content}, says user_id: bob"},
        {"content": content, "quote": "what nobody said"},
        {"content": content, "tenant": "umbrella", "session_id": "d"},
    )


class Whole(Flushing):
    """`faults` is told of every write to tables and index. What the streams tell waits in
    `changes`; `meanwhile` happens once, while a model is asked or the index is about to be written.
    """

    def __init__(self, folder: Path, *, faults: Faults, **memory: Any) -> None:
        super().__init__(folder=folder, faults=faults, **memory)
        self.meanwhile: Callable[[], None] | None = None
        self.model = Model(self._strike)
        self.index.before_write = self._before_write
        self.index.after_write = lambda: faults("after write")
        self.read_context = self.app.context
        self.manage_memories = self.memories_app.manage_memories
        self.summarizer = RecordingSummarizer(room=150)
        self.extractor = ModelExtractor(self.model, self.tokens)
        self.wire_workers()
        self.sweep = self.sweep_all  # type: ignore[assignment]
        self._faults = faults
        self._seen: dict[Changed, object] = {}
        self.changes: list[Changed] = []
        self.delivered_changes: list[Changed] = []

    def _strike(self) -> None:
        """Let once happen what was to happen while something else is under way."""
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()

    def _before_write(self) -> None:
        self._strike()
        self._faults("before write")

    def handle(self, job: Job) -> None:
        if job.kind == "summarize":
            self.summarize(JobNotice(job.tenant, job.id, job.kind))
        else:
            super().handle(job)

    def ingest_texts(self, texts: Sequence[str], session: str) -> None:
        drafts = [Draft({"role": "user", "content": text}) for text in texts]
        self.ingest_transcript(user_of(session), drafts, session_id=session)

    def look(self) -> None:
        """Have the streams tell what changed in the tables since the last look."""
        now = self._indexable()
        gone = [change for change in self._seen if change not in now]
        new = [
            change
            for change, state in now.items()
            if state is not None and self._seen.get(change) != state
        ]
        self._seen = now
        self.changes += [*gone, *new]

    def _indexable(self) -> dict[Changed, object]:
        """What is there: of records what must be indexed of them, None where nothing must."""
        expected: dict[Changed, object] = {}
        for name in USERS:
            for message in self.stored(name):
                expected[MessageChanged(TENANT.tenant, name, message.seq)] = message.hidden
        for user in sorted({*USERS.values(), ERIN}):
            for record in (*self.records_of(user), *self.graph_of(user)):
                is_pending = record.index_state == "pending"
                expected[RecordChanged(TENANT.tenant, user, record.id)] = (
                    record.version if is_pending else None
                )
        return expected

    def deliver_changes(self, batch: Sequence[Changed]) -> None:
        """One batch of the queue: what is done goes from it, and what fails stays."""
        again = self.embed(batch)
        for change in batch:
            if change not in again and change in self.changes:
                self.changes.remove(change)
                self.delivered_changes.append(change)
                self._seen[change] = (
                    None  # a record that is removed and stored again at once is told again
                )

    def stored(self, session: str) -> list[Message]:
        """Every message that the table holds of a session."""
        return list(self.sessions.messages(self.session(session), first=1, last=10**9))

    def shown_of(self, session: str) -> list[Message]:
        """The messages that the session's history shows."""
        head = self.sessions.open(self.session(session)).head
        if head is None or head.is_gone(seconds(self.clock.now())):
            return []
        return list(self.app.history.messages(self.session(session), limit=10_000)[0])

    def graph_of(self, user: str) -> list[Record]:
        """The records of the user's graph."""
        return self.records_of(user, types=GRAPH)

    def records_of(self, user: str, *, types: frozenset[RecordType] = frozenset()) -> list[Record]:
        records: list[Record] = []
        after = None
        while True:
            page = self.memories.listed(TENANT.user(user), types=types, limit=100, after=after)
            records += page.records
            after = page.after
            if after is None:
                return records

    def current_of(self, user: str, *, or_ended: bool = False) -> list[Record]:
        records = self.records_of(user)
        topics = sorted({record.topic_key for record in records if record.topic_key})
        pointers = self.memories.pointers(TENANT.user(user), topics) if topics else {}
        newest = {pointer.last if or_ended else pointer.record for pointer in pointers.values()}
        return [record for record in records if record.topic_key is None or record.id in newest]

    def indexed_of(self, user: str) -> set[str]:
        """The keys of everything that can be found of a user, each with its vector."""
        part = OwnedIndex(self.index, UserScope(TENANT.tenant, user))
        hits = part.by_vector(self.embedder.embed(["anything"])[0], k=1_000)
        assert len(hits) == part.count()
        return {hit.key for hit in hits}

    def searchable_of(self, user: str) -> set[str]:
        """The keys of everything that the tables say can be found of a user. A message of which
        every word is hidden can't be found.
        """
        sessions = [name for name, owner in USERS.items() if owner == user]
        messages = {
            message_key(name, message.seq)
            for name in sessions
            for message in self.shown_of(name)
            if spoken_text(message)
        }
        return messages | {record.id for record in self.current_of(user, or_ended=True)}


def user_of(session: str) -> UserScope:
    return TENANT.user(USERS[session])
