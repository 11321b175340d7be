"""What tests of recall say to the service; what changes waits until a test has it indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from palimpsest.clock import milliseconds, stamp
from palimpsest.conversations.drafts import Draft, numbered
from palimpsest.conversations.lifecycle import deleted
from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Commit, Head, Settings
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import Record, Source
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import JsonModel, Reranker
from palimpsest.payloads import decoded, encoded
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall, RecallResult
from palimpsest.scope import UserScope
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.rebuild import Reindex

from tests.service import SARAH, TENANT, Service


class Words:
    """One token a word."""

    def encoding_for(self, model: str | None) -> str:
        return "words"

    def count(self, text: str, encoding: str) -> int:
        return len(text.split())


class RecallService(Service):
    """`index` is the embedded one in `folder` unless another is given; `pending` is what nobody has
    indexed yet.
    """

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder=folder, **more)
        self.remember, self.manage = self.memories_app.remember, self.memories_app.manage_memories
        self.search = self.memories_app.search
        self.reindex = Reindex(self.owners, self.memories, self.sessions, self.index, self.embed)
        self.pending: list[Changed] = []

    @property
    def now(self) -> int:
        return milliseconds(self.time.now())

    def say(
        self,
        *texts: str,
        session: str = "talk",
        user: str = "sarah",
        role: str | Sequence[str] = "user",
        metadata: dict[str, Any] | None = None,
        agent: str | None = None,
        chats: Sequence[dict[str, Any]] = (),
    ) -> tuple[Message, ...]:
        """Append these texts to a session; `role` is one for all, or one for each."""
        roles = [role] * len(texts) if isinstance(role, str) else role
        spoken_chats = [
            *chats,
            *({"role": who, "content": text} for who, text in zip(roles, texts, strict=True)),
        ]
        scope = TENANT.session(session)
        head = self.sessions.open(scope).head
        before = head if head is not None and head.status != "deleted" else None
        last = 0 if head is None else head.seq
        messages = numbered(
            [Draft(chat, metadata=metadata or {}) for chat in spoken_chats],
            [1] * len(spoken_chats),
            session=session,
            seq=last,
            turn=0 if before is None else before.turn,
            before="",
            encoding="words",
            now=stamp(self.time.now()),
        )
        base = (
            Head(user=user, agent=agent, base=last, window_start=last + 1)
            if before is None
            else before
        )
        after = replace(
            base, seq=messages[-1].seq, version=(0 if head is None else head.version) + 1,
            updated_at=milliseconds(self.time.now()), turn=messages[-1].turn,
        )  # fmt: skip
        settings = Settings(
            user=user, agent=agent, created_at=stamp(self.time.now()), base=base.base
        )
        commit = Commit(
            before=head,
            after=after,
            messages=messages,
            settings=settings if before is None else None,
        )
        self.sessions.commit(scope, commit)
        self.pending += [
            MessageChanged(TENANT.tenant, session, message.seq) for message in messages
        ]
        return messages

    def change_head(self, session: str = "talk", **changes: Any) -> None:
        scope = TENANT.session(session)
        head = self.sessions.open(scope).head
        assert head is not None
        self.sessions.commit(
            scope, Commit(before=head, after=replace(head, version=head.version + 1, **changes))
        )

    def mark_deleted(self, session: str = "talk") -> None:
        """The session as its deletion leaves it at once: a tombstone; its messages are still
        there.
        """
        scope = TENANT.session(session)
        head = self.sessions.open(scope).head
        assert head is not None
        self.sessions.commit(scope, Commit(before=head, after=deleted(head, now=self.time.now())))

    def keep(
        self,
        content: str,
        *,
        scope: UserScope = SARAH,
        messages: Sequence[Message] = (),
        **more: Any,
    ) -> Record:
        """A fact, as the table has it; `messages` are those that it rests on, of session
        `talk`.
        """
        source = Source()
        if messages:
            ids, seqs = (
                tuple(message.id for message in messages),
                tuple(message.seq for message in messages),
            )
            source = Source("talk", ids, seqs, more.pop("quote", None))
        fields: dict[str, Any] = {"type": "fact", "source": source} | more
        (made,) = self.remember(scope, [Statement(content=content, **fields)])
        changed = (made.record, made.displaced) if made.displaced else (made.record,)
        self.pending += [RecordChanged(scope.tenant, scope.user, record.id) for record in changed]
        return made.record

    def index_all(self) -> tuple[Changed, ...]:
        """Have everything indexed that waits; what must be tried again."""
        waiting, self.pending = self.pending, []
        return self.embed(waiting)

    def recall(
        self,
        query: str,
        *,
        scope: UserScope = SARAH,
        model: JsonModel | None = None,
        reranker: Reranker | None = None,
        where: MemoryFilter | None = None,
        **more: Any,
    ) -> RecallResult:
        use = Recall(
            self.memories,
            self.sessions,
            self.index,
            self.index,
            self.embedder,
            Words(),
            self.time,
            model=model,
            reranker=reranker,
        )
        more = {"rerank": reranker is not None, **more}
        return use(scope, RecallRequest(query, filter=where or MemoryFilter(), **more))

    def found(self, query: str, **more: Any) -> list[str]:
        """The contents that a recall gives, best first."""
        return [memory.content for memory in self.recall(query, **more).memories]

    def indexed(self, scope: UserScope = SARAH) -> int:
        return self.index.count(scope)


def restored(state: ReindexPayload) -> ReindexPayload:
    """The state as the next step reads it."""
    read = decoded("reindex", encoded("reindex", state))
    assert isinstance(read, ReindexPayload)
    return read
